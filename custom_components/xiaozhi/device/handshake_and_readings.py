"""Requests to a device over one link: the MCP handshake, then its status and tools, again and again.

A running tool keeps the device from listening and from accepting an answer, so reading waits for a pause
between the turns of a conversation.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from itertools import count
import logging
from typing import TYPE_CHECKING, Final

from homeassistant import const
from homeassistant.core import callback

from ..protocol.conversation.state_table import ConversationState
from ..protocol.device_status import StatusError, read_status
from ..protocol.mcp.model import McpCallError, McpError, McpTimeoutError
from ..protocol.timeouts import McpTimeouts
from ..protocol.transport.link import LinkClosedError
from ..timeouts import SessionTimeouts
from ..tools.stock_tools import STATUS_TOOL
from ..util.event_loop import LogAndGoOn, within
from .bounds import LISTS
from .state import STATUS_READ

if TYPE_CHECKING:
    from .link_session import LinkSession

_LOGGER = logging.getLogger(__name__)

# The status is read with every poll; tools are read less often, because each stops the device's microphone.
_POLLS_PER_READING: Final = 5


class HandshakeAndReadings:
    """Initializes the device's MCP server, lists what it has, then polls it until the link ends.

    The steps that have failed are repeated with every poll.
    """

    def __init__(self, session: LinkSession) -> None:
        self._session = session
        self._device = session.device
        self._record = session.device.record
        self._running: asyncio.Task[None] | None = None
        self._listing = asyncio.Lock()
        self._to_list = False
        self._missing: list[Callable[[], Awaitable[None]]] = []
        """Steps of the handshake that have not succeeded yet."""
        self._listed = asyncio.Event()
        """Set once the list of tools has been requested."""
        self.quiet = asyncio.Event()
        """Set while no turn is in progress. Readings wait for it."""
        self.quiet.set()
        self._reading = asyncio.Lock()
        self._go_on = LogAndGoOn(_LOGGER, "Unexpected error while a device was read")
        self._status_due = False
        self._tools_due = False
        self._acted = False
        self._planned = False

    @property
    def started(self) -> bool:
        """Whether the device is asked anything over this link."""
        return self._running is not None

    @callback
    def start(self) -> None:
        """Start unless started."""
        if self._running is None:
            self._running = self._session.create_task(self._run(), "handshake")

    async def wait_listed(self) -> None:
        """Wait until the tools are listed, if that has begun; not longer than for an answer."""
        if self.started:
            await within(McpTimeouts.answer, self._listed.wait())

    @callback
    def start_again(self) -> None:
        """Repeat a started handshake: the device has restarted, or we announce other capabilities now."""
        if self._running is not None:
            self._running.cancel()
            self._running = self._session.create_task(self._run(SessionTimeouts.starting), "handshake")

    @callback
    def list_again(self) -> None:
        """List the tools soon, since the device says that they have changed."""
        if not self._to_list:
            self._to_list = True
            self._session.create_task(self._list_later(), "list tools")

    @callback
    def read_soon(self, *, acted: bool = False) -> None:
        """Read everything soon, between turns; `acted` if an action has changed the device."""
        if self.started:
            self._acted |= acted
            if not self._planned:
                self._planned = True
                self._session.create_task(self._read_later(), "refresh")

    async def read_before_end(self) -> None:
        """Read the status, and the tools if due, before a conversation ends: the device may be gone then."""
        self._status_due = True
        try:
            async with asyncio.timeout(SessionTimeouts.status_at_end):
                await self._read_status()
            self.quiet.set()
            async with asyncio.timeout(SessionTimeouts.tools_at_end):
                await self._listed.wait()
                await self._read_due()
        except TimeoutError:
            _LOGGER.debug("%s: too slow to be read within a conversation", self._record.short_mac)

    # The handshake.

    async def _run(self, delay: float = 0) -> None:
        await asyncio.sleep(delay)
        steps = [partial(step, self._session.mcp) for step in self._device.handshake.steps]
        self._missing = [self._initialize, self._list_first, *steps]
        for poll in count():
            answers = await self._take()
            self._listed.set()
            is_careful = self._session.link.notices_loss and self._device.state.firmware_version is None
            if self._missing and is_careful:
                # Old firmware sounds an alarm for every question before its hello, which starts this again.
                self._running = None
                return
            with self._go_on:
                # Reading the status shows whether the device is there; without one, nothing else does.
                if STATUS_TOOL not in self._device.tools and not (
                    answers and (poll == 0 or await self._session.presence.ping())
                ):
                    await self._session.presence.not_answered()
                self._status_due = True
                self._tools_due |= poll % _POLLS_PER_READING == 0
                await self._read_due()
            await asyncio.sleep(SessionTimeouts.poll)

    async def _take(self) -> bool:
        """Run and remove the missing steps; return whether the device answers.

        A step that the device refuses is not repeated, nor one that fails unexpectedly.
        """
        while self._missing:
            with self._go_on:
                try:
                    await self._missing[0]()
                except McpCallError:
                    pass
                except (McpError, LinkClosedError) as err:
                    _LOGGER.debug("%s: handshake failed, to be tried again: %s", self._record.short_mac, err)
                    return not isinstance(err, McpTimeoutError)
            del self._missing[0]
        return True

    async def _initialize(self) -> None:
        mcp = self._session.mcp
        announced = self._device.handshake.capabilities.items()
        firmware = await mcp.initialize(
            client_name="Home Assistant",
            client_version=const.__version__,
            capabilities={name: found for name, describe in announced if (found := describe()) is not None},
        )
        state = replace(self._device.state, extended=mcp.extended)
        self._record.set_state(state.after_contact(firmware=firmware))

    async def _list_first(self) -> None:
        """List the tools, later if that was done too often: until then, the last list is used."""
        if self._device.bounds.take(LISTS):
            await self._list_tools()
        else:
            self.list_again()

    async def _list_tools(self) -> None:
        async with self._listing:
            # A change from here on needs another listing.
            self._to_list = False
            tools = await self._session.mcp.list_tools(with_user_tools=True)
            await self._device.tools.set_list(tools, self._session.mcp.left_out)

    async def _list_later(self) -> None:
        # Not after the handshake: its first step may wait for an answer that does not come.
        await asyncio.sleep(max(SessionTimeouts.refresh, self._device.bounds.delay(LISTS)))
        self._device.bounds.take(LISTS)
        with self._go_on:
            try:
                await self._list_tools()
            except (McpError, LinkClosedError) as err:
                _LOGGER.debug("%s: tools could not be listed: %s", self._record.short_mac, err)
                if self._list_first not in self._missing:
                    self._missing.append(self._list_first)

    # Readings.

    async def _read_later(self) -> None:
        """Read once for all that has changed within a short time."""
        await asyncio.sleep(SessionTimeouts.refresh)
        acted, self._acted = self._acted, False
        self._planned = False
        self._status_due = self._tools_due = True
        # The user waits for the result of the action, which has stopped the microphone anyway.
        if acted and self._device.state.conversation is ConversationState.LISTENING:
            self._session.create_task(self._read_status(), "read back")
        await self._read_due()

    async def _read_due(self) -> None:
        async with self._reading:
            await self.quiet.wait()
            if self._status_due:
                await self._read_status()
            if self._tools_due:
                self._tools_due = False
                await self._read_tools()

    async def _read_tools(self) -> None:
        for name in self._device.tools.to_read:
            await self.quiet.wait()
            with self._go_on:
                try:
                    await self._device.tools.set_answer(name, await self._session.calls.call(name))
                except McpCallError as err:
                    _LOGGER.debug("%s: %s could not be read: %s", self._record.short_mac, name, err)
                except (McpError, LinkClosedError) as err:
                    _LOGGER.debug("%s: tools could not be read: %s", self._record.short_mac, err)
                    break

    async def _read_status(self) -> None:
        self._status_due = False
        if STATUS_TOOL not in self._device.tools:
            return
        with self._go_on:
            try:
                result = await self._session.calls.call(STATUS_TOOL)
                self._record.set_state(self._device.state.after_status(read_status(result.json())))
                self._record.notify(STATUS_READ)
            except (McpError, LinkClosedError, StatusError) as err:
                _LOGGER.debug("%s: status could not be read: %s", self._record.short_mac, err)
                if isinstance(err, McpTimeoutError):
                    await self._session.presence.not_answered()
