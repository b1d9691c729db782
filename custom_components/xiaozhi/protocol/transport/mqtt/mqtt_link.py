"""A device's link over MQTT with audio over UDP, carried by our endpoint or a broker.

Source: the firmware's `main/protocols/mqtt_protocol.cc`. The link stays up between conversations. A
conversation begins with the device's hello, which we answer with the address and the key of its audio, and
ends with a goodbye from either side.
"""

import asyncio
from dataclasses import asdict
import logging
from typing import Any, ClassVar, Final, Protocol, override

from ....util.event_loop import loop_time
from ...messages import (
    ConversationMessage,
    DeviceHello,
    DeviceMessage,
    Goodbye,
    JsonObject,
    UnknownMessage,
    encode,
    goodbye,
    in_session,
    server_hello,
)
from ..link import Channel, Link, LinkClosedError, LinkKind
from ..udp.encrypted_audio import UdpCounters
from ..udp.udp_server import UdpChannel, UdpServer

_LOGGER = logging.getLogger(__name__)

_TRANSPORT: Final = "udp"
# A goodbye that arrives while the device opens a new channel ends that one (observed with firmware v1.6.6).
_GRACE_SECONDS: Final = 1.0


def uplink_topic(name: str) -> str:
    """Return the topic to which a device publishes: `publish_topic` of its check-in.

    `name` is its client id: at our own endpoint, its MAC.
    """
    return f"xiaozhi/{name.replace(':', '')}/up"


def downlink_topic(name: str) -> str:
    """Return the topic of messages to a device: `subscribe_topic` of its check-in.

    Stock firmware does not subscribe to it, and ignores the topic of messages.
    """
    return f"xiaozhi/{name.replace(':', '')}/down"


class Carrier(Protocol):
    """Carries messages to one device: a connection to it, or a broker."""

    @property
    def remote(self) -> str:
        """IP address of the device; empty with a broker."""

    @property
    def notices_loss(self) -> bool:
        """Whether it notices that the device is gone; a broker does not."""

    async def publish(self, payload: bytes) -> None:
        """Send a message to the device. Raises `LinkClosedError`."""

    def disconnect(self) -> None:
        """Disconnect the device after its messages are sent, or cannot be sent soon."""

    def unacknowledged(self) -> int:
        """Return how many bytes have not arrived; 0 with a broker, where that is unknown."""


class MqttLink(Link):
    """The link of one device over MQTT.

    Its carrier calls `receive` for every message, and `ended` at the end.
    """

    kind: ClassVar = LinkKind.MQTT
    stays_connected: ClassVar = True

    def __init__(self, carrier: Carrier, *, audio: UdpServer, address: str) -> None:
        """`address`, a host name or IPv4, is where the device reaches `audio`."""
        super().__init__()
        self.audio_counters = UdpCounters()
        self._carrier = carrier
        self._audio_server = audio
        self._address = address
        self._audio: UdpChannel | None = None
        self._speaks = False
        """Whether `tts start` was sent last, and not `tts stop`."""
        self._stray_session = ""
        self._left: tuple[str, float] | None = None
        self._hanging_up: asyncio.Task[None] | None = None

    @property
    @override
    def remote(self) -> str:
        if self._audio is not None and self._audio.remote is not None:
            return self._audio.remote
        return self._carrier.remote

    @property
    @override
    def notices_loss(self) -> bool:
        return self._carrier.notices_loss

    @property
    @override
    def held(self) -> int:
        return self._carrier.unacknowledged()

    @override
    def statistics(self) -> dict[str, Any]:
        return super().statistics() | {"audio": asdict(self.audio_counters)}

    @override
    async def send(self, message: JsonObject) -> None:
        if self._ended is not None:
            raise LinkClosedError(self._ended)
        if message.get("state") in {"start", "stop"}:
            self._speaks = message["state"] == "start"
        session_id = None if self._channel is None else self._channel.session_id
        payload = encode(in_session(message, session_id)).encode(errors="replace")
        await self._carrier.publish(payload)
        self._sent(message)
        self.counters.bytes_out += len(payload)

    @override
    async def send_audio(self, packet: bytes) -> None:
        """Send one Opus packet. Until the device has sent audio, packets are dropped and counted.

        Its address is unknown until then. In every conversation the device sends audio first, so nothing
        audible is lost.
        """
        if self._audio is None or self._channel is None:
            raise LinkClosedError("no conversation is going on")
        if sent := self._audio.send(packet):
            self.counters.packets_out += 1
            self.counters.bytes_out += sent

    @override
    async def close_channel(self) -> None:
        if (channel := self._channel) is None:
            return
        self._end_channel("ended by us")
        await self._say_goodbye(channel.session_id)

    @override
    async def close(self, reason: str) -> None:
        # Without a goodbye, the device would find out only at its next message, and show an error.
        await self.close_channel()
        self._carrier.disconnect()
        self.ended(reason)

    def ended(self, reason: str) -> None:
        """Note that the device can no longer be reached. Does nothing when the link is closed already."""
        if self._hanging_up is not None:
            self._hanging_up.cancel()
        self._end(reason)

    async def receive(self, payload: bytes) -> None:
        """Handle a message from the device; a malformed one is dropped. Raises `FloodError`."""
        if self._ended is not None:
            return
        if self._audio is not None:
            # The device has sent the audio before the message.
            self._audio.flush()
        match message := self._parse(payload, loop_time()):
            case None:
                pass
            case DeviceHello():
                await self._open_channel(message)
            case Goodbye(session_id=session_id):
                self._goodbye_received(session_id)
            case UnknownMessage():
                self._count_unknown(message)
            case _:
                if self._channel is None:
                    self._without_channel(message)
                self._tell(self._handler.message_received, message)

    async def _open_channel(self, hello: DeviceHello) -> None:
        # The firmware reopens a stale channel without a goodbye.
        self._end_channel("the device began a new conversation")
        self._speaks = False
        if hello.transport not in {_TRANSPORT, ""}:
            # An answer with another transport than the device's would crash older firmware.
            self._drop(f"hello asks for transport {hello.transport!r}", loop_time())
            return
        audio = self._audio_server.open_channel(hello.audio, self.audio_received, self.audio_counters)
        channel = Channel(hello=hello)
        self._audio = audio
        try:
            await self.send(
                server_hello(
                    transport=_TRANSPORT, session_id=channel.session_id, udp=audio.offer(self._address)
                )
            )
        except LinkClosedError as err:
            _LOGGER.debug("Hello not answered: %s", err)
            self._end_channel(str(err))
            return
        if self._audio is audio:
            self._channel = channel
            if not self._tell(self._handler.channel_opened, channel):
                await self.close_channel()

    def _goodbye_received(self, session_id: str | None) -> None:
        # Up to v2.2.1 the firmware answers our goodbye with its own: that session is over already.
        if (channel := self._channel) is None or session_id not in {None, channel.session_id}:
            return
        self._end_channel("the device ended the conversation")
        if self._speaks:
            # The messages have crossed: the device speaks without a sound now, and may hear no wake word.
            self._hang_up_soon(channel.session_id)

    def _without_channel(self, message: DeviceMessage) -> None:
        if not isinstance(message, ConversationMessage) or (session_id := message.session_id) is None:
            return
        if self._left is not None and self._left[0] == session_id and loop_time() < self._left[1]:
            # Sent before our goodbye arrived, such as `listen` after an answer.
            return
        self._hang_up_soon(session_id)

    def _hang_up_soon(self, session_id: str) -> None:
        """Otherwise the device would listen or speak until someone presses its button."""
        self._stray_session = session_id
        if self._hanging_up is None:
            self._hanging_up = asyncio.create_task(self._hang_up())

    async def _hang_up(self) -> None:
        """Have the device leave an unknown conversation, unless a new one begins."""
        try:
            await asyncio.sleep(_GRACE_SECONDS)
            if self._channel is None:
                await self._say_goodbye(self._stray_session)
        finally:
            self._hanging_up = None

    async def _say_goodbye(self, session_id: str) -> None:
        try:
            await self.send(goodbye(session_id))
            self._left = session_id, loop_time() + _GRACE_SECONDS
        except LinkClosedError as err:
            _LOGGER.debug("Goodbye not sent: %s", err)

    @override
    def _end_channel(self, reason: str) -> None:
        audio, self._audio = self._audio, None
        if audio is not None:
            audio.close()
        super()._end_channel(reason)

    def audio_received(self, packet: bytes, missing: int) -> None:
        """Hand on a packet of the open channel."""
        if self._channel is None:
            return
        self.counters.packets_in += 1
        self.counters.bytes_in += len(packet)
        self._tell(self._handler.audio_received, packet, missing)
