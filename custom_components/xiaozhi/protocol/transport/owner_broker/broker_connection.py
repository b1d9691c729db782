"""Devices through the owner's broker.

The broker must deliver our messages to a device that never subscribes: EMQX can subscribe clients when they
connect (auto-subscribe), as can some others; a few builds of the firmware subscribe themselves. A client
that may publish to a device's topic is taken for that device: this is as safe as the broker's access rules.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
import logging
from typing import Final

from aiomqtt import Client, Message, MqttError

from ....util.event_loop import LogAndGoOn, close_all, first_of, loop_time
from ....util.limits import FloodError
from ...messages import encode, mcp
from ...timeouts import BrokerTimeouts
from ..link import KnownDevices, LinkClosedError
from ..mqtt.mqtt_link import MqttLink
from ..udp.udp_server import UdpServer
from .broker_client import connected, pushes, subscribe_devices
from .broker_settings import Address, BrokerError, BrokerProblem, BrokerSettings, address_of_topic

_LOGGER = logging.getLogger(__name__)

# Beyond the ids of any MCP client. The firmware answers with an error: an answer, too.
_PROBE: Final = encode(mcp({"jsonrpc": "2.0", "id": 2**31 - 1, "method": "ping", "params": {}})).encode()


@dataclass(slots=True)
class BrokerCounters:
    """Messages and devices that were refused, for diagnostics."""

    unknown: int = 0
    """Messages of no paired device, for another gateway, or stored by the broker from another time."""
    floods: int = 0
    """Devices that were cut off for a while because they sent too much."""


class BrokerConnection:
    """Stays connected to a broker, and runs an `MqttLink` for each device that is heard there.

    A broker does not say who is connected. A device counts as linked from its first message on. The user of
    the link notices by calls without an answer when it has gone, and closes the link. Devices without a link
    are probed, soon after they may have connected and then less and less often, down to once a minute, so
    that an idle one is found.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        paired: KnownDevices,
        *,
        gateway: str,
        audio: UdpServer,
        state_changed: Callable[[BrokerError | None], None],
    ) -> None:
        """Prepare to connect; `start` connects.

        `gateway` is our name in the client ids of devices, eight hexadecimal digits. `state_changed` is
        called with None when the broker is connected, and with the problem when the connection is lost.
        """
        self.counters = BrokerCounters()
        self.problem: BrokerError | None = None
        """Why the broker is not connected; None while it is, and before the first attempt."""
        self._settings = settings
        self._paired = paired
        self._gateway = gateway
        self._audio = audio
        self._state_changed = state_changed
        self._client: Client | None = None
        self._links: dict[str, MqttLink] = {}
        self._searches: dict[str, asyncio.Task[None]] = {}
        self._banned: dict[str, float] = {}
        self._heard = False
        """Whether a device was heard since the broker was connected."""
        self._suspected = False
        """Whether it was reported that none can be."""
        self._delay = BrokerTimeouts.first_retry
        self._task: asyncio.Task[None] | None = None
        self._go_on = LogAndGoOn(_LOGGER, "Unexpected error while using the broker")

    @property
    def connected(self) -> bool:
        """Whether the broker is connected and delivers the messages of devices."""
        return self._client is not None

    def start(self) -> None:
        """Connect, and again whenever the connection is lost."""
        self._task = asyncio.create_task(self._stay_connected())

    async def stop(self) -> None:
        """Close all links and the connection. Does nothing when not started."""
        if self._task is None:
            return
        task, self._task = self._task, None
        await close_all(*(link.close("the server is stopping") for link in tuple(self._links.values())))
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    def expect(self, mac: str) -> None:
        """Note that a device has been given its topics, and will connect soon."""
        if self._client is not None:
            self._search(mac, BrokerTimeouts.first_probe_after_check_in)

    async def publish(self, mac: str, payload: bytes) -> None:
        """Send a message to a device. Raises `LinkClosedError` when the broker does not take it."""
        if self._client is None:
            raise LinkClosedError("the broker is not connected")
        try:
            await self._client.publish(Address(mac, self._gateway).downlink, payload)
        except MqttError as err:
            raise LinkClosedError(f"the broker refuses the message: {err}") from err

    def forget(self, mac: str, link: MqttLink) -> None:
        """Let the next message of a device begin a new link, unless one has begun already."""
        if self._links.get(mac) is not link:
            return
        del self._links[mac]
        if self._client is not None:
            self._search(mac, BrokerTimeouts.last_probe)

    async def _stay_connected(self) -> None:
        while True:
            problem = BrokerError(BrokerProblem.UNREACHABLE, "internal error; the log has its details")
            with self._go_on:
                problem = await self._use_broker()
            previous, self.problem = self.problem, problem
            if previous is None or previous.problem is not problem.problem:
                self._report(problem)
            await asyncio.sleep(self._delay)
            self._delay = min(2 * self._delay, BrokerTimeouts.last_retry)

    def _report(self, problem: BrokerError | None) -> None:
        with self._go_on:
            self._state_changed(problem)

    async def _use_broker(self) -> BrokerError:
        """Use the broker until the connection is lost; return the reason."""
        try:
            async with connected(self._settings) as client:
                await subscribe_devices(client)
                await self._serve(client)
        except BrokerError as err:
            # A copy: the original keeps a reference to the library's socket.
            return BrokerError(err.problem, str(err))
        except MqttError as err:
            return BrokerError(BrokerProblem.UNREACHABLE, str(err))
        raise AssertionError("the messages of a client end with an error only")

    async def _serve(self, client: Client) -> None:
        since = loop_time()
        self._client, self.problem = client, None
        self._heard = self._suspected = False
        try:
            for number, mac in enumerate(self._paired.probed_macs()):
                self._search(mac, BrokerTimeouts.first_probe + number * BrokerTimeouts.probe_spread)
            self._report(None)
            async with first_of(self._receive(client), self._watch_rights(client)) as both:
                for ended in (each for each in both if each.done()):
                    ended.result()
        finally:
            self._client = None
            if loop_time() - since >= BrokerTimeouts.steady:
                self._delay = BrokerTimeouts.first_retry
            searches = tuple(self._searches.values())
            for search in searches:
                search.cancel()
            await asyncio.gather(*searches, return_exceptions=True)
            for mac, link in tuple(self._links.items()):
                self._end(mac, link, "the connection to the broker is lost")

    async def _receive(self, client: Client) -> None:
        async for message in client.messages:
            await self._received(message)

    async def _watch_rights(self, client: Client) -> None:
        """Subscribe again and again: a broker does not report that it delivers no more, or nothing at all."""
        while True:
            await asyncio.sleep(BrokerTimeouts.rights)
            await subscribe_devices(client)
            if self._heard or not [*self._paired.probed_macs()]:
                continue
            try:
                await pushes(self._settings)
            except BrokerError as err:
                if err.problem is BrokerProblem.FORBIDDEN and not (self._heard or self._suspected):
                    self._suspected = True
                    self._report(err)

    def _search(self, mac: str, pause: float) -> None:
        """Probe a device until it is linked, for the first time after `pause` seconds."""
        if (search := self._searches.pop(mac, None)) is not None:
            search.cancel()
        self._searches[mac] = asyncio.create_task(self._probe_until_linked(mac, pause))

    async def _probe_until_linked(self, mac: str, pause: float) -> None:
        while pause < BrokerTimeouts.last_probe or mac in self._paired.probed_macs():
            await asyncio.sleep(pause)
            if mac in self._links:
                break
            with suppress(LinkClosedError):
                await self.publish(mac, _PROBE)
            pause = min(2 * pause, BrokerTimeouts.last_probe)

    async def _received(self, message: Message) -> None:
        address = address_of_topic(message.topic.value)
        if address is None or message.retain or address.gateway != self._gateway:
            self.counters.unknown += 1
            return
        self._heard = True
        if self._suspected:
            self._suspected = False
            self._report(None)
        mac = address.mac
        link = self._links.get(mac)
        try:
            if link is None and (link := self._attach(mac)) is None:
                self.counters.unknown += 1
                return
            await link.receive(message.payload)
        except FloodError as err:
            self.counters.floods += 1
            self._banned[mac] = loop_time() + BrokerTimeouts.ban
            self._end(mac, link, str(err))
        except Exception:
            _LOGGER.exception("Unexpected error on a link through the broker")
            self._end(mac, link, "internal error")

    def _attach(self, mac: str) -> MqttLink | None:
        if self._banned.get(mac, 0.0) > loop_time():
            return None
        if (admission := self._paired.admit_from_broker(mac)) is None:
            return None
        carrier = _Carrier(self, mac)
        link = carrier.link = MqttLink(
            carrier, audio=self._audio, address=self._paired.address_for(mac) or ""
        )
        link.attach(admission)
        # If that has failed, the next message begins another link.
        self._links[mac] = link
        return link

    def _end(self, mac: str, link: MqttLink | None, reason: str) -> None:
        if link is not None:
            self.forget(mac, link)
            link.ended(reason)


class _Carrier:
    remote = ""
    notices_loss = False
    link: MqttLink

    def __init__(self, connection: BrokerConnection, mac: str) -> None:
        self._connection = connection
        self._mac = mac

    async def publish(self, payload: bytes) -> None:
        await self._connection.publish(self._mac, payload)

    def disconnect(self) -> None:
        self._connection.forget(self._mac, self.link)

    def unacknowledged(self) -> int:
        return 0
