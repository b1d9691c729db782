"""The MCP handshake with a device over one link, and the polls that follow it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import count
import logging
from typing import Any, Final, Protocol

from homeassistant import const
from homeassistant.core import callback

from ..protocol.mcp.client import McpClient
from ..protocol.mcp.model import McpCallError, McpError, ServerInfo, VisionEndpoint
from ..protocol.mcp.tool import Tool
from ..protocol.messages import JsonObject
from ..protocol.transport.link import Link, LinkClosedError
from ..timeouts import SessionTimeouts
from .readings import Readings
from .state import DeviceState

__all__ = ["Handshake", "IdentifiedDevice"]

_LOGGER = logging.getLogger(__name__)

# The status is read with every poll; tools are read less often, because each stops the device's microphone.
_POLLS_PER_READING: Final = 5


type HandshakeStep = Callable[[McpClient], Coroutine[Any, Any, None]]


class IdentifiedDevice(Protocol):
    """What `Handshake` needs of the device."""

    @property
    def name(self) -> str:
        """Name of the device, for the log."""

    @property
    def state(self) -> DeviceState:
        """State of the device."""

    @property
    def vision(self) -> VisionEndpoint | None:
        """Where it sends its photos."""

    @property
    def client_capabilities(self) -> Mapping[str, JsonObject]:
        """What it may ask of us."""

    @property
    def handshake_steps(self) -> Iterable[HandshakeStep]:
        """What else is asked of it at each handshake."""

    def identified(self, server: ServerInfo) -> None:
        """Store what the device reports about itself."""

    async def tools_listed(self, tools: tuple[Tool, ...]) -> None:
        """Store the device's tools."""


class Handshake:
    """Initializes the device's MCP server, lists what it has, then polls it until the link ends.

    The steps that have failed are repeated with every poll.
    """

    def __init__(
        self,
        device: IdentifiedDevice,
        link: Link,
        mcp: McpClient,
        readings: Readings,
        create_task: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        timeouts: SessionTimeouts,
    ) -> None:
        """`create_task` runs work that ends with the link at the latest."""
        self._device = device
        self._link = link
        self._mcp = mcp
        self._readings = readings
        self._create_task = create_task
        self._timeouts = timeouts
        self._running: asyncio.Task[None] | None = None
        self._listing = asyncio.Lock()
        self._to_list = False

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
        """Start with a device that has restarted unnoticed by its link."""
        if self._running is not None:
            self._running.cancel()
        self._running = self._create_task(self._run(self._timeouts.starting), "handshake")

    @callback
    def announce(self) -> None:
        """Tell the device of a changed offer."""
        if self.started:
            self._create_task(self._take([self._initialize]), "announce")

    @callback
    def list_again(self) -> None:
        """List the tools soon, since the device says that they have changed."""
        if not self._to_list:
            self._to_list = True
            self._create_task(self._list_later(), "list tools")

    async def _run(self, delay: float = 0) -> None:
        await asyncio.sleep(delay)
        more = [partial(step, self._mcp) for step in self._device.handshake_steps]
        missing: list[Callable[[], Coroutine[Any, Any, None]]] = [self._initialize, self._list_tools, *more]
        for poll in count():
            await self._take(missing)
            self._readings.tools_requested()
            if missing and self._link.notices_loss and self._device.state.firmware_version is None:
                # The device may be one that sounds an alarm for every question. Its next hello starts again.
                self._running = None
                return
            with_tools = poll % _POLLS_PER_READING == 0
            await self._readings.poll(with_tools=with_tools)
            await asyncio.sleep(self._timeouts.poll)

    async def _take(self, missing: list[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        """Run and remove the missing steps. A step that the device refuses is not repeated."""
        try:
            while missing:
                with suppress(McpCallError):
                    await missing[0]()
                del missing[0]
        except (McpError, LinkClosedError) as err:
            _LOGGER.debug("%s: handshake failed, to be tried again: %s", self._device.name, err)

    async def _initialize(self) -> None:
        server = await self._mcp.initialize(
            client_name="Home Assistant",
            client_version=const.__version__,
            vision=self._device.vision,
            capabilities=self._device.client_capabilities,
        )
        self._device.identified(server)

    async def _list_tools(self) -> None:
        async with self._listing:
            # A change from here on needs another listing.
            self._to_list = False
            await self._device.tools_listed(await self._mcp.list_tools(with_user_tools=True))

    async def _list_later(self) -> None:
        await asyncio.sleep(self._timeouts.listing)
        try:
            await self._list_tools()
        except (McpError, LinkClosedError) as err:
            _LOGGER.debug("%s: tools could not be listed: %s", self._device.name, err)
