"""The MCP handshake with a device over one link, and the polls that follow it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from itertools import count
import logging
from typing import Any, Final

from homeassistant import const
from homeassistant.core import callback

from ..const import VISION_PATH
from ..protocol.mcp.client import McpClient
from ..protocol.mcp.model import McpCallError, McpError, McpTimeoutError
from ..protocol.transport.link import Link, LinkClosedError
from ..tools.catalogue import STATUS_TOOL
from .device_model import DeviceModel
from .readings import Readings

_LOGGER = logging.getLogger(__name__)

# The status is read with every poll; tools are read less often, because each stops the device's microphone.
_POLLS_PER_READING: Final = 5


class Handshake:
    """Initializes the device's MCP server, lists what it has, then polls it until the link ends.

    The steps that have failed are repeated with every poll.
    """

    def __init__(
        self,
        device: DeviceModel,
        link: Link,
        mcp: McpClient,
        readings: Readings,
        create_task: Callable[[Coroutine[Any, Any, None], str], asyncio.Task[None]],
        on_silence: Callable[[], Awaitable[None]],
    ) -> None:
        """`create_task` runs work that ends with the link at the latest.

        `on_silence` is called for each poll that a device without a status has not answered.
        """
        self._device = device
        self._link = link
        self._mcp = mcp
        self._readings = readings
        self._create_task = create_task
        self._on_silence = on_silence
        self._timeouts = device.timeouts.session
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

    async def _run(self, delay: float = 0) -> None:
        await asyncio.sleep(delay)
        steps = [partial(step, self._mcp) for step in self._device.handshake_steps]
        missing: list[Callable[[], Awaitable[None]]] = [self._initialize, self._list_tools, *steps]
        for poll in count():
            answers = await self._take(missing)
            self._readings.tools_requested()
            if missing and self._link.notices_loss and self._device.state.firmware_version is None:
                # The device may be one that sounds an alarm for every question. Its next hello starts again.
                self._running = None
                return
            # Reading the status shows whether the device is there; without one, nothing else does.
            if STATUS_TOOL not in self._device.tools and not (answers and await self._is_there(poll)):
                await self._on_silence()
            with_tools = poll % _POLLS_PER_READING == 0
            await self._readings.poll(with_tools=with_tools)
            await asyncio.sleep(self._timeouts.poll)

    async def _is_there(self, poll: int) -> bool:
        """Return whether the device answers a ping, where its link does not show that it is gone."""
        if poll == 0 or self._link.notices_loss:
            return True
        try:
            await self._mcp.request("ping", {})
        except McpTimeoutError:
            return False
        except (McpError, LinkClosedError) as err:
            # Stock firmware does not know it, and says so.
            _LOGGER.debug("%s: pinged: %s", self._device.name, err)
        return True

    async def _take(self, missing: list[Callable[[], Awaitable[None]]]) -> bool:
        """Run and remove the missing steps; return whether the device answers.

        A step that the device refuses is not repeated.
        """
        try:
            while missing:
                with suppress(McpCallError):
                    await missing[0]()
                del missing[0]
        except (McpError, LinkClosedError) as err:
            _LOGGER.debug("%s: handshake failed, to be tried again: %s", self._device.name, err)
            return not isinstance(err, McpTimeoutError)
        return True

    async def _initialize(self) -> None:
        server = await self._mcp.initialize(
            client_name="Home Assistant",
            client_version=const.__version__,
            vision=self._vision(),
            capabilities=self._device.client_capabilities,
        )
        self._device.set_state(self._device.state.after_handshake(server))

    def _vision(self) -> dict[str, str] | None:
        """Return where the device sends its photos; None until its address for us is known."""
        if (origin := self._device.state.origin) is None:
            return None
        return {"url": origin + VISION_PATH, "token": self._device.settings.vision_token}

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
