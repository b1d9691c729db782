"""The uplink: packets, silence, speech."""

import asyncio
from itertools import count, pairwise
from pathlib import Path
import struct

import pytest

from simulator import Pace, State
from simulator.audio.espeak import synthesize
from simulator.audio.microphone import Microphone, Voice
from simulator.audio.opus import OpusDecoder, OpusEncoder, OpusError, packet_duration
from simulator.audio.sound import read_wav, write_wav
from tests.simulator.fake_server import Server, opus_packets


def tone(seconds: float) -> bytes:
    count = round(seconds * 16000)
    return struct.pack(f"<{count}h", *(8000 if index // 20 % 2 else -8000 for index in range(count)))


def loud_frames(packets: list[bytes]) -> list[bool]:
    decoder = OpusDecoder(16000)
    return [
        max(abs(sample) for (sample,) in struct.iter_unpack("<h", decoder.decode(packet))) > 2000
        for packet in packets
    ]


def test_silence_is_one_byte_in_six_of_seven_packets_and_a_voice_is_not() -> None:
    encoder = OpusEncoder()
    voiced = [len(encoder.encode(tone(0.06))) for _ in range(10)]
    silent = [encoder.encode(bytes(1920)) for _ in range(77)][7:]
    assert min(voiced) > 20
    assert sum(len(packet) == 1 for packet in silent) == 60
    assert {packet[0] for packet in silent} == {0x58}


def test_every_packet_is_60_ms() -> None:
    encoder, decoder = OpusEncoder(), OpusDecoder(48000)
    decoded = 0
    for _ in range(20):
        packet = encoder.encode(bytes(1920))
        assert packet_duration(packet) == 60
        decoded += len(decoder.decode(packet))
    assert decoded == 20 * 2880 * 2


@pytest.mark.parametrize("duration", [5, 10, 20, 40, 60])
def test_the_duration_is_read_from_the_packet(duration: int) -> None:
    assert packet_duration(opus_packets(1, duration=duration)[0]) == duration


@pytest.mark.parametrize(
    ("packet", "duration"), [(b"\x59\0", 120), (b"\x5b\x02", 120), (b"\x68", 20), (b"\xe0", 2.5)]
)
def test_several_frames_in_a_packet_add_up(packet: bytes, duration: float) -> None:
    assert packet_duration(packet) == duration


@pytest.mark.parametrize("packet", [b"", b"\x5b"])
def test_a_packet_without_header_has_no_duration(packet: bytes) -> None:
    with pytest.raises(OpusError):
        packet_duration(packet)


def test_a_broken_packet_does_not_decode() -> None:
    with pytest.raises(OpusError, match="does not decode"):
        OpusDecoder(24000).decode(bytes.fromhex("5b96762e") + bytes(38))


async def test_the_microphone_sends_a_packet_every_60_ms_after_a_warm_up_of_120(server: Server) -> None:
    async with server.device(pace=Pace(main_loop_delay=0)) as sim:
        await sim.boot()
        start = asyncio.get_running_loop().time()
        await sim.click()
        session = await server.session()
        times: list[float] = []
        for number in range(1, 9):
            await session.until(lambda: len(session.packets) >= number)  # noqa: B023
            times.append(asyncio.get_running_loop().time())
        assert all(time - start >= 0.12 + 0.06 * place for place, time in enumerate(times, 1))


async def test_what_is_said_is_heard_whole_and_then_silence_for_ever(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        sim.say(tone(1.2))
        await sim.click()
        session = await server.session()
        await sim.wait_said()
        assert sim.events("speaking begins") == sim.events("said") == [{}]
        await session.until(lambda: len(session.packets) > 60)
        loud = loud_frames(session.packets)
        assert 20 <= sum(loud) <= 21
        assert not any(loud[22:])
        assert sum(len(packet) == 1 for packet in session.packets[30:]) >= 20


async def test_two_utterances_follow_each_other_and_a_cut_one_is_lost(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        await sim.click()
        session = await server.session()
        sim.say(tone(30))
        await session.until(lambda: len(session.packets) > 5)
        await session.start_speaking()
        await sim.wait_for(lambda: not sim.listening)
        await sim.wait_said()
        sim.say(tone(0.6))
        sim.say(tone(0.6))
        await session.stop_speaking()
        await sim.wait_for(lambda: sim.listening)
        await sim.wait_said()
        await session.until(lambda: sum(loud_frames(session.packets)) >= 26)
        assert sum(loud_frames(session.packets)) < 60


async def test_a_sound_file_of_any_rate_can_be_said(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "speech.wav"
    write_wav(path, *synthesize("Turn on the light"))
    async with server.device() as sim:
        await sim.boot()
        sim.say(path)
        await sim.click()
        session = await server.session()
        await sim.wait_said()
        await session.until(lambda: sum(loud_frames(session.packets)) > 8)


def test_a_file_that_is_no_sound_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text.wav"
    path.write_text("no sound")
    with pytest.raises(ValueError, match="not a sound file"):
        read_wav(path)


def test_noise_is_soft_never_silent_and_the_same_every_time() -> None:
    frames = [Voice(noise=30).next_frame() for _ in range(2)]
    assert frames[0] == frames[1]
    voice = Voice(noise=30)
    many = [voice.next_frame() for _ in range(40)]
    assert all(len(frame) == 1920 for frame in many)
    assert all(first != second for first, second in pairwise(many))
    assert max(abs(sample) for (sample,) in struct.iter_unpack("<h", b"".join(many))) < 300


def test_the_microphone_hears_the_loudspeaker_softer_and_only_while_it_plays() -> None:
    voice = Voice(echo=0.25)
    voice.play(struct.pack("<1440h", *[8000] * 1440), 24000)
    voice.say(struct.pack("<960h", *[1000] * 960))
    assert voice.next_frame() == struct.pack("<960h", *[3000] * 960)
    assert voice.next_frame() == bytes(1920)
    voice.play(struct.pack("<960h", *[-32768] * 960), 16000)
    voice.say(struct.pack("<960h", *[-32768] * 960))
    assert voice.next_frame() == struct.pack("<960h", *[-32768] * 960)


def test_saying_nothing_is_saying_nothing() -> None:
    voice = Voice()
    voice.say(b"")
    assert voice.spoken.is_set()
    voice.cut_off()
    assert voice.next_frame() == bytes(1920)


async def test_the_send_queue_keeps_the_newest_forty_packets() -> None:
    number, enough = count(1), asyncio.Event()
    microphone = Microphone(
        Voice(), Pace(uplink=200), captured=lambda: enough.set() if next(number) > 60 else None
    )
    recording = asyncio.create_task(microphone.run())
    microphone.switch_on()
    await enough.wait()
    assert len(microphone.packets) == 40
    microphone.switch_off()
    microphone.switch_off()
    recording.cancel()
    await asyncio.wait([recording])


async def test_a_slow_main_task_sends_late_but_everything(server: Server) -> None:
    async with server.device(pace=Pace(main_loop_delay=0.3)) as sim:
        await sim.boot()
        await sim.click()
        session = await server.session()
        await sim.wait_state(State.LISTENING)
        await session.until(lambda: len(session.packets) >= 12)
