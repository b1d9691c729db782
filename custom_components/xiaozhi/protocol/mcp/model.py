"""A device's MCP server: its identity, its errors and the bounds of its messages.

Source: the firmware's `main/mcp_server.h`. Everything is bounded and checked, and safe to store, show and
put into events.
"""

from dataclasses import dataclass, field
import math
from typing import Any, Self

from ..messages import JsonObject
from ..text import is_encodable, label

__all__ = [
    "McpCallError",
    "McpDisconnectedError",
    "McpError",
    "McpNoAnswerError",
    "McpNoReasonError",
    "McpProtocolError",
    "McpTimeoutError",
    "ServerInfo",
    "VisionEndpoint",
    "is_bounded",
]


class McpError(Exception):
    """A call to the device's MCP server gave no result."""


class McpNoAnswerError(McpError):
    """No answer came. With `sent`, the device may have done the call nevertheless."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class McpTimeoutError(McpNoAnswerError):
    """The device did not answer in time."""


class McpDisconnectedError(McpNoAnswerError):
    """The device is gone."""


class McpCallError(McpError):
    """The device refused, with its own text. Stock firmware gives no `code`."""

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class McpNoReasonError(McpCallError):
    """The device refused without a reason."""


class McpProtocolError(McpError):
    """The device's answer is malformed."""


def is_bounded(value: Any, *, size: int, depth: int) -> bool:
    """Whether parsed JSON has at most about `size` characters and `depth` levels, and can be encoded again.

    Numbers must be finite and whole numbers fit 64 bits; texts must be valid Unicode. Does not recurse.
    """
    level = [value]
    for _ in range(depth):
        # An item takes at least two characters: its quotes or brackets, or a digit and a comma.
        size -= 2 * len(level)
        if size < 0:
            return False
        deeper: list[Any] = []
        for item in level:
            if isinstance(item, int):
                encodable = -(2**63) <= item < 2**63
            elif isinstance(item, str):
                size -= len(item)
                encodable = is_encodable(item)
            elif isinstance(item, list):
                deeper += item
                continue
            elif isinstance(item, dict):
                deeper += item.keys()
                deeper += item.values()
                continue
            else:
                encodable = item is None or (isinstance(item, float) and math.isfinite(item))
            if not encodable:
                return False
        if not deeper:
            return size >= 0
        level = deeper
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionEndpoint:
    """Where the device sends its photos, until it restarts."""

    url: str
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """The device's answer to `initialize`."""

    name: str | None
    """Name of the board."""
    version: str | None
    """Firmware version."""

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read `serverInfo`; missing or wrong values become None."""
        info = data if isinstance(data, dict) else {}
        return cls(name=label(info.get("name")), version=label(info.get("version")))

    def as_dict(self) -> JsonObject:
        """Return the form that `from_dict` reads."""
        return {"name": self.name, "version": self.version}
