"""The downlink, and what happens to it and to the device when the power goes."""

import asyncio

import pytest

from simulator import Pace, SimulatedDevice, State, get_profile
from tests.simulator.fake_server import Server, opus_packets
from tests.simulator.talk import AT_ONCE, listening, settle, speaking


async def test_audio_outside_of_speaking_is_dropped(server: Server) -> None:
    async with server.device() as sim:
        session = await listening(server, sim)
        await session.send(opus_packets(1)[0])
        await sim.wait_for(lambda: sim.speaker.ignored == 1)
        assert sim.played == b""


async def test_what_comes_too_fast_is_dropped_behind_forty_packets(server: Server) -> None:
    async with server.device(pace=Pace(main_loop_delay=0, downlink=10)) as sim:
        session = await speaking(server, sim)
        for packet in opus_packets(100):
            await session.send(packet)
        await sim.wait_for(lambda: sim.speaker.dropped > 0)
        await sim.wait_played()
        assert 50 <= sim.speaker.dropped <= 58
        assert len(sim.speaker.played) == 100 - sim.speaker.dropped


async def test_sound_is_played_in_real_time_at_the_rate_of_the_codec(server: Server) -> None:
    hello = server.hello
    assert hello is not None
    hello["audio_params"] = {"sample_rate": 16000, "frame_duration": 20}
    async with server.device(profile=get_profile("dog"), pace=AT_ONCE) as sim:
        session = await speaking(server, sim)
        start = asyncio.get_running_loop().time()
        for packet in opus_packets(25, rate=16000, duration=20):
            await session.send(packet)
        await sim.wait_for(lambda: len(sim.speaker.played) == 25)
        assert asyncio.get_running_loop().time() - start == pytest.approx(0.48)
        assert sim.speaker.rate == 16000
        assert sim.played_seconds == pytest.approx(0.5, abs=0.01)
        assert max(sim.played) > 0


@pytest.mark.parametrize(
    ("declared", "sent", "failed", "short"),
    [
        ({"sample_rate": 24000, "frame_duration": 20}, 60, 5, 0),
        ({"sample_rate": 24000, "frame_duration": 30}, 20, 5, 0),
        ({"sample_rate": 22050, "frame_duration": 60}, 60, 5, 0),
        ({"sample_rate": 24000, "frame_duration": 60}, 20, 0, 5),
        ({"sample_rate": 16000, "frame_duration": 60}, 60, 0, 0),
    ],
)
async def test_a_wrong_declaration_of_the_format_is_silence(
    server: Server, declared: dict[str, int], sent: int, failed: int, short: int
) -> None:
    hello = server.hello
    assert hello is not None
    hello["audio_params"] = declared
    async with server.device() as sim:
        session = await speaking(server, sim)
        for packet in opus_packets(5, duration=sent):
            await session.send(packet)
        await session.send({"type": "llm", "emotion": "done"})
        await sim.wait_for(lambda: sim.screen.emotion == "done")
        await sim.wait_played()
        assert (sim.speaker.failed, sim.speaker.short) == (failed, short)
        assert sim.played_seconds == pytest.approx(0 if failed else 0.3, abs=0.01)


async def test_packets_that_are_no_opus_fail_and_are_counted(server: Server) -> None:
    async with server.device() as sim:
        session = await speaking(server, sim)
        for packet in (b"", b"\xff", b"\xfb\xff\xff\xff", b"\x03", b"\x7b\x05" + bytes(30)):
            await session.send(packet)
        await sim.wait_for(lambda: sim.speaker.failed == 5)


async def test_arrivals_tell_how_many_packets_were_late() -> None:
    speaker = SimulatedDevice().speaker
    assert speaker.late_percent() == 0
    speaker.answers += [[0.0, 0.06, 0.16, 0.22], [9.0, 9.06]]
    assert len(speaker.intervals()) == 4
    assert speaker.late_percent() == 25
    assert speaker.late_percent(first_answer=1) == 0
    assert speaker.late_percent(threshold=1) == 0


# Power


async def test_switching_off_ends_the_connection_without_a_word(server: Server) -> None:
    async with server.device() as sim:
        session = await listening(server, sim)
        await sim.power_off()
        await session.until(lambda: session.closed)
        assert session.connection.close_code == 1006
        await sim.wait_state(State.UNKNOWN)
        with pytest.raises(RuntimeError, match="off"):
            await sim.click()
        await sim.boot()
        with pytest.raises(RuntimeError, match="on"):
            await sim.boot()
        await sim.wait_state(State.IDLE)


async def test_what_was_not_played_or_said_when_the_power_went_is_lost(server: Server) -> None:
    async with server.device(pace=AT_ONCE) as sim:
        await speaking(server, sim, packets=20)
        played = len(sim.speaker.played)
        await sim.power_off()
        await sim.boot()
        await settle()
        assert sim.speaker.empty
        assert len(sim.speaker.played) <= played + 1


@pytest.mark.parametrize("version", ["1.6.1", "new", "2.4"])
def test_a_profile_needs_a_version_that_is_simulated(version: str) -> None:
    with pytest.raises(ValueError, match=r"version|older"):
        get_profile(version=version)


def test_a_profile_needs_a_board_that_is_simulated() -> None:
    with pytest.raises(ValueError, match="no board"):
        get_profile("toaster")


def test_a_suffix_of_a_version_does_not_count() -> None:
    assert get_profile(version="2.5.0-beta").number == (2, 5, 0)
