"""Recovers errors from MCP replies that are invalid JSON or too large.

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
# Other clients put spaces between members, and the session id elsewhere.
_REPLY_START: Final = re.compile(
    r'\{\s?(?:"session_id":\s?"[^"\\]{0,64}",\s?)?"type":\s?"mcp",\s?(?:"session_id":\s?"[^"\\]{0,64}",\s?)?'
    r'"payload":\s?\{\s?"jsonrpc":\s?"2\.0",\s?"id":\s?(\d{1,10}),\s?"(?:result|error)":'
)


def recover_error(frame: str) -> dict[str, Any] | None:
    """Return the error in a frame that is not JSON; None unless the firmware could have written the frame."""
    if (match := _BROKEN_ERROR.fullmatch(frame)) is None or int(match[1]) > _MAX_ID:
        return None
    return {"jsonrpc": "2.0", "id": int(match[1]), "error": {"message": match[2]}}


def reply_to_oversized(head: bytes, size: int, limit: int) -> dict[str, Any] | None:
    """Return an error for the call that a refused message answers; None if its beginning has no id.

    `head` are the first bytes of a message of `size` bytes.
    """
    match = _REPLY_START.match(head.decode(errors="replace"))
    if match is None or int(match[1]) > _MAX_ID:
        return None
    message = f"its answer of {size} bytes is larger than {limit} bytes"
    return {"jsonrpc": "2.0", "id": int(match[1]), "error": {"message": message}}
