"""Texts for the results of tools.

Only the text of the first part reaches the model everywhere, and an error as the protocol has it is lost or
read aloud (xiaozhi-esp32-server, `mcp_endpoint_executor.py`). So failures are normal texts as well.
"""

from bisect import bisect_right
import json
from typing import Final

from ...util.text import one_line
from ..messages import JsonObject

MAX_RESULT: Final = 8000
"""Bytes of a text within a message. The cloud takes 8192."""
_CUT: Final = " … (cut: ask for an area, a domain or a name)"
_UNREADABLE: Final = "The tool's answer cannot be shown."
_MAX_ERROR: Final = 500
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


def result_text(data: object) -> str:
    """Return a tool's answer as compact JSON, cut to `MAX_RESULT` bytes. Never raises."""
    if isinstance(data, dict) and "action" in data:
        # xiaozhi-esp32-server would take the object for a command of its own.
        data = {"result": data}
    pieces: list[str] = []
    size = 0
    try:
        for piece in _JSON.iterencode(data):
            pieces.append(piece)
            size += len(piece)
            # A larger answer is cut in any case, and is not worth the time.
            if size > MAX_RESULT:
                break
    except TypeError, ValueError, RecursionError:
        return error_text(_UNREADABLE)
    return _cut("".join(pieces))


def error_text(message: str) -> str:
    """Return the answer of a tool that failed, with a short sentence why."""
    return _JSON.encode({"error": one_line(message, _MAX_ERROR)})


def result_content(text: str) -> JsonObject:
    """Return the result of `tools/call`."""
    return {"content": [{"type": "text", "text": text}]}


def _cut(text: str) -> str:
    """Cut a text so that it fits as it stands in the message, with its quotes escaped."""
    text = text[: MAX_RESULT + 1].encode(errors="replace").decode()
    if _escaped_size(text) <= MAX_RESULT:
        return text
    room = MAX_RESULT - _escaped_size(_CUT)
    fitting = bisect_right(range(len(text) + 1), room, key=lambda length: _escaped_size(text[:length]))
    return text[: fitting - 1] + _CUT


def _escaped_size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode())
