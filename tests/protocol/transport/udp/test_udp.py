"""Audio over UDP: crypto, order, plausibility and the socket."""

import asyncio
from collections.abc import AsyncGenerator, Callable
import random
import socket
import struct

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.opus_codec import opus_samples
from custom_components.xiaozhi.protocol.messages import AudioFormat
from custom_components.xiaozhi.protocol.transport.udp import udp_server
from custom_components.xiaozhi.protocol.transport.udp.encrypted_audio import (
    MAX_DATAGRAM_BYTES,
    EncryptedAudio,
    Sender,
    UdpCounters,
)
from custom_components.xiaozhi.protocol.transport.udp.udp_server import UdpChannel, UdpServer
from tests.protocol.transport.udp.device import DeviceAudio, DeviceSocket, opus_packet, until

_UPLINK = AudioFormat(sample_rate=16000, frame_duration=60)
_HERE = bytes((127, 0, 0, 1))
_HOME = Sender("192.0.2.1", 5000, _HERE)
_MOVED = Sender("192.0.2.2", 6000, _HERE)


class _Session:
    """A session, its device and a clock."""

    def __init__(self) -> None:
        self.counters = UdpCounters()
        self.session = EncryptedAudio(0xA1B2C3D4, _UPLINK, self.counters, 1000.0)
        self.device = DeviceAudio(self.session.key, self.session.nonce)
        self.now = 1000.0

    def receive(
        self, packet: bytes, *, sequence: int | None = None, source: Sender = _HOME
    ) -> tuple[bytes, int] | None:
        return self.session.open(self.device.seal(packet, sequence=sequence), source, self.now)


def test_no_two_blocks_are_encrypted_with_the_same_counter() -> None:
    """Neither of two of our packets nor of ours and the device's, which uses the same key.

    Even when the device repeats our timestamps.
    """
    talk = _Session()
    down = [talk.session.seal(opus_packet(bytes(100))) or b"" for _ in range(50)]
    stamps = [int.from_bytes(datagram[8:12]) for datagram in down]
    up = [talk.device.seal(opus_packet(bytes(100)), timestamp=stamp) for stamp in stamps]
    ours, theirs = (
        [int.from_bytes(datagram[:16]) + block for datagram in datagrams for block in range(7)]
        for datagrams in (down, up)
    )
    assert len(set(ours)) == len(ours)
    assert not set(ours) & set(theirs)


@given(st.lists(st.integers(-5, 5), max_size=80))
def test_whatever_comes_is_delivered_once_and_in_order(steps: list[int]) -> None:
    """Lost, doubled, late and shuffled: the time line is complete when the gaps are added."""
    talk = _Session()
    position = late = 0
    for step in steps:
        number = max(1, position + step)
        expected = (opus_packet(b"%d" % number), number - position - 1) if number > position else None
        assert talk.receive(opus_packet(b"%d" % number), sequence=number) == expected
        late += expected is None
        position = max(position, number)
    counters = talk.counters
    assert (counters.received + counters.lost, counters.late) == (position, late)


@pytest.mark.parametrize(
    "change",
    [
        lambda datagram: b"\x02" + datagram[1:],
        lambda datagram: datagram[:1] + b"\x01" + datagram[2:],
        lambda datagram: datagram[:2] + b"\x00\x01" + datagram[4:],
        lambda datagram: datagram + b"\x00",
        lambda datagram: datagram[:-1],
        lambda datagram: datagram[:12] + b"\xff\xff\xff\xff" + datagram[16:],
    ],
    ids=["type", "flags", "length", "longer", "shorter", "sequence"],
)
def test_a_datagram_with_a_wrong_header_is_rejected(change: Callable[[bytes], bytes]) -> None:
    """And changes nothing: the true packet is taken afterwards."""
    talk = _Session()
    datagram = talk.device.seal(opus_packet())
    assert not talk.session.open(change(datagram), _MOVED, 1000.0)
    assert talk.counters.rejected == 1
    assert talk.session.source is None
    assert talk.session.open(datagram, _HOME, 1000.0)


def test_few_forgeries_look_like_audio() -> None:
    """Without the key the content is random: about one of 70 is an Opus packet of the announced 60 ms."""
    randomness = random.Random(7)
    passed = 0
    for _ in range(5000):
        talk = _Session()
        forged = talk.device.seal(b"")[:2] + struct.pack(">H", 80) + talk.device.nonce[4:8] + bytes(4)
        forged += struct.pack(">I", 1) + randomness.randbytes(80)
        passed += bool(talk.session.open(forged, _MOVED, 1000.0))
    assert 0 < passed < 5000 / 50


def test_a_sequence_far_ahead_is_a_forgery_until_time_has_passed() -> None:
    """Two seconds of wake word come at once; a network that was away for a minute swallows a thousand."""
    talk = _Session()
    assert not talk.receive(opus_packet(), sequence=101 + 1000)
    assert not talk.receive(opus_packet(), sequence=102 + 1000)
    assert talk.counters.rejected == 2
    talk.now += 60
    assert not talk.receive(opus_packet(), sequence=1001)
    assert talk.receive(opus_packet(), sequence=1002) == (opus_packet(), 1001)


@pytest.mark.parametrize(("source", "ahead"), [(_HOME, 90), (_MOVED, 5), (_MOVED, 90)])
def test_one_lucky_guess_of_a_stranger_costs_no_packet_of_the_device(source: Sender, ahead: int) -> None:
    """From its own address or as if from the device, and each time again after a packet of the device."""
    talk = _Session()
    for number in range(1, 50):
        assert talk.receive(opus_packet(b"device"), source=_HOME) == (opus_packet(b"device"), 0), number
        assert not talk.receive(opus_packet(b"guess"), sequence=number + ahead, source=source)
        assert not talk.receive(b"", sequence=number + ahead, source=source)
    assert talk.session.source == _HOME


def test_more_audio_than_any_device_makes_is_dropped() -> None:
    """400 packets at once, then 400 a second."""
    talk = _Session()
    for _ in range(1000):
        talk.receive(opus_packet())
    assert talk.counters.received == 400
    assert talk.counters.flooded + talk.counters.rejected == 600


@given(st.binary(min_size=16, max_size=200), st.booleans())
def test_garbage_is_dropped_without_an_error(garbage: bytes, addressed: bool) -> None:
    talk = _Session()
    if addressed:
        garbage = b"\x01\x00" + (len(garbage) - 16).to_bytes(2) + talk.device.nonce[4:8] + garbage[8:]
    if (delivered := talk.session.open(garbage, _HOME, 1000.0)) is not None:
        packet, missing = delivered
        assert opus_samples(packet) == 2880
        assert missing <= 100


def test_the_device_is_where_its_newest_genuine_packet_came_from() -> None:
    """Its address may change; old, repeated, forged and empty packets change nothing."""
    talk = _Session()
    first = talk.device.seal(opus_packet(b"first"))
    talk.session.open(first, _HOME, talk.now)
    talk.receive(opus_packet(b"second"))
    assert talk.session.source == _HOME
    talk.session.open(first, _MOVED, talk.now)
    talk.receive(b"\x00 not audio", sequence=3, source=_MOVED)
    talk.receive(b"", sequence=3, source=_MOVED)
    assert talk.session.source == _HOME
    talk.receive(opus_packet(b"fifth"), sequence=5, source=_HOME)
    talk.receive(opus_packet(b"fourth"), sequence=4, source=_MOVED)
    assert talk.session.source == _HOME
    # What a stranger has made up may look genuine once.
    talk.receive(opus_packet(b"sixth"), sequence=6, source=_MOVED)
    assert talk.session.source == _HOME
    talk.receive(opus_packet(b"seventh"), sequence=7, source=_MOVED)
    assert talk.session.source == _MOVED


def test_an_empty_packet_is_silence_when_the_device_sends_it() -> None:
    """It proves nothing, so that only the known address may send one."""
    talk = _Session()
    assert talk.receive(b"", sequence=1) is None
    talk.receive(opus_packet(), sequence=1)
    assert talk.receive(b"", sequence=2, source=_MOVED) is None
    assert talk.receive(b"", sequence=2) == (b"", 0)


def test_an_empty_datagram_is_never_made_nor_one_that_would_be_cut() -> None:
    """The one would end the device's reception, the other be rejected."""
    talk = _Session()
    assert talk.session.seal(b"") is None
    assert talk.session.seal(bytes(MAX_DATAGRAM_BYTES - 15)) is None
    assert len(talk.session.seal(bytes(MAX_DATAGRAM_BYTES - 16)) or b"") == MAX_DATAGRAM_BYTES


class _Conversation:
    """A channel on the listener with the device's end of it."""

    def __init__(self, listener: UdpServer) -> None:
        self.heard: list[tuple[bytes, int]] = []
        self.counters = UdpCounters()
        self.channel: UdpChannel = listener.open_channel(_UPLINK, self.audio_received, self.counters)
        self.device = DeviceAudio.from_offer(self.channel.offer("192.0.2.1"))

    def audio_received(self, packet: bytes, missing: int) -> None:
        self.heard.append((packet, missing))


@pytest.fixture
async def listener(socket_enabled: None) -> AsyncGenerator[UdpServer]:
    listener = UdpServer()
    listener.start("127.0.0.1", 0)
    yield listener
    listener.stop()


@pytest.fixture
async def device_socket(listener: UdpServer) -> AsyncGenerator[DeviceSocket]:
    device_socket = await DeviceSocket.open(listener.port)
    yield device_socket
    device_socket.close()


async def test_conversations_on_one_socket_do_not_mix(listener: UdpServer) -> None:
    """Twenty devices, each with its own key, and each gets its own answer."""
    talks = [_Conversation(listener) for _ in range(20)]
    sockets = [await DeviceSocket.open(listener.port) for _ in talks]
    for number, (talk, device_socket) in enumerate(zip(talks, sockets, strict=True)):
        device_socket.send(talk.device.seal(opus_packet(b"%d" % number)))
    await until(lambda: all(talk.heard for talk in talks))
    for number, (talk, device_socket) in enumerate(zip(talks, sockets, strict=True)):
        assert talk.heard == [(opus_packet(b"%d" % number), 0)]
        talk.channel.send(opus_packet(b"to %d" % number))
        assert talk.device.open(await device_socket.receive()) == opus_packet(b"to %d" % number)
        device_socket.close()


async def test_a_backlog_of_a_busy_event_loop_is_read_at_once_in_turn(
    listener: UdpServer, device_socket: DeviceSocket
) -> None:
    """Ten devices speak for a second while it is busy: the system keeps not much more."""
    talks = [_Conversation(listener) for _ in range(10)]
    for _ in range(16):
        for talk in talks:
            device_socket.send(talk.device.seal(opus_packet()))
    # One round in which the socket is looked at, and then one for each packet of a device.
    handled = []
    for _ in range(4):
        await asyncio.sleep(0)
        handled.append([len(talk.heard) for talk in talks])
    assert handled == [[number] * 10 for number in range(4)]
    for talk in talks:
        talk.channel.flush()
    assert [len(talk.heard) for talk in talks] == [16] * 10
    assert not any(missing for talk in talks for _, missing in talk.heard)


async def test_a_flood_that_is_not_handled_yet_is_bounded(listener: UdpServer) -> None:
    """What is more than any device makes is dropped, and the others are heard."""
    talk, other = _Conversation(listener), _Conversation(listener)
    for _ in range(1000):
        listener.datagram_received(talk.device.seal(opus_packet()), _HOME)
    assert talk.counters.flooded == 600
    listener.datagram_received(other.device.seal(opus_packet()), _HOME)
    other.channel.flush()
    assert len(other.heard) == 1


async def test_a_closed_channel_takes_nothing(listener: UdpServer, device_socket: DeviceSocket) -> None:
    """Packets still on their way belong to nobody."""
    talk, witness = _Conversation(listener), _Conversation(listener)
    talk.channel.close()
    device_socket.send(talk.device.seal(opus_packet()))
    device_socket.send(witness.device.seal(opus_packet()))
    await until(lambda: bool(witness.heard))
    assert not talk.heard
    assert listener.counters.unknown == 1


@pytest.mark.parametrize("stops", [False, True], ids=["conversation", "server"])
async def test_what_the_receiver_of_a_packet_ends_hands_on_no_more(
    stops: bool, listener: UdpServer, device_socket: DeviceSocket
) -> None:
    heard: list[bytes] = []

    def take(packet: bytes, _missing: int) -> None:
        heard.append(packet)
        if stops:
            listener.stop()
        else:
            channel.close()

    channel = listener.open_channel(_UPLINK, take, UdpCounters())
    device = DeviceAudio.from_offer(channel.offer(""))
    for number in range(5):
        device_socket.send(device.seal(opus_packet(b"%d" % number)))
    await until(lambda: bool(heard))
    assert heard == [opus_packet(b"0")]


async def test_a_flood_from_unknown_ids_keeps_nobody_from_talking(
    listener: UdpServer, device_socket: DeviceSocket
) -> None:
    """Each stray datagram costs a look at its header; the audio of the others arrives."""
    talk = _Conversation(listener)
    strays = await DeviceSocket.open(listener.port)
    randomness = random.Random(3)
    for number in range(1, 41):
        for _ in range(50):
            strays.send(randomness.randbytes(randomness.randrange(0, 300)))
        device_socket.send(talk.device.seal(opus_packet()))
        await until(lambda number=number: len(talk.heard) == number)
    await until(lambda: listener.counters.unknown + listener.counters.rejected == 40 * 50)
    assert listener.counters.unknown > 40 * 50 * 0.9
    strays.close()


async def test_datagrams_too_short_or_too_long_are_rejected(
    listener: UdpServer, device_socket: DeviceSocket
) -> None:
    """Empty ones included; a long one is not mistaken for the part that was read."""
    talk = _Conversation(listener)
    for size in (0, 1, 15):
        device_socket.send(bytes(size))
    device_socket.send(talk.device.seal(opus_packet(bytes(2000))))
    device_socket.send(talk.device.seal(opus_packet(), sequence=1))
    await until(lambda: bool(talk.heard))
    assert talk.heard == [(opus_packet(), 0)]
    assert listener.counters.rejected == 4


async def test_the_answer_comes_from_the_address_that_the_device_sent_to(socket_enabled: None) -> None:
    """A host has several; the device's socket hears only the one it knows."""
    listener = UdpServer()
    listener.start(None, 0)
    talk = _Conversation(listener)
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device_socket:
        device_socket.setblocking(False)
        device_socket.bind(("127.0.0.1", 0))
        device_socket.sendto(talk.device.seal(opus_packet()), ("127.0.0.2", listener.port))
        await until(lambda: bool(talk.heard))
        talk.channel.send(opus_packet(b"answer"))
        async with asyncio.timeout(5):
            answer, sender = await loop.sock_recvfrom(device_socket, 2000)
    assert sender == ("127.0.0.2", listener.port)
    assert talk.device.open(answer) == opus_packet(b"answer")
    listener.stop()


async def test_a_port_is_taken_until_its_server_stops_and_sends_nothing_any_more(
    listener: UdpServer, device_socket: DeviceSocket
) -> None:
    """A caller that still holds a channel gets no error."""
    port, talk, second = listener.port, _Conversation(listener), UdpServer()
    device_socket.send(talk.device.seal(opus_packet()))
    await until(lambda: bool(talk.heard))
    with pytest.raises(OSError, match="in use"):
        second.start("127.0.0.1", port)
    with pytest.raises(RuntimeError):
        _ = second.port
    listener.stop()
    listener.stop()
    assert not talk.channel.send(opus_packet())
    second.start("127.0.0.1", port)
    second.stop()


async def test_what_the_network_refuses_is_dropped_and_counted(listener: UdpServer) -> None:
    """No port 0 can be sent to; the conversation goes on without that packet."""
    talk = _Conversation(listener)
    listener.datagram_received(talk.device.seal(opus_packet()), Sender("127.0.0.1", 0, _HERE))
    talk.channel.flush()
    assert not talk.channel.send(opus_packet())
    assert talk.counters.unsent == 1


async def test_datagrams_from_outside_the_home_network_are_dropped(
    listener: UdpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they hold: these are the device's own."""
    monkeypatch.setattr(udp_server, "is_local", lambda address: address != "127.0.0.2")
    talk = _Conversation(listener)
    for address, content in (("127.0.0.2", b"outside"), ("127.0.0.1", b"inside")):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as device_socket:
            device_socket.bind((address, 0))
            datagram = talk.device.seal(opus_packet(content), sequence=1)
            device_socket.sendto(datagram, ("127.0.0.1", listener.port))
    await until(lambda: bool(talk.heard))
    assert talk.heard == [(opus_packet(b"inside"), 0)]
    assert (listener.counters.not_local, talk.channel.remote) == (1, "127.0.0.1")
