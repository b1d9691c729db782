"""Reading a device's status and tools while nobody speaks.

A tool that runs keeps the device from listening and from taking an answer, so that reading waits for a pause.
"""

import asyncio
from collections.abc import Coroutine
import logging
from typing import Any, Protocol

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.debounce import Debouncer

from ..protocol.mcp.client import McpCallError, McpError, ToolResult
from ..protocol.status import DeviceStatus, StatusError, parse_status
from ..protocol.transport.link import LinkClosedError
from ..tools.catalogue import STATUS_TOOL
from ..tools.state import ToolState
from .timeouts import SessionTimeouts

__all__ = ["ReadDevice", "ReadSession", "Readings"]

_LOGGER = logging.getLogger(__name__)


class ReadDevice(Protocol):
    """What reading needs of the device."""

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
        """Take the status."""

    def tool_answered(self, name: str, result: ToolResult) -> None:
        """Take the answer of a tool."""


class ReadSession(Protocol):
    """What reading needs of the session of a link."""

    @property
    def listening(self) -> bool:
        """Whether the device listens to its user now."""

    async def call_tool(self, name: str) -> ToolResult:
        """Call a tool without arguments. Raises `McpError` or `LinkClosedError`."""

    async def status_unread(self, err: Exception) -> None:
        """Note that the device did not give its status."""

    def create_task(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        """Run work that ends with the link at the latest."""


class Readings:
    """What is to be read of the device on one link, and when."""

    def __init__(self, device: ReadDevice, session: ReadSession, timeouts: SessionTimeouts) -> None:
        """Prepare for a link on which nobody speaks yet."""
        self._device = device
        self._session = session
        self._timeouts = timeouts
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._shaken_hands = asyncio.Event()
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
        """Begin no reading: somebody speaks."""
        self._quiet.clear()

    @callback
    def resume(self) -> None:
        """Read what is due: nobody speaks any more."""
        self._quiet.set()

    @callback
    def close(self) -> None:
        """End what is planned: the link is gone."""
        self._refresh.async_shutdown()

    @callback
    def shaken_hands(self) -> None:
        """Note that the device has been asked for its tools."""
        self._shaken_hands.set()

    @callback
    def read_soon(self, *, acted: bool = False) -> None:
        """Read everything soon, when nobody speaks; `acted` if an action has changed the device."""
        self._acted |= acted
        self._refresh.async_schedule_call()

    async def poll(self, *, with_tools: bool) -> None:
        """Read the status, and perhaps the tools, as soon as nobody speaks."""
        self._status_due = True
        self._tools_due |= with_tools
        await self._read_due()

    async def read_status_briefly(self) -> None:
        """Read the status in a pause of a conversation, before the device listens again."""
        await self._read_status_within(self._timeouts.status_in_pause)

    async def read_before_end(self) -> None:
        """Read the status, and what else is due, before a conversation ends: the device may be gone then."""
        await self._read_status_within(self._timeouts.status_at_end)
        if self._status_due:
            return
        self._quiet.set()
        try:
            async with asyncio.timeout(self._timeouts.tools_at_end):
                await self._shaken_hands.wait()
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
        # The user waits to see what they did, and that has stopped the microphone as well.
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
        """Read the tools whose answers entities show."""
        for name in self._device.tools.to_read:
            await self._quiet.wait()
            try:
                self._device.tool_answered(name, await self._session.call_tool(name))
            except McpCallError as err:
                _LOGGER.debug("%s: %s could not be read: %s", self._device.name, name, err)
            except (McpError, LinkClosedError) as err:
                _LOGGER.debug("%s: tools could not be read: %s", self._device.name, err)
                break

    async def _read_status(self) -> bool:
        """Read the status; return whether the device gave it."""
        try:
            result = await self._session.call_tool(STATUS_TOOL)
            self._device.status_read(parse_status(result.text or ""))
        except (McpError, LinkClosedError, StatusError) as err:
            _LOGGER.debug("%s: status could not be read: %s", self._device.name, err)
            await self._session.status_unread(err)
            return False
        return True
