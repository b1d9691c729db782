"""Tools as an access point offers them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
import json
import logging
import re
from typing import Any, Final, Self

from ...util.text import clean_text, distinct_names
from ..messages import JsonObject

_LOGGER = logging.getLogger(__name__)

_MAX_DESCRIPTION: Final = 1024
# Tools that the log has named: the list is made again and again.
_LEFT_OUT: Final = set[str]()
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_-]")


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
            "description": clean_text(tool.description, _MAX_DESCRIPTION),
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
