"""Calls of a device's tools over one link: one at a time, with a bounded queue."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from homeassistant.exceptions import HomeAssistantError

from ..errors import UserError
from ..protocol.mcp.client import McpClient
from ..protocol.mcp.model import (
    McpAnswerTooLongError,
    McpCallError,
    McpDisconnectedError,
    McpError,
    McpNoReasonError,
    McpTimeoutError,
    Progress,
)
from ..protocol.mcp.result import ToolResult
from ..protocol.transport.link import LinkClosedError
from ..tools.stock_tools import stock_tool
from ..util.event_loop import log_failure
from .paired_device import PairedDevice

# More than all entities of a device and its assistant call at once; the last one may wait for minutes.
_MAX_WAITING: Final = 32
_MAX_AT_ONCE: Final = 8


class TooManyCallsError(McpError):
    """Too many calls of the device are waiting."""


# The first matching kind counts.
_TRANSLATION_KEYS: Final[tuple[tuple[type[Exception], str], ...]] = (
    (TooManyCallsError, "too_many_calls"),
    (McpTimeoutError, "no_answer"),
    (McpNoReasonError, "refused_without_reason"),
    (McpCallError, "refused"),
    (McpAnswerTooLongError, "answer_too_long"),
    (McpError, "went_away"),
    (LinkClosedError, "went_away"),
)


def call_error(err: McpError | LinkClosedError, name: str, tool: str) -> HomeAssistantError:
    """Return the error for the user when a tool of the device `name` could not be called.

    `tool` are the words for it.
    """
    key = next(key for kind, key in _TRANSLATION_KEYS if isinstance(err, kind))
    return UserError(key, name=name, tool=tool, reason=str(err))


class ToolCalls:
    """Calls the tools of a device over one link.

    Stock firmware runs one tool at a time. A call waits here for those before it, so that its time does not
    run out behind a photo that is being taken. A device that announces more may ask a person in the middle of
    a call, so that others must not wait for it.
    """

    def __init__(self, device: PairedDevice, mcp: McpClient) -> None:
        self._device = device
        self._mcp = mcp
        self._single = asyncio.Semaphore()
        self._parallel = asyncio.Semaphore(_MAX_AT_ONCE)
        self._waiting = 0

    async def call(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> ToolResult:
        """Call a tool, which the device runs to its end, also if the caller is cancelled.

        Raises `McpError`, of which `TooManyCallsError` at once, or `LinkClosedError`.
        """
        if self._waiting >= _MAX_WAITING:
            raise TooManyCallsError(f"{self._waiting} calls wait already")
        self._waiting += 1
        semaphore = self._parallel if self._mcp.extended else self._single
        try:
            await semaphore.acquire()
        finally:
            self._waiting -= 1
        stock = stock_tool(name)
        work = self._mcp.call_tool(
            name, arguments, timeout=stock.timeout, restarts=stock.restarts, on_progress=on_progress
        )
        call = self._device.create_task(self._run(work, semaphore), f"call {name}")
        call.add_done_callback(log_failure)
        await asyncio.wait((call,))
        if call.cancelled():
            # With the gateway. The caller goes on.
            raise McpDisconnectedError("the gateway is stopping", sent=True)
        return call.result()

    async def _run(self, work: Coroutine[Any, Any, ToolResult], semaphore: asyncio.Semaphore) -> ToolResult:
        try:
            with self._device.main_task.call():
                return await work
        finally:
            semaphore.release()
