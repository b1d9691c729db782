"""The server's side of MQTT 3.1.1, byte by byte."""

from contextlib import suppress

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.transport.mqtt import mqtt_packets as mqtt
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_packets import MqttProtocolError, Packet
from simulator.link.mqtt_client import packet
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
        client_id=client_id, username=username or "", password=password or b"", keep_alive=keep_alive
    )


_PACKETS = st.one_of(
    _connects(),
    st.builds(lambda t, p: (wire.publish(t, p), mqtt.Publish(t, p)), _TEXTS, st.binary(max_size=300)),
    st.builds(
        lambda t, p, i: (wire.publish(t, p, qos=1, packet_id=i), mqtt.Publish(t, p, i)),
        _TEXTS,
        st.binary(max_size=300),
        st.integers(0, 65535),
    ),
    st.builds(
        lambda i, f: (wire.subscribe(i, *f), mqtt.Subscribe(i, f)),
        st.integers(0, 65535),
        st.lists(_TEXTS, max_size=5).map(tuple),
    ),
    st.just((wire.PINGREQ, mqtt.Signal.PING)),
    st.just((wire.DISCONNECT, mqtt.Signal.DISCONNECT)),
)


def _parts(encoded: bytes) -> tuple[int, bytes]:
    """Return the first byte and the body of a packet, without the length between them."""
    end = next(place for place in range(1, 5) if encoded[place] < 0x80)
    return encoded[0], encoded[end + 1 :]


@given(_PACKETS)
def test_a_packet_is_parsed_whole_only(packet: tuple[bytes, Packet]) -> None:
    """A body shorter or longer than its fields is no packet, but for a PUBLISH, whose payload is the rest."""
    encoded, expected = packet
    first, body = _parts(encoded)
    assert mqtt.parse_packet(first, body) == expected
    if isinstance(expected, mqtt.Publish):
        return
    for other in (body + b"\x00", *([body[:-1]] if body else [])):
        with pytest.raises(MqttProtocolError):
            mqtt.parse_packet(first, other)


@given(st.sampled_from([*mqtt.PARSERS]), st.binary(max_size=80) | _PACKETS.map(lambda packet: packet[0][2:]))
def test_garbage_raises_one_kind_of_error(first: int, body: bytes) -> None:
    with suppress(MqttProtocolError):
        mqtt.parse_packet(first, body)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (packet(0x82, b"\x00"), "ends within"),
        (wire.subscribe(1, *["a"] * 17), "more than 16 topics"),
        (packet(0x30, b"\x00\x03\xed\xa0\x80"), "not UTF-8"),
        (wire.connect(level=5), "not MQTT 3.1.1"),
        (packet(0x10, b"\x00\x06MQIsdp\x03\x02\x00\x00"), "not MQTT 3.1.1"),
    ],
)
def test_violations_of_the_standard_are_named(data: bytes, complaint: str) -> None:
    with pytest.raises(MqttProtocolError, match=complaint):
        mqtt.parse_packet(*_parts(data))


@pytest.mark.parametrize("size", [0, 1, 123, 124, 125, 16379, 16380, 16381, 65535])
def test_messages_of_every_size_are_framed(size: int) -> None:
    """Around the sizes where the length takes one more byte."""
    payload = bytes(size)
    assert mqtt.publish("tä", payload) == wire.publish("tä", payload)
