"""Tools as an access point offers them, and the texts of their results.

Only the text of the first part of a result reaches the model everywhere, and an error as the protocol has
it is lost or read aloud (xiaozhi-esp32-server, `mcp_endpoint_executor.py`): so failures are normal texts.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
import json
import logging
import re
from typing import Any, Final, Self

from ...util.text import clean_text, distinct_names, one_line
from ..messages import JsonObject

_LOGGER = logging.getLogger(__name__)

# Tools that the log has named: the list is made again and again.
_LEFT_OUT: Final = set[str]()
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")
MAX_RESULT: Final = 8000
"""Bytes of a text within a message. The cloud takes 8192."""
_CUT: Final = " … (cut: ask for an area, a domain or a name)"
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


class ToolError(Exception):
    """A tool refused or failed, with a sentence for the language model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool(ABC):
    """A tool at this moment."""

    name: str
    """The name that its owner knows it by."""
    description: str
    changes_nothing: bool

    @abstractmethod
    def schema(self) -> JsonObject:
        """Return the JSON schema of its arguments. May take milliseconds, and is called in a thread."""

    @abstractmethod
    async def call(self, arguments: JsonObject) -> Any:
        """Call it, and return data for JSON. Raises `ToolError`; other errors are logged."""


@dataclass(frozen=True, slots=True)
class ToolList:
    """The answer to `tools/list`."""

    tools: tuple[JsonObject, ...]
    size: int
    """Bytes of JSON."""

    @classmethod
    def of(cls, tools: Sequence[OfferedTool]) -> Self:
        """Describe tools, in a thread. Each has three members: not every server accepts others."""
        described = (_encoded(name, tool) for name, tool in by_shown_name(tools).items())
        encoded = [entry for entry in described if entry is not None]
        # The schema of another integration's tool may not be JSON, for example with an infinite limit.
        read = (json.loads(entry, parse_constant=lambda _: None) for entry in encoded)
        return cls(tuple(read), len(f"[{','.join(encoded)}]".encode(errors="replace")))


def _encoded(name: str, tool: OfferedTool) -> str | None:
    """Describe a tool; None, and once a line in the log, for one that cannot be described as JSON."""
    try:
        entry = {
            "name": name,
            "description": clean_text(tool.description, 1024),
            "inputSchema": tool.schema(),
        }
        return json.dumps(entry, ensure_ascii=False, separators=(",", ":"), default=str)
    except Exception:
        level = logging.DEBUG if name in _LEFT_OUT else logging.ERROR
        _LOGGER.log(level, "The tool %s is left out, since it cannot be described", name, exc_info=True)
        _LEFT_OUT.add(name)
        return None


def by_shown_name(tools: Sequence[OfferedTool]) -> dict[str, OfferedTool]:
    """Return tools by the names under which they are offered."""
    known = {tool.name: tool for tool in tools}
    shown = distinct_names({name: _NOT_IN_NAMES.sub("_", name) for name in known})
    return {shown[name]: tool for name, tool in known.items()}


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
        return error_text("The tool's answer cannot be shown.")
    return _cut("".join(pieces))


def error_text(message: str) -> str:
    """Return the answer of a tool that failed, with a short sentence why."""
    return _JSON.encode({"error": one_line(message, 500)})


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
