"""Requests to a device over one link: the MCP handshake, then its status and tools, again and again.

A running tool keeps the device from listening and from accepting an answer, so reading waits for a pause
between the turns of a conversation.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from itertools import count
import logging
from typing import Any, Final

from homeassistant import const
from homeassistant.core import callback
from homeassistant.helpers.debounce import Debouncer

from ..const import VISION_PATH
from ..protocol.device_status import StatusError, read_status
from ..protocol.mcp.client import McpClient
from ..protocol.mcp.model import McpCallError, McpError, McpTimeoutError
from ..protocol.transport.link import Link, LinkClosedError
from ..tools.stock_tools import STATUS_TOOL
from .device_model import DeviceModel
from .presence import Presence
from .state import STATUS_READ
from .tool_calls import ToolCalls

_LOGGER = logging.getLogger(__name__)

# The status is read with every poll; tools are read less often, because each stops the device's microphone.
_POLLS_PER_READING: Final = 5


class HandshakeAndPolls:
    """Initializes the device's MCP server, lists what it has, then polls it until the link ends.

    The steps that have failed are repeated with every poll.
    """

    def __init__(
        self,
        device: DeviceModel,
        link: Link,
        mcp: McpClient,
        calls: ToolCalls,
        presence: Presence,
        create_task: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        *,
        is_listening: Callable[[], bool],
    ) -> None:
        """`create_task` runs work that ends with the link at the latest.

        `is_listening` returns whether the device listens to its user.
        """
        self._device = device
        self._link = link
        self._mcp = mcp
        self._calls = calls
        self._create_task = create_task
        self._presence = presence
        self._is_listening = is_listening
        self._timeouts = device.timeouts.session
        self._running: asyncio.Task[None] | None = None
        self._listing = asyncio.Lock()
        self._to_list = False
        self._missing: list[Callable[[], Awaitable[None]]] = []
        """Steps of the handshake that have not succeeded yet."""
        self._listed = asyncio.Event()
        """Whether the list of tools has been requested."""
        self.quiet = asyncio.Event()
        """Whether no turn is in progress. Readings wait for it."""
        self.quiet.set()
        self._reading = asyncio.Lock()
        self._status_due = False
        self._tools_due = False
        self._acted = False
        self._refresh = Debouncer(
            device.hass,
            _LOGGER,
            cooldown=self._timeouts.refresh,
            immediate=False,
            function=self._start_refresh,
            background=True,
        )

    @property
    def started(self) -> bool:
        """Whether the device is asked anything over this link."""
        return self._running is not None

    @callback
    def start(self) -> None:
        """Start unless started."""
        if self._running is None:
            self._running = self._create_task(self._run(), "handshake")

    @callback
    def start_again(self) -> None:
        """Repeat a started handshake: the device has restarted, or we announce other capabilities now."""
        if self._running is not None:
            self._running.cancel()
            self._running = self._create_task(self._run(self._timeouts.starting), "handshake")

    @callback
    def list_again(self) -> None:
        """List the tools soon, since the device says that they have changed."""
        if not self._to_list:
            self._to_list = True
            self._create_task(self._list_later(), "list tools")

    @callback
    def close(self) -> None:
        """Cancel planned readings: the link is gone."""
        self._refresh.async_shutdown()

    @callback
    def read_soon(self, *, acted: bool = False) -> None:
        """Read everything soon, between turns; `acted` if an action has changed the device."""
        if self.started:
            self._acted |= acted
            self._refresh.async_schedule_call()

    async def read_before_end(self) -> None:
        """Read the status, and the tools if due, before a conversation ends: the device may be gone then."""
        self._status_due = True
        try:
            async with asyncio.timeout(self._timeouts.status_at_end):
                await self._read_status()
            self.quiet.set()
            async with asyncio.timeout(self._timeouts.tools_at_end):
                await self._listed.wait()
                await self._read_due()
        except TimeoutError:
            _LOGGER.debug("%s: too slow to be read within a conversation", self._device.name)

    # The handshake.

    async def _run(self, delay: float = 0) -> None:
        await asyncio.sleep(delay)
        steps = [partial(step, self._mcp) for step in self._device.handshake_steps]
        self._missing = [self._initialize, self._list_tools, *steps]
        for poll in count():
            answers = await self._take()
            self._listed.set()
            if self._missing and self._link.notices_loss and self._device.state.firmware_version is None:
                # Old firmware sounds an alarm for every question before its hello, which starts this again.
                self._running = None
                return
            # Reading the status shows whether the device is there; without one, nothing else does.
            if STATUS_TOOL not in self._device.tools and not (
                answers and (poll == 0 or await self._presence.ping(self._mcp))
            ):
                await self._presence.not_answered()
            self._status_due = True
            self._tools_due |= poll % _POLLS_PER_READING == 0
            await self._read_due()
            await asyncio.sleep(self._timeouts.poll)

    async def _take(self) -> bool:
        """Run and remove the missing steps; return whether the device answers.

        A step that the device refuses is not repeated.
        """
        try:
            while self._missing:
                with suppress(McpCallError):
                    await self._missing[0]()
                del self._missing[0]
        except (McpError, LinkClosedError) as err:
            _LOGGER.debug("%s: handshake failed, to be tried again: %s", self._device.name, err)
            return not isinstance(err, McpTimeoutError)
        return True

    async def _initialize(self) -> None:
        origin, settings = self._device.state.origin, self._device.settings
        server = await self._mcp.initialize(
            client_name="Home Assistant",
            client_version=const.__version__,
            # Where the device sends its photos: unknown before its first check-in.
            vision=None if origin is None else {"url": origin + VISION_PATH, "token": settings.vision_token},
        )
        self._device.set_state(self._device.state.after_handshake(server))

    async def _list_tools(self) -> None:
        async with self._listing:
            # A change from here on needs another listing.
            self._to_list = False
            await self._device.tools.set_list(await self._mcp.list_tools(with_user_tools=True))

    async def _list_later(self) -> None:
        await asyncio.sleep(self._timeouts.listing)
        try:
            await self._list_tools()
        except (McpError, LinkClosedError) as err:
            _LOGGER.debug("%s: tools could not be listed: %s", self._device.name, err)
            self._missing.append(self._list_tools)

    # Readings.

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
            await self.quiet.wait()
            if self._status_due:
                await self._read_status()
            if self._tools_due:
                self._tools_due = False
                await self._read_tools()

    async def _read_tools(self) -> None:
        """Read the tools whose answers are shown by entities."""
        for name in self._device.tools.to_read:
            await self.quiet.wait()
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
            self._device.set_state(self._device.state.after_status(read_status(result.json())))
            self._device.notify(STATUS_READ)
        except (McpError, LinkClosedError, StatusError) as err:
            _LOGGER.debug("%s: status could not be read: %s", self._device.name, err)
            if isinstance(err, McpTimeoutError):
                await self._presence.not_answered()
