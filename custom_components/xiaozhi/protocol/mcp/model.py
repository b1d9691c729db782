"""A device's MCP server: its identity, its errors and the bounds of its messages.

Source: the firmware's `main/mcp_server.h`. Everything is bounded and checked, and safe to store, show and
put into events.
"""

from dataclasses import dataclass
import math
from typing import Any, Final, Self

from ..messages import MAX_MESSAGE_BYTES, JsonObject
from ..untrusted_text import is_encodable, label

# The standard's first version, which stock firmware has, and those after it.
STOCK_VERSION: Final = "2024-11-05"
LATEST_VERSION: Final = "2025-11-25"
_VERSIONS: Final = frozenset({STOCK_VERSION, "2025-03-26", "2025-06-18", LATEST_VERSION})
_MAX_CONTENT_DEPTH: Final = 32
_MAX_PROGRESS_TEXT: Final = 200


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
    """The device refused, with its own text."""


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


def is_content_bounded(value: Any) -> bool:
    """Whether content of a result has bounded size and depth."""
    return is_bounded(value, size=MAX_MESSAGE_BYTES, depth=_MAX_CONTENT_DEPTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """The device's answer to `initialize`."""

    version: str | None
    """Firmware version."""
    extended: bool = False
    """Whether it is more than stock firmware, and may be sent what that never gets."""

    @classmethod
    def from_dict(cls, result: JsonObject) -> Self:
        """Read the result of `initialize`; missing or wrong values become None."""
        info, version = result.get("serverInfo"), result.get("protocolVersion")
        info = info if isinstance(info, dict) else {}
        later = isinstance(version, str) and version in _VERSIONS and version != STOCK_VERSION
        return cls(
            version=label(info.get("version")),
            extended=later or (version == STOCK_VERSION and _is_more_than_stock(result.get("capabilities"))),
        )


def _is_more_than_stock(announced: Any) -> bool:
    """Whether it is more than `{"tools": {}}`, the answer of stock firmware (`main/mcp_server.cc`)."""
    return isinstance(announced, dict) and any(
        name != "tools" or value != {} for name, value in announced.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress that a device reports of a request."""

    progress: float
    total: float | None = None
    message: str | None = None
    """One line in the device's words."""

    @classmethod
    def from_dict(cls, params: JsonObject) -> Self | None:
        """Read the params of `notifications/progress`; None without a number."""
        if (done := _number(params.get("progress"))) is None:
            return None
        message = label(params.get("message"), _MAX_PROGRESS_TEXT)
        return cls(progress=done, total=_number(params.get("total")), message=message)


def _number(value: Any) -> float | None:
    return value if type(value) in {int, float} and math.isfinite(value) else None
