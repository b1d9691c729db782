"""Server-side codec of MQTT 3.1.1, without I/O.

Source: the OASIS standard "MQTT Version 3.1.1"; its section numbers are given where a rule looks arbitrary.
Packets from clients are parsed, packets to clients are written.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

# Room for the largest message of a device (65535 bytes) and its topic.
MAX_PACKET_BYTES: Final = 70 * 1024
# Answer to a subscription that is not granted (3.9.3).
SUBSCRIBE_FAILED: Final = 0x80

PINGRESP: Final = b"\xd0\x00"

_PROTOCOL: Final = ("MQTT", 4)
# A remaining length has at most four bytes (2.2.3).
_MAX_HEADER_BYTES: Final = 5


class MqttProtocolError(ValueError):
    """A client does what the standard or its server forbids; the connection must be closed (4.8)."""


class UnsupportedProtocolError(MqttProtocolError):
    """A CONNECT of another version of MQTT; it is answered before the connection is closed (3.1.2.2)."""


class ConnectCode(IntEnum):
    """The server's answer to a CONNECT (3.2.2.3)."""

    ACCEPTED = 0
    UNACCEPTABLE_PROTOCOL = 1
    IDENTIFIER_REJECTED = 2
    BAD_CREDENTIALS = 4
    NOT_AUTHORIZED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """A client connects. Its last will is dropped: no other client could receive it."""

    client_id: str
    username: str | None
    password: bytes | None
    keep_alive: int
    """Longest silence of the client in seconds; 0 for none promised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """A message to a topic."""

    topic: str
    payload: bytes
    qos: int
    packet_id: int | None
    """None at QoS 0."""


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The client subscribes to topics."""

    packet_id: int
    filters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PingRequest:
    """The client shows that it is alive."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The client disconnects."""


type Packet = Connect | Publish | Subscribe | PingRequest | Disconnect


class PacketReader:
    """Splits a byte stream into packets.

    Buffers at most one unfinished packet of `limit` bytes, besides the last bytes fed.
    """

    def __init__(self, limit: int = MAX_PACKET_BYTES) -> None:
        """Refuse packets whose remaining length is over `limit` bytes as soon as their length is known."""
        self.limit = limit
        self._buffer = bytearray()

    @property
    def buffered(self) -> int:
        """Number of bytes not yet returned in packets."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Add bytes from the connection."""
        self._buffer += data

    def next_packet(self) -> Packet | None:
        """Return the next packet; None if it is not complete yet.

        Raises `MqttProtocolError`; the reader must not be used after that.
        """
        if not self._buffer:
            return None
        first = self._buffer[0]
        # An invalid first byte is found without waiting for the rest.
        parse = _parser(first)
        if (size := self._packet_size()) is None:
            return None
        header_bytes, remaining = size
        end = header_bytes + remaining
        if len(self._buffer) < end:
            return None
        body = _Body(bytes(self._buffer[header_bytes:end]))
        del self._buffer[:end]
        packet = parse(first & 0x0F, body)
        if not body.exhausted:
            raise MqttProtocolError(f"packet type {first >> 4} is longer than its fields")
        return packet

    def _packet_size(self) -> tuple[int, int] | None:
        """Sizes of fixed header and rest in bytes; None if not known yet."""
        remaining = 0
        for index in range(1, min(len(self._buffer), _MAX_HEADER_BYTES)):
            byte = self._buffer[index]
            remaining |= (byte & 0x7F) << 7 * (index - 1)
            if byte < 0x80:
                if remaining > self.limit:
                    raise MqttProtocolError(f"packet of {remaining} bytes is over the limit of {self.limit}")
                return index + 1, remaining
        if len(self._buffer) >= _MAX_HEADER_BYTES:
            raise MqttProtocolError("remaining length has more than four bytes")
        return None


class _Body:
    """Reads the fields of a packet in turn."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def exhausted(self) -> bool:
        return self._position == len(self._data)

    def take(self, count: int) -> bytes:
        end = self._position + count
        if end > len(self._data):
            raise MqttProtocolError("packet ends within a field")
        field = self._data[self._position : end]
        self._position = end
        return field

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._position)

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        return int.from_bytes(self.take(2))

    def packet_id(self) -> int:
        if not (packet_id := self.number()):
            raise MqttProtocolError("packet identifier is 0")
        return packet_id

    def binary(self) -> bytes:
        return self.take(self.number())

    def text(self) -> str:
        try:
            text = self.binary().decode()
        except UnicodeDecodeError as err:
            raise MqttProtocolError("text is not UTF-8") from err
        if "\0" in text:
            raise MqttProtocolError("text contains a null character")
        return text

    def topic(self) -> str:
        topic = self.text()
        if not topic or "+" in topic or "#" in topic:
            raise MqttProtocolError("topic is empty or has a wildcard")
        return topic

    def topic_filter(self) -> str:
        if not (topic_filter := self.text()):
            raise MqttProtocolError("topic filter is empty")
        return topic_filter


type _Parser = Callable[[int, _Body], Packet]


def _parser(first: int) -> _Parser:
    """Return the parser for a packet that begins with the byte `first`."""
    kind, flags = first >> 4, first & 0x0F
    try:
        required_flags, parser = _PARSERS[kind]
    except KeyError:
        raise MqttProtocolError(f"a client must not send packet type {kind}") from None
    if required_flags is not None and flags != required_flags:
        raise MqttProtocolError(f"packet type {kind} has flags {flags:#x}")
    return parser


def _parse_connect(_: int, body: _Body) -> Connect:
    if (body.text(), body.byte()) != _PROTOCOL:
        raise UnsupportedProtocolError("not MQTT 3.1.1")
    flags = body.byte()
    has_username, has_password, has_will = flags & 0x80, flags & 0x40, flags & 0x04
    if flags & 0x01 or (has_password and not has_username):
        raise MqttProtocolError(f"connect flags {flags:#x}")
    if flags & 0x18 == 0x18 or (not has_will and flags & 0x38):
        raise MqttProtocolError(f"connect flags {flags:#x}")
    keep_alive = body.number()
    client_id = body.text()
    if has_will:
        body.topic()
        body.binary()
    return Connect(
        client_id=client_id,
        username=body.text() if has_username else None,
        password=body.binary() if has_password else None,
        keep_alive=keep_alive,
    )


def _parse_publish(flags: int, body: _Body) -> Publish:
    duplicate, qos = flags & 0x08, flags >> 1 & 0x03
    if qos == 3 or (duplicate and not qos):
        raise MqttProtocolError(f"publish flags {flags:#x}")
    return Publish(
        topic=body.topic(),
        packet_id=body.packet_id() if qos else None,
        payload=body.rest(),
        qos=qos,
    )


def _parse_subscribe(_: int, body: _Body) -> Subscribe:
    packet_id = body.packet_id()
    filters: list[str] = []
    while not filters or not body.exhausted:
        filters.append(body.topic_filter())
        if body.byte() > 2:
            raise MqttProtocolError("requested QoS is over 2")
    return Subscribe(packet_id, tuple(filters))


# Packet type -> its only valid flags (None: they have a meaning) and its parser.
_PARSERS: Final[dict[int, tuple[int | None, _Parser]]] = {
    1: (0x00, _parse_connect),
    3: (None, _parse_publish),
    8: (0x02, _parse_subscribe),
    12: (0x00, lambda _, _body: PingRequest()),
    14: (0x00, lambda _, _body: Disconnect()),
}


def connack(code: ConnectCode) -> bytes:
    """Answer a CONNECT; sessions are never resumed."""
    return bytes((0x20, 2, 0, code))


def publish(topic: str, payload: bytes) -> bytes:
    """Send a message at QoS 0."""
    name = topic.encode()
    return _packet(0x30, len(name).to_bytes(2) + name + payload)


def puback(packet_id: int) -> bytes:
    """Answer a PUBLISH of QoS 1."""
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
