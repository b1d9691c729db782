"""A device's MCP server: its identity, its errors and its progress.

Source: the firmware's `main/mcp_server.h`. Everything is bounded and checked, and safe to store, show and
put into events.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, Self

from ...util.text import label, one_line
from ..json_rpc import INVALID_PARAMS
from ..messages import JsonObject

# The standard's first version, which stock firmware has, and later ones.
STOCK_VERSION: Final = "2024-11-05"
LATEST_VERSION: Final = "2025-11-25"
VERSIONS: Final = frozenset({STOCK_VERSION, "2025-03-26", "2025-06-18", LATEST_VERSION})


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


class McpAnswerTooLongError(McpError):
    """The device answered with more than a message may have."""


class McpCallError(McpError):
    """The device refused, with its own text."""

    def __init__(self, message: str, code: int | None = None) -> None:
        """`code` is that of JSON-RPC or MCP; stock firmware gives none."""
        super().__init__(message)
        self.code = code


class McpNoReasonError(McpCallError):
    """The device refused without a reason."""


class McpProtocolError(McpError):
    """The device's answer is malformed."""


RESOURCE_NOT_FOUND: Final = -32002

type RequestHandler = Callable[[JsonObject], Awaitable[JsonObject]]
"""Answers the params of a device's request with a result. Raises `RequestError` to refuse it."""


class RequestError(Exception):
    """A request of a device is refused."""

    def __init__(self, message: str, code: int = INVALID_PARAMS) -> None:
        super().__init__(message)
        self.code = code


def is_extended(result: JsonObject) -> bool:
    """Whether an answer to `initialize` is that of more than stock firmware (`main/mcp_server.cc`)."""
    version, announced = result.get("protocolVersion"), result.get("capabilities")
    if version == STOCK_VERSION:
        return isinstance(announced, dict) and announced not in ({}, {"tools": {}})
    return isinstance(version, str) and version in VERSIONS


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
        message = label(params.get("message"), 200)
        return cls(progress=done, total=_number(params.get("total")), message=message)


def _number(value: Any) -> float | None:
    return value if type(value) in {int, float} else None


def refusal(reason: str, code: object = None) -> McpCallError:
    """Return the error for a refusal in the device's words."""
    shown = one_line(reason, 500)
    number = code if type(code) is int else None
    return McpCallError(shown, number) if shown else McpNoReasonError("the device gave no reason", number)


def result_of(reply: JsonObject) -> JsonObject:
    """Return the result in a reply of the device. Raises `McpError`."""
    result, error = reply.get("result"), reply.get("error")
    if result is not None and error is not None:
        raise McpProtocolError("the answer has both a result and an error")
    match error:
        case None:
            pass
        case {"message": str(message)}:
            raise refusal(message, error.get("code"))
        case str(message):
            raise refusal(message)
        case _:
            raise McpProtocolError("the error has no message")
    if not isinstance(result, dict):
        raise McpProtocolError("the answer has no result object")
    return result
