"""The audio of the simulated device over UDP: a connected socket, counted packets, nothing made good."""

import asyncio
from collections.abc import AsyncIterator
from itertools import pairwise
import socket
from typing import Any

import pytest

from simulator import Misbehaviour, SimulatedDevice, State, UdpImpairment, converse
from simulator.audio.espeak import synthesize
from tests.simulator.fake_mqtt import KEY, NONCE, MqttServer, Session, ctr
from tests.simulator.fake_server import opus_packets
from tests.simulator.talk import settle

VERSIONS = ["1.9.0", "2.2.4", "2.4.2"]


@pytest.fixture
async def server() -> AsyncIterator[MqttServer]:
    """A server that accepts devices and answers their hellos."""
    async with MqttServer.serving() as running:
        yield running


async def listening(server: MqttServer, sim: SimulatedDevice) -> Session:
    """Boot, click, and wait for the first sound."""
    await sim.boot()
    session = await server.session()
    await sim.click()
    await server.audio.until(lambda: server.audio.datagrams)
    return session


async def speaking(server: MqttServer, sim: SimulatedDevice) -> Session:
    """Go on until the device speaks."""
    session = await listening(server, sim)
    session.send({"type": "tts", "state": "start"})
    await sim.wait_for(lambda: sim.screen.status == "Speaking...")
    return session


def taken(sim: SimulatedDevice) -> int:
    """Count the packets that got as far as the loudspeaker."""
    return sum(map(len, sim.speaker.answers))


# Uplink


async def test_the_header_is_the_nonce_with_length_and_number_and_is_the_counter_of_the_cipher(
    server: MqttServer,
) -> None:
    async with server.device() as sim:
        await listening(server, sim)
        await server.audio.until(lambda: len(server.audio.datagrams) > 20)
        for number, datagram in enumerate(server.audio.datagrams, start=1):
            header, payload = datagram[:16], datagram[16:]
            assert (header[:2], header[4:8]) == (NONCE[:2], NONCE[4:8])
            assert int.from_bytes(header[2:4]) == len(payload)
            assert header[8:] == bytes(4) + number.to_bytes(4)
            assert ctr(KEY, header, payload)[0] == 0x58
        assert {len(datagram) - 16 for datagram in server.audio.datagrams} > {1}


async def test_the_wake_words_sound_comes_before_the_microphone(server: MqttServer) -> None:
    async with server.device() as sim:
        await sim.boot()
        await sim.wake()
        await server.audio.until(lambda: len(server.audio.datagrams) >= 33)
        assert server.audio.sequences[:33] == list(range(1, 34))


async def test_numbers_start_at_1_again_with_every_hello(server: MqttServer) -> None:
    async with server.device() as sim:
        session = await listening(server, sim)
        await sim.click()
        await session.expect(type="goodbye")
        count = len(server.audio.datagrams)
        await sim.click()
        await server.audio.until(lambda: len(server.audio.datagrams) > count + 2)
        assert server.audio.sequences[count : count + 3] == [1, 2, 3]


async def test_a_hello_in_the_conversation_changes_keys_and_numbers_on_the_same_socket(
    server: MqttServer,
) -> None:
    async with server.device() as sim:
        session = await speaking(server, sim)
        for packet in opus_packets(3):
            server.audio.send(server.audio.seal(packet))
        await sim.wait_for(lambda: taken(sim) == 3)
        session.send(server.hello("session-2", key="ff" * 16))
        await settle()
        server.audio.send(server.audio.seal(opus_packets(1)[0], sequence=1, key=b"\xff" * 16))
        await sim.wait_for(lambda: taken(sim) == 4)
        await sim.wait_played()
        assert sim.speaker.failed == 0
        assert len(set(server.audio.sources)) == 1


# Downlink


@pytest.mark.parametrize("version", VERSIONS)
async def test_it_takes_packets_in_order_with_gaps_and_drops_what_comes_late(
    server: MqttServer, version: str
) -> None:
    async with server.device(version) as sim:
        await speaking(server, sim)
        packet = opus_packets(1)[0]
        for sequence in (1, 2, 5, 4, 3, 9, 1, 10):
            server.audio.send(server.audio.seal(packet, sequence))
        await sim.wait_for(lambda: taken(sim) == 5)
        await sim.wait_played()
        assert sim.speaker.failed == 0


@pytest.mark.parametrize(("version", "count"), [("1.9.0", 4), ("2.3.0", 4), ("2.4.0", 1), ("2.4.2", 1)])
async def test_the_same_number_counts_again_up_to_2_3_0_and_so_does_0(
    server: MqttServer, version: str, count: int
) -> None:
    async with server.device(version) as sim:
        await speaking(server, sim)
        packet = opus_packets(1)[0]
        for sequence in (0, 1, 1, 1):
            server.audio.send(server.audio.seal(packet, sequence))
        server.audio.send(server.audio.seal(opus_packets(1, duration=20)[0], 2))
        await sim.wait_for(lambda: sim.speaker.short == 1)
        assert taken(sim) == count + 1


@pytest.mark.parametrize(("version", "taken_too"), [("2.3.0", 1), ("2.4.0", 0)])
async def test_from_2_4_0_on_the_length_has_to_be_right(
    server: MqttServer, version: str, taken_too: int
) -> None:
    async with server.device(version) as sim:
        await speaking(server, sim)
        server.audio.send(server.audio.seal(opus_packets(1)[0]) + b"more")
        server.audio.send(server.audio.seal(opus_packets(1, duration=20)[0]))
        await sim.wait_for(lambda: sim.speaker.short == 1)
        assert taken(sim) == taken_too + 1


@pytest.mark.parametrize(("version", "size"), [("2.3.0", 7), ("2.4.0", -1)])
async def test_before_2_4_0_packets_of_less_than_8_bytes_are_lost(
    server: MqttServer, version: str, size: int
) -> None:
    async with server.device(version) as sim:
        await speaking(server, sim)
        for length in range(20):
            server.audio.send(server.audio.seal(bytes(length)))
        await sim.wait_for(lambda: taken(sim) == 19 - size)


@pytest.mark.parametrize("version", VERSIONS)
async def test_other_types_and_fragments_are_dropped(server: MqttServer, version: str) -> None:
    async with server.device(version) as sim:
        await speaking(server, sim)
        packet = opus_packets(1)[0]
        server.audio.send(server.audio.seal(packet, kind=2))
        server.audio.send(server.audio.seal(packet)[:15])
        server.audio.send(b"\x01")
        server.audio.send(server.audio.seal(opus_packets(1, duration=20)[0]))
        await sim.wait_for(lambda: sim.speaker.short == 1)
        assert taken(sim) == 1


async def test_a_datagram_beyond_1500_bytes_is_cut_and_so_rejected(server: MqttServer) -> None:
    async with server.device() as sim:
        await speaking(server, sim)
        server.audio.send(server.audio.seal(bytes(1485)))
        server.audio.send(server.audio.seal(bytes(1484)))
        await sim.wait_for(lambda: taken(sim) == 1)


async def test_what_comes_from_another_address_is_not_even_seen(server: MqttServer) -> None:
    async with server.device() as sim:
        await speaking(server, sim)
        packet = opus_packets(1)[0]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.sendto(server.audio.seal(packet, 9), server.audio.sources[0])
            other.sendto(b"", server.audio.sources[0])
        server.audio.send(server.audio.seal(packet, 1))
        server.audio.send(server.audio.seal(opus_packets(1, duration=20)[0], 2))
        await sim.wait_for(lambda: sim.speaker.short == 1)
        assert taken(sim) == 2


async def test_an_empty_datagram_ends_the_audio_and_nobody_is_told(server: MqttServer) -> None:
    async with server.device() as sim:
        await speaking(server, sim)
        server.audio.send(b"")
        await settle()
        count = len(server.audio.datagrams)
        server.audio.send(server.audio.seal(opus_packets(1)[0]))
        await settle()
        assert taken(sim) == 0
        session = server.sessions[0]
        session.send({"type": "tts", "state": "stop"})
        await sim.wait_for(lambda: sim.listening)
        await settle()
        assert len(server.audio.datagrams) == count
        assert sim.channel_open
        assert not sim.last_error


async def test_audio_is_taken_only_while_it_speaks(server: MqttServer) -> None:
    async with server.device() as sim:
        await listening(server, sim)
        server.audio.send(server.audio.seal(opus_packets(1)[0]))
        await sim.wait_for(lambda: sim.speaker.ignored == 1)


async def test_an_address_that_leads_nowhere_leaves_a_silent_conversation(server: MqttServer) -> None:
    server.hellos = [server.hello(server="::1")]
    async with server.device() as sim:
        await sim.boot()
        await sim.click()
        await sim.wait_for(lambda: sim.listening)
        await settle()
        assert not server.audio.datagrams
        assert not sim.last_error


# Conversations


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_conversation_is_held_over_mqtt_and_udp(server: MqttServer, version: str) -> None:
    async def serve(sim: SimulatedDevice) -> None:
        await server.audio.until(lambda: len(server.audio.datagrams) > 40)
        session = server.sessions[0]
        session.send({"type": "stt", "text": "hello there"})
        session.send({"type": "tts", "state": "start"})
        await sim.wait_for(lambda: sim.screen.status == "Speaking...")
        session.send({"type": "tts", "state": "sentence_start", "text": "Hello yourself."})
        for packet in opus_packets(10):
            server.audio.send(server.audio.seal(packet))
        await sim.wait_for(lambda: taken(sim) == 10)
        session.send({"type": "goodbye", "session_id": "session-1"})

    async with server.device(version) as sim:
        await sim.boot()
        serving = asyncio.create_task(serve(sim))
        account = await converse(sim, synthesize("Hello there", sample_rate=16000)[0])
        await serving
        assert account.heard == ["hello there"]
        assert account.answers == ["Hello yourself."]
        assert account.played_seconds == pytest.approx(0.6, abs=0.01)
        assert not account.hung_up
        assert sim.state is State.IDLE
        assert sim.connected


# Impairments


async def uplink(server: MqttServer, impairment: UdpImpairment, packets: int = 200) -> list[int]:
    async with server.device(impairment=impairment) as sim:
        await listening(server, sim)
        await server.audio.until(lambda: len(server.audio.datagrams) >= packets)
        return server.audio.sequences[:packets]


async def test_packets_are_lost(server: MqttServer) -> None:
    sequences = await uplink(server, UdpImpairment(loss=10))
    assert sequences == sorted(set(sequences))
    assert 205 < sequences[-1] < 245


async def test_packets_come_twice(server: MqttServer) -> None:
    sequences = await uplink(server, UdpImpairment(duplicate=10))
    assert sequences == sorted(sequences)
    assert 10 < len(sequences) - len(set(sequences)) < 40


async def test_packets_overtake_each_other(server: MqttServer) -> None:
    sequences = await uplink(server, UdpImpairment(reorder=10))
    swapped = sum(later < earlier for earlier, later in pairwise(sequences))
    assert 5 < swapped < 40
    assert all(abs(sequence - place) <= 2 for place, sequence in enumerate(sequences, start=1))


async def test_packets_are_delayed_and_stay_in_order(server: MqttServer) -> None:
    assert await uplink(server, UdpImpairment(jitter=20)) == list(range(1, 201))


async def test_the_same_seed_has_the_same_luck(server: MqttServer) -> None:
    first = await uplink(server, UdpImpairment(loss=30, seed=5), 50)
    server.audio.datagrams.clear()
    assert await uplink(server, UdpImpairment(loss=30, seed=5), 50) == first
    server.audio.datagrams.clear()
    assert await uplink(server, UdpImpairment(loss=30, seed=6), 50) != first


@pytest.mark.parametrize(
    ("impairment", "least", "most"),
    [
        (UdpImpairment(loss=50), 3, 37),
        (UdpImpairment(duplicate=100), 40, 40),
        (UdpImpairment(reorder=100), 15, 25),
        (UdpImpairment(jitter=10), 40, 40),
    ],
)
async def test_impairments_apply_to_the_downlink_too(
    server: MqttServer, impairment: UdpImpairment, least: int, most: int
) -> None:
    """Of forty packets the device takes those that are not behind another one."""
    async with server.device(impairment=impairment) as sim:
        await speaking(server, sim)
        for packet in opus_packets(40):
            server.audio.send(server.audio.seal(packet))
            await asyncio.sleep(0.001)
        await sim.wait_for(lambda: taken(sim) >= least)
        # Packets that wait to be overtaken do so for 0.2 s at most.
        await asyncio.sleep(0.3)
        assert taken(sim) <= most


# Misbehaviour


async def test_datagrams_are_sent_again(server: MqttServer) -> None:
    async with server.device(misbehaviours=(Misbehaviour.UDP_REPLAY,)) as sim:
        await listening(server, sim)
        await server.audio.until(lambda: len(server.audio.datagrams) > 30)
        assert server.audio.sequences[:16] == [*range(1, 12), 1, 12, 2, 13, 3]
        first, again = (
            [one for one in server.audio.datagrams if one[12:16] == b"\0\0\0\x01"][place] for place in (0, 1)
        )
        assert first == again


async def test_somebody_else_sends_with_its_connection_id(server: MqttServer) -> None:
    async with server.device(misbehaviours=(Misbehaviour.UDP_FORGERY,)) as sim:
        await listening(server, sim)
        await server.audio.until(lambda: len(server.audio.datagrams) > 20)
        own = server.audio.sources[1]
        by_source: dict[bool, list[Any]] = {True: [], False: []}
        for datagram, source in zip(server.audio.datagrams, server.audio.sources, strict=True):
            by_source[source == own].append(datagram)
            assert datagram[4:8] == NONCE[4:8]
        genuine, forged = by_source[True], by_source[False]
        assert {ctr(KEY, one[:16], one[16:])[0] for one in genuine} == {0x58}
        assert {ctr(KEY, one[:16], one[16:])[0] for one in forged} != {0x58}


async def test_conversations_that_do_not_exist_are_named(server: MqttServer) -> None:
    async with server.device(misbehaviours=(Misbehaviour.UDP_UNKNOWN,)) as sim:
        await listening(server, sim)
        await server.audio.until(lambda: len(server.audio.datagrams) > 20)
        ids = [datagram[4:8] for datagram in server.audio.datagrams]
        assert set(ids[::2]) == {NONCE[4:8]}
        assert NONCE[4:8] not in ids[1::2]
