"""Reads a device's status and tools between turns of conversations.

A running tool keeps the device from listening and from accepting an answer, so reading waits for a pause.
"""

import asyncio
from collections.abc import Coroutine
import logging
from typing import Any, Protocol

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.debounce import Debouncer

from ..protocol.mcp.model import McpCallError, McpError
from ..protocol.mcp.result import ToolResult
from ..protocol.status import DeviceStatus, StatusError, parse_status
from ..protocol.transport.link import LinkClosedError
from ..timeouts import SessionTimeouts
from ..tools.catalogue import STATUS_TOOL
from ..tools.tool_state import ToolState

__all__ = ["ReadDevice", "ReadSession", "Readings"]

_LOGGER = logging.getLogger(__name__)


class ReadDevice(Protocol):
    """What `Readings` needs of the device."""

    @property
    def hass(self) -> HomeAssistant:
        """Home Assistant."""

    @property
    def name(self) -> str:
        """Name of the device, for the log."""

    @property
    def tools(self) -> ToolState:
        """Tools of the device."""

    def status_read(self, status: DeviceStatus) -> None:
        """Store the status."""

    async def tool_answered(self, name: str, result: ToolResult) -> None:
        """Store the answer of a tool."""


class ReadSession(Protocol):
    """What `Readings` needs of the session of a link."""

    @property
    def listening(self) -> bool:
        """Whether the device is listening to its user."""

    async def call_tool(self, name: str) -> ToolResult:
        """Call a tool without arguments. Raises `McpError` or `LinkClosedError`."""

    async def status_unread(self, err: Exception) -> None:
        """Note that the status could not be read."""

    def create_task(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        """Run work that ends with the link at the latest."""


class Readings:
    """Schedules the reading of a device over one link."""

    def __init__(self, device: ReadDevice, session: ReadSession, timeouts: SessionTimeouts) -> None:
        self._device = device
        self._session = session
        self._timeouts = timeouts
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._tools_requested = asyncio.Event()
        self._reading = asyncio.Lock()
        self._status_due = False
        self._tools_due = False
        self._acted = False
        self._refresh = Debouncer(
            device.hass,
            _LOGGER,
            cooldown=timeouts.refresh,
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
        await self._read_status_within(self._timeouts.status_in_pause)

    async def read_before_end(self) -> None:
        """Read the status, and the tools if due, before a conversation ends: the device may be gone then."""
        await self._read_status_within(self._timeouts.status_at_end)
        if self._status_due:
            return
        self._quiet.set()
        try:
            async with asyncio.timeout(self._timeouts.tools_at_end):
                await self._tools_requested.wait()
                await self._read_due()
        except TimeoutError:
            _LOGGER.debug("%s: too slow to be read within a conversation", self._device.name)

    async def _read_status_within(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                self._status_due = not await self._read_status()
        except TimeoutError:
            self._status_due = True

    @callback
    def _start_refresh(self) -> None:
        acted, self._acted = self._acted, False
        self._status_due = self._tools_due = True
        self._session.create_task(self._read_due(), "refresh")
        # The user waits for the result of an action that has stopped the microphone anyway.
        if acted and self._session.listening:
            self._session.create_task(self._read_back(), "read back")

    async def _read_back(self) -> None:
        await self._read_status()

    async def _read_due(self) -> None:
        async with self._reading:
            await self._quiet.wait()
            if self._status_due:
                self._status_due = False
                await self._read_status()
            if self._tools_due:
                self._tools_due = False
                await self._read_tools()

    async def _read_tools(self) -> None:
        """Read the tools whose answers are shown by entities."""
        for name in self._device.tools.to_read:
            await self._quiet.wait()
            try:
                await self._device.tool_answered(name, await self._session.call_tool(name))
            except McpCallError as err:
                _LOGGER.debug("%s: %s could not be read: %s", self._device.name, name, err)
            except (McpError, LinkClosedError) as err:
                _LOGGER.debug("%s: tools could not be read: %s", self._device.name, err)
                break

    async def _read_status(self) -> bool:
        """Read the status; return whether that worked."""
        try:
            result = await self._session.call_tool(STATUS_TOOL)
            self._device.status_read(parse_status(result.text or ""))
        except (McpError, LinkClosedError, StatusError) as err:
            _LOGGER.debug("%s: status could not be read: %s", self._device.name, err)
            await self._session.status_unread(err)
            return False
        return True
