"""The server's side of MQTT 3.1.1, byte by byte."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.transport.mqtt import mqtt_packets as mqtt
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_packets import (
    MAX_PACKET_BYTES,
    MqttProtocolError,
    Packet,
    PacketReader,
)
from tests.protocol.transport.mqtt import wire

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_BYTES = st.binary(max_size=30)


@st.composite
def _connects(draw: st.DrawFn) -> tuple[bytes, Packet]:
    client_id, username, password = draw(_TEXTS), draw(st.none() | _TEXTS), draw(st.none() | _BYTES)
    keep_alive, clean = draw(st.integers(0, 65535)), draw(st.booleans())
    will = draw(st.none() | st.tuples(_TEXTS, _BYTES))
    encoded = wire.connect(
        client_id, username, password, keep_alive=keep_alive, clean_session=clean, will=will
    )
    return encoded, mqtt.Connect(
        client_id=client_id,
        username=username or "",
        password=password or b"",
        keep_alive=keep_alive,
    )


_PACKETS = st.one_of(
    _connects(),
    st.builds(lambda t, p: (wire.publish(t, p), mqtt.Publish(t, p)), _TEXTS, st.binary(max_size=300)),
    st.builds(
        lambda i, f: (wire.subscribe(i, *f), mqtt.Subscribe(i, f)),
        st.integers(0, 65535),
        st.lists(_TEXTS, max_size=5).map(tuple),
    ),
    st.just((wire.PINGREQ, mqtt.Signal.PING)),
    st.just((wire.DISCONNECT, mqtt.Signal.DISCONNECT)),
)


def _read_all(reader: PacketReader) -> list[Packet]:
    return list(iter(reader.next_packet, None))


def _read(data: bytes) -> Packet | None:
    reader = PacketReader()
    reader.feed(data)
    return reader.next_packet()


@given(packets=st.lists(_PACKETS, max_size=6), cuts=st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_packets_survive_any_cutting_of_the_stream(
    packets: list[tuple[bytes, Packet]], cuts: list[int]
) -> None:
    stream = b"".join(encoded for encoded, _ in packets)
    reader, read, position, turn = PacketReader(), [], 0, 0
    while position < len(stream):
        size = cuts[turn % len(cuts)]
        reader.feed(stream[position : position + size])
        read += _read_all(reader)
        position, turn = position + size, turn + 1
    assert read == [expected for _, expected in packets]
    assert reader.buffered == 0


@given(_PACKETS)
def test_a_packet_that_ends_early_or_late_is_refused(packet: tuple[bytes, Packet]) -> None:
    """A body shorter or longer than its fields is no packet, but for a PUBLISH, whose payload is the rest."""
    encoded, expected = packet
    first, body = encoded[0], encoded[-_remaining(encoded) :] if _remaining(encoded) else b""
    if not isinstance(expected, mqtt.Publish):
        with pytest.raises(MqttProtocolError):
            _read(wire.packet(first, body + b"\x00"))
    if body and not isinstance(expected, mqtt.Publish):
        with pytest.raises(MqttProtocolError):
            _read(wire.packet(first, body[:-1]))


def _remaining(encoded: bytes) -> int:
    length, shift = 0, 0
    for byte in encoded[1:]:
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return length


@given(st.lists(st.binary(max_size=80) | _PACKETS.map(lambda packet: packet[0]), max_size=8), st.data())
def test_garbage_raises_one_kind_of_error_and_fills_no_memory(
    chunks: list[bytes], data: st.DataObject
) -> None:
    limit = 100
    reader = PacketReader(limit)
    for chunk in chunks:
        mangled = bytearray(chunk)
        if chunk and data.draw(st.booleans()):
            mangled[data.draw(st.integers(0, len(chunk) - 1))] = data.draw(st.integers(0, 255))
        reader.feed(bytes(mangled))
        try:
            _read_all(reader)
        except MqttProtocolError:
            return
        assert reader.buffered <= limit + 5


def test_the_example_of_the_standard_is_understood() -> None:
    """The CONNECT of section 3.1 with its flags and keep-alive, will included."""
    body = bytes.fromhex("00044d515454 04 ce 000a") + b"\x00\x02id\x00\x01w\x00\x01m\x00\x01u\x00\x01p"
    assert _read(wire.packet(0x10, body)) == mqtt.Connect(
        client_id="id", username="u", password=b"p", keep_alive=10
    )


def test_a_length_over_the_limit_is_refused_before_the_packet_comes() -> None:
    """Five bytes are enough to end it; nothing is kept for what was announced."""
    reader = PacketReader()
    reader.feed(wire.packet(0x30, bytes(MAX_PACKET_BYTES + 1))[:4])
    with pytest.raises(MqttProtocolError, match="over the limit"):
        reader.next_packet()


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"\x30\x80\x80\x80\x80\x01", "more than four bytes"),
        (b"\x00\x00", "begins with 0x00"),
        (b"\x62\x02\x00\x01", "begins with 0x62"),
        (b"\xc1\x00", "begins with 0xc1"),
        (wire.publish("a", b"", qos=1), "begins with 0x32"),
        (wire.packet(0x82, b"\x00"), "ends within"),
        (wire.packet(0x30, b"\x00\x02\xc3\x28"), "not UTF-8"),
        (wire.packet(0x30, b"\x00\x03\xed\xa0\x80"), "not UTF-8"),
        (wire.connect(level=5), "not MQTT 3.1.1"),
        (wire.packet(0x10, b"\x00\x06MQIsdp\x03\x02\x00\x00"), "not MQTT 3.1.1"),
    ],
)
def test_violations_of_the_standard_are_named(data: bytes, complaint: str) -> None:
    with pytest.raises(MqttProtocolError, match=complaint):
        _read(data)


@pytest.mark.parametrize("size", [0, 1, 123, 124, 125, 16379, 16380, 16381, 65535])
def test_messages_of_every_size_are_framed(size: int) -> None:
    """Around the sizes where the length takes one more byte."""
    payload = bytes(size)
    assert mqtt.publish("tä", payload) == wire.publish("tä", payload)


def test_answers_are_those_of_the_standard() -> None:
    assert mqtt.ACCEPTED == b"\x20\x02\x00\x00"
    assert mqtt.NOT_AUTHORIZED == b"\x20\x02\x00\x05"
    assert mqtt.suback(0x1234, b"\x00\x80") == b"\x90\x04\x12\x34\x00\x80"
    assert mqtt.PINGRESP == b"\xd0\x00"
