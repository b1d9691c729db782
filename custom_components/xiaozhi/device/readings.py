"""Reads a device's status and tools between turns of conversations.

A running tool keeps the device from listening and from accepting an answer, so reading waits for a pause.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
import logging
from typing import Any

from homeassistant.core import callback
from homeassistant.helpers.debounce import Debouncer

from ..protocol.device_status import StatusError, parse_status
from ..protocol.mcp.model import McpCallError, McpError, McpTimeoutError
from ..protocol.transport.link import LinkClosedError
from ..tools.catalogue import STATUS_TOOL
from .device_model import DeviceModel
from .state import STATUS_READ
from .tool_calls import ToolCalls

_LOGGER = logging.getLogger(__name__)


class Readings:
    """Schedules the reading of a device over one link."""

    def __init__(
        self,
        device: DeviceModel,
        calls: ToolCalls,
        create_task: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        *,
        is_listening: Callable[[], bool],
        on_silence: Callable[[], Awaitable[None]],
    ) -> None:
        """`create_task` runs work that ends with the link at the latest.

        `is_listening` returns whether the device listens to its user. `on_silence` is called when it has not
        answered.
        """
        self._device = device
        self._calls = calls
        self._create_task = create_task
        self._is_listening = is_listening
        self._on_silence = on_silence
        self._timeouts = device.timeouts.session
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._tools_requested = asyncio.Event()
        self._reading = asyncio.Lock()
        self._status_due = False
        self._tools_due = False
        self._status_slow = False
        """Whether the last conversation's pause was too short for the status."""
        self._acted = False
        self._refresh = Debouncer(
            device.hass,
            _LOGGER,
            cooldown=self._timeouts.refresh,
            immediate=False,
            function=self._start_refresh,
            background=True,
        )

    @callback
    def pause(self) -> None:
        """Start no reading: a turn is in progress."""
        self._quiet.clear()

    @callback
    def resume(self) -> None:
        """Read what is due: no turn is in progress any more."""
        self._quiet.set()

    @callback
    def close(self) -> None:
        """Cancel planned readings: the link is gone."""
        self._refresh.async_shutdown()

    @callback
    def tools_requested(self) -> None:
        """Note that the list of tools has been requested."""
        self._tools_requested.set()

    @callback
    def read_soon(self, *, acted: bool = False) -> None:
        """Read everything soon, between turns; `acted` if an action has changed the device."""
        self._acted |= acted
        self._refresh.async_schedule_call()

    async def poll(self, *, with_tools: bool) -> None:
        """Read the status, and the tools if `with_tools`, as soon as no turn is in progress."""
        self._status_due = True
        self._tools_due |= with_tools
        await self._read_due()

    async def read_status_briefly(self) -> None:
        """Read the status in a pause of a conversation, before the device listens again."""
        # A call that is not answered would delay the command to listen.
        if not self._status_slow:
            await self._read_status_within(self._timeouts.status_in_pause)

    async def read_before_end(self) -> None:
        """Read the status, and the tools if due, before a conversation ends: the device may be gone then."""
        await self._read_status_within(self._timeouts.status_at_end)
        if self._status_slow:
            return
        self._quiet.set()
        try:
            async with asyncio.timeout(self._timeouts.tools_at_end):
                await self._tools_requested.wait()
                await self._read_due()
        except TimeoutError:
            _LOGGER.debug("%s: too slow to be read within a conversation", self._device.name)

    async def _read_status_within(self, seconds: float) -> None:
        self._status_due = True
        try:
            async with asyncio.timeout(seconds):
                await self._read_status()
        except TimeoutError:
            self._status_slow = True

    @callback
    def _start_refresh(self) -> None:
        acted, self._acted = self._acted, False
        self._status_due = self._tools_due = True
        self._create_task(self._read_due(), "refresh")
        # The user waits for the result of an action that has stopped the microphone anyway.
        if acted and self._is_listening():
            self._create_task(self._read_status(), "read back")

    async def _read_due(self) -> None:
        async with self._reading:
            await self._quiet.wait()
            if self._status_due:
                await self._read_status()
            if self._tools_due:
                self._tools_due = False
                await self._read_tools()

    async def _read_tools(self) -> None:
        """Read the tools whose answers are shown by entities."""
        for name in self._device.tools.to_read:
            await self._quiet.wait()
            try:
                await self._device.tools.set_answer(name, await self._calls.call(name))
            except McpCallError as err:
                _LOGGER.debug("%s: %s could not be read: %s", self._device.name, name, err)
            except (McpError, LinkClosedError) as err:
                _LOGGER.debug("%s: tools could not be read: %s", self._device.name, err)
                break

    async def _read_status(self) -> None:
        """Read the status of a device that has a tool for it."""
        self._status_due = False
        if STATUS_TOOL not in self._device.tools:
            return
        try:
            result = await self._calls.call(STATUS_TOOL)
            self._status_slow = False
            self._device.set_state(self._device.state.after_status(parse_status(result.text or "")))
            self._device.notify(STATUS_READ)
        except (McpError, LinkClosedError, StatusError) as err:
            _LOGGER.debug("%s: status could not be read: %s", self._device.name, err)
            if isinstance(err, McpTimeoutError):
                await self._on_silence()
