"""Devices through the owner's broker.

The broker must deliver our messages to a device that never subscribes: EMQX can subscribe clients when they
connect (auto-subscribe), as can some others; a few builds of the firmware subscribe themselves. Whoever may
publish to a device's topic is taken for that device: this is as safe as the broker's own access rules.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
import logging
from typing import Final, override

from aiomqtt import Client, Message, MqttError

from .broker import BrokerError, BrokerProblem, BrokerSettings, connected, subscribe_devices
from .closing import close_all
from .limits import FloodError
from .link import Admission, LinkClosedError
from .messages import AudioFormat, encode, mcp
from .mqtt_link import Carrier, MqttLink, downlink_topic, mac_of_topic
from .udp import UdpServer

__all__ = ["BrokerCounters", "BrokerListener"]

_LOGGER = logging.getLogger(__name__)

_FIRST_RETRY: Final = 1.0
_LAST_RETRY: Final = 60.0
# A broker that has held us for less may only have let us in to throw us out.
_STEADY_SECONDS: Final = 60.0
_PROBE_SECONDS: Final = 60.0
# A device that floods would otherwise be linked anew by its next message.
_BAN_SECONDS: Final = 60.0
# Beyond the ids of any MCP client that counts from 1. The firmware answers with an error: an answer, too.
_PROBE: Final = encode(mcp({"jsonrpc": "2.0", "id": 2**31 - 1, "method": "ping", "params": {}})).encode()


@dataclass(slots=True)
class BrokerCounters:
    """What came from the broker and was not used, for diagnostics."""

    unknown: int = 0
    """Messages of no paired device, or stored by the broker from another time."""
    floods: int = 0
    """Devices that were cut off for a while because they sent too much."""


class BrokerListener:
    """Stays connected to a broker, and runs an `MqttLink` for each device that is heard there.

    A broker does not tell who is connected. A device counts as linked from its first message on, and whoever
    uses the link notices, by `MqttLink.last_seen` and by calls that are not answered, when it has gone, and
    closes it. Devices without a link are probed once a minute, so that an idle one is found.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        admit: Callable[[str], Admission | None],
        *,
        devices: Callable[[], Iterable[str]],
        address: Callable[[str], str],
        audio: UdpServer,
        downlink: AudioFormat,
        state_changed: Callable[[BrokerError | None], None] | None = None,
    ) -> None:
        """Prepare a listener.

        `admit` decides by the MAC of the topic; that the topic is the device's, the broker has seen to.
        `devices` names the MACs to probe. `address` gives for a MAC the host name or IPv4 address under which
        the device reaches `audio`. `state_changed` hears None when the broker is there, and the problem when
        it is not any more.
        """
        self.counters = BrokerCounters()
        self.problem: BrokerError | None = None
        """Why the broker is not there; None while it is, and before the first attempt."""
        self._settings = settings
        self._admit = admit
        self._devices = devices
        self._address = address
        self._audio = audio
        self._downlink = downlink
        self._state_changed = state_changed or (lambda _problem: None)
        self._client: Client | None = None
        self._links: dict[str, MqttLink] = {}
        self._banned: dict[str, float] = {}
        self._delay = _FIRST_RETRY
        self._task: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether the broker is there and hands us the messages of devices."""
        return self._client is not None

    def start(self) -> None:
        """Begin to connect, and go on for ever."""
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

    async def probe(self, mac: str) -> None:
        """Ask a device for a sign of life, which links it. Does nothing without the broker."""
        with suppress(LinkClosedError):
            await self.publish(mac, _PROBE)

    async def publish(self, mac: str, payload: bytes) -> None:
        """Send a message to a device. Raises `LinkClosedError` when the broker does not take it."""
        if self._client is None:
            raise LinkClosedError("the broker is not there")
        try:
            await self._client.publish(downlink_topic(mac, self._settings.prefix), payload)
        except MqttError as err:
            raise LinkClosedError(f"the broker does not take it: {err}") from err

    def forget(self, mac: str) -> None:
        """Let the next message of a device begin a new link."""
        self._links.pop(mac, None)

    async def _stay_connected(self) -> None:
        while True:
            try:
                problem = await self._use_broker()
            except Exception as err:
                _LOGGER.exception("Unexpected error while using the broker")
                problem = BrokerError(BrokerProblem.UNREACHABLE, f"internal error: {err!r}")
            if self.problem is None or self.problem.problem is not problem.problem:
                self._state_changed(problem)
            self.problem = problem
            await asyncio.sleep(self._delay)
            self._delay = min(2 * self._delay, _LAST_RETRY)

    async def _use_broker(self) -> BrokerError:
        """Work with the broker as long as it is there; return why it is not any more."""
        try:
            async with connected(self._settings) as client:
                await subscribe_devices(client, self._settings.prefix)
                await self._serve(client)
        except BrokerError as err:
            # Made anew: the other one holds on to the library's socket.
            return BrokerError(err.problem, str(err))
        except MqttError as err:
            return BrokerError(BrokerProblem.UNREACHABLE, str(err))
        raise AssertionError("the messages of a client end with an error only")

    async def _serve(self, client: Client) -> None:
        clock = asyncio.get_running_loop().time
        since = clock()
        self._client, self.problem = client, None
        probing = asyncio.create_task(self._probe_unlinked())
        try:
            self._state_changed(None)
            async for message in client.messages:
                await self._received(message)
        finally:
            self._client = None
            if clock() - since >= _STEADY_SECONDS:
                self._delay = _FIRST_RETRY
            probing.cancel()
            await asyncio.wait([probing])
            for mac in tuple(self._links):
                self._end(mac, "the broker is not there any more")

    async def _probe_unlinked(self) -> None:
        while True:
            for mac in tuple(self._devices()):
                if mac not in self._links:
                    await self.probe(mac)
            await asyncio.sleep(_PROBE_SECONDS)

    async def _received(self, message: Message) -> None:
        mac = mac_of_topic(message.topic.value, self._settings.prefix)
        if mac is None or message.retain:
            self.counters.unknown += 1
            return
        try:
            if (link := self._links.get(mac) or self._attach(mac)) is None:
                self.counters.unknown += 1
                return
            await link.receive(message.payload)
        except FloodError as err:
            self.counters.floods += 1
            self._banned[mac] = asyncio.get_running_loop().time() + _BAN_SECONDS
            self._end(mac, str(err))
        except Exception:
            _LOGGER.exception("Unexpected error on a link through the broker")
            self._end(mac, "internal error")

    def _attach(self, mac: str) -> MqttLink | None:
        if self._banned.get(mac, 0.0) > asyncio.get_running_loop().time():
            return None
        if (admission := self._admit(mac)) is None:
            return None
        link = self._links[mac] = MqttLink(
            _BrokerCarrier(self, mac),
            admission,
            audio=self._audio,
            address=self._address(mac),
            downlink=self._downlink,
        )
        return link

    def _end(self, mac: str, reason: str) -> None:
        if (link := self._links.pop(mac, None)) is not None:
            link.ended(reason)


class _BrokerCarrier(Carrier):
    """Carries the messages of one device."""

    def __init__(self, listener: BrokerListener, mac: str) -> None:
        self._listener = listener
        self._mac = mac

    @property
    @override
    def remote(self) -> str:
        return ""

    @property
    @override
    def notices_loss(self) -> bool:
        return False

    @override
    async def publish(self, payload: bytes) -> None:
        await self._listener.publish(self._mac, payload)

    @override
    def disconnect(self) -> None:
        self._listener.forget(self._mac)
