"""Server-side codec of MQTT 3.1.1, without I/O.

Source: the OASIS standard "MQTT Version 3.1.1"; its section numbers are given where a rule looks arbitrary.
Packets from clients are parsed, packets to clients are written. Devices publish at QoS 0, programs also at
QoS 1, which is acknowledged; messages to them have QoS 0, as those of the firmware makers' server.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from io import BytesIO
from typing import Final

# Room for the largest message of a device (65535 bytes) and its topic.
MAX_PACKET_BYTES: Final = 70 * 1024
# A device subscribes to one topic.
_MAX_FILTERS: Final = 16
# Answer to a subscription that is not granted (3.9.3).
SUBSCRIBE_FAILED: Final = 0x80

# Answers to a CONNECT; sessions are never resumed.
ACCEPTED: Final = b"\x20\x02\x00\x00"
NOT_AUTHORIZED: Final = b"\x20\x02\x00\x05"
PINGRESP: Final = b"\xd0\x00"


class MqttProtocolError(ValueError):
    """A client violates the standard or the rules of the server; the connection must be closed (4.8)."""


class PacketTooLongError(MqttProtocolError):
    """A packet is longer than allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """A client connects. Its last will is dropped: no other client could receive it."""

    client_id: str
    username: str
    """Empty for none, as the password."""
    password: bytes
    keep_alive: int
    """Longest silence of the client in seconds; 0 for none promised."""


@dataclass(frozen=True, slots=True)
class Publish:
    """A message to a topic."""

    topic: str
    payload: bytes
    packet_id: int | None = None
    """Id of the acknowledgement, at QoS 1."""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The client subscribes to topics."""

    packet_id: int
    filters: tuple[str, ...]


class Signal(Enum):
    """A packet without a body."""

    PING = auto()
    """The client shows that it is alive."""
    DISCONNECT = auto()


type Packet = Connect | Publish | Subscribe | Signal


class _Body(BytesIO):
    @property
    def exhausted(self) -> bool:
        return self.tell() == len(self.getbuffer())

    def take(self, count: int) -> bytes:
        field = self.read(count)
        if len(field) < count:
            raise MqttProtocolError("packet ends within a field")
        return field

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        return int.from_bytes(self.take(2))

    def binary(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        try:
            return self.binary().decode()
        except UnicodeDecodeError as err:
            raise MqttProtocolError("text is not UTF-8") from err


def _parse_connect(body: _Body) -> Connect:
    if (body.text(), body.byte()) != ("MQTT", 4):
        raise MqttProtocolError("not MQTT 3.1.1")
    flags = body.byte()
    keep_alive = body.number()
    client_id = body.text()
    if flags & 0x04:
        # Topic and message of the last will.
        body.binary()
        body.binary()
    return Connect(
        client_id=client_id,
        username=body.text() if flags & 0x80 else "",
        password=body.binary() if flags & 0x40 else b"",
        keep_alive=keep_alive,
    )


def _parse_publish(body: _Body) -> Publish:
    return Publish(body.text(), body.read())


def _parse_publish_at_qos_1(body: _Body) -> Publish:
    topic, packet_id = body.text(), body.number()
    return Publish(topic, body.read(), packet_id)


def _parse_subscribe(body: _Body) -> Subscribe:
    packet_id = body.number()
    filters: list[str] = []
    while not body.exhausted:
        filters.append(body.text())
        # The requested QoS.
        body.byte()
        if len(filters) > _MAX_FILTERS:
            raise MqttProtocolError(f"more than {_MAX_FILTERS} topics at once")
    return Subscribe(packet_id, tuple(filters))


# By the first byte: packet type and flags.
PARSERS: Final[dict[int, Callable[[_Body], Packet]]] = {
    0x10: _parse_connect,
    0x30: _parse_publish,
    # To be retained.
    0x31: _parse_publish,
    # The same at QoS 1, and sent again.
    **dict.fromkeys((0x32, 0x33, 0x3A, 0x3B), _parse_publish_at_qos_1),
    0x82: _parse_subscribe,
    0xC0: lambda _: Signal.PING,
    0xE0: lambda _: Signal.DISCONNECT,
}


def parse_packet(first: int, data: bytes) -> Packet:
    """Parse a packet after its fixed header. Raises `MqttProtocolError`.

    `first`, its first byte, is one of `PARSERS`.
    """
    body = _Body(data)
    packet = PARSERS[first](body)
    if not body.exhausted:
        raise MqttProtocolError(f"packet {first:#04x} is longer than its fields")
    return packet


def publish(topic: str, payload: bytes) -> bytes:
    """Send a message at QoS 0."""
    name = topic.encode()
    return _packet(0x30, len(name).to_bytes(2) + name + payload)


def puback(packet_id: int) -> bytes:
    """Acknowledge a message of QoS 1."""
    return _packet(0x40, packet_id.to_bytes(2))


def suback(packet_id: int, codes: bytes) -> bytes:
    """Answer a SUBSCRIBE: for each filter the granted QoS or `SUBSCRIBE_FAILED`."""
    return _packet(0x90, packet_id.to_bytes(2) + codes)


def _packet(first: int, body: bytes) -> bytes:
    header = bytearray((first,))
    remaining = len(body)
    while remaining > 0x7F:
        header.append(remaining & 0x7F | 0x80)
        remaining >>= 7
    header.append(remaining)
    return bytes(header) + body
