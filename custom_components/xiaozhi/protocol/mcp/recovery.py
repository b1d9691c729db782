"""Recovers errors from MCP replies that are invalid JSON.

Source: the firmware's `mcp_server.cc` and `protocol.cc`. The firmware does not escape an
error's message: a quote, a backslash or a line break in it makes the whole frame invalid. The members of a
frame always have the same order.
"""

import re
from typing import Any, Final

_MAX_ID: Final = 2**31 - 1

_BROKEN_ERROR: Final = re.compile(
    r'\{"session_id":"[^"\\]{0,64}","type":"mcp","payload":'
    r'\{"jsonrpc":"2\.0","id":(\d{1,10}),"error":'
    r'\{(?:"code":-?\d{1,6},)?"message":"(.*)"\}\}\}',
    re.DOTALL,
)


def recover_error(frame: str) -> dict[str, Any] | None:
    """Return the error in a frame that is not JSON; None unless the firmware could have written the frame."""
    if (match := _BROKEN_ERROR.fullmatch(frame)) is None or int(match[1]) > _MAX_ID:
        return None
    return {"jsonrpc": "2.0", "id": int(match[1]), "error": {"message": match[2]}}
