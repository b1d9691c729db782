"""The audio of a turn: what the device did not send is silence, what we are late to read is not."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, nullcontext
from functools import partial

import pytest

from custom_components.xiaozhi.protocol.conversation.state_table import TurnStart
from custom_components.xiaozhi.protocol.conversation.turn_audio import TurnAudio
from custom_components.xiaozhi.protocol.messages import ListenMode
from custom_components.xiaozhi.util.event_loop import loop_time
from tests.virtual_time import VirtualTimeLoop

FRAME = 0.06
# A callback in which a packet is read, and one in which it is understood.
STEPS = 2


def frame(number: int) -> bytes:
    """Return a frame of which each sample tells its number, which is not 0."""
    return (number + 1).to_bytes(2, "little") * 960


def numbers(pcm: bytes) -> list[int]:
    """Return what a stream is made of: numbers of frames, and -1 for each silent one."""
    frames = [pcm[start : start + 1920] for start in range(0, len(pcm), 1920)]
    return [int.from_bytes(frame[:2], "little") - 1 for frame in frames]


def send(turn: TurnAudio, schedule: Iterable[tuple[float, int, int]]) -> None:
    """Let packets arrive: seconds from now, number of the frame, frames known to be missing before it."""
    loop = asyncio.get_running_loop()

    def later(call: Callable[[], None], steps: int = STEPS) -> None:
        if steps:
            loop.call_soon(later, call, steps - 1)
        else:
            call()

    for seconds, number, missing in schedule:
        loop.call_later(seconds, later, partial(turn.put, frame(number), missing))


async def hear(turn: TurnAudio, seconds: float, *, end: bool = True) -> list[int]:
    """Listen, as a detector that needs no time does, and let the turn end after so many seconds."""
    if end:
        asyncio.get_running_loop().call_later(seconds, turn.end_speech)
    return numbers(b"".join([pcm async for pcm in turn.audio()]))


def make(longest: float = 30, mode: ListenMode = ListenMode.AUTO) -> TurnAudio:
    return TurnAudio(TurnStart(mode=mode), 60, longest=longest)


def steady(count: int) -> list[tuple[float, int, int]]:
    return [((number + 1) * FRAME, number, 0) for number in range(count)]


@asynccontextmanager
async def busy_loop(late: float) -> AsyncGenerator[None]:
    """Keep the event loop busy with other work, which takes so many seconds at a time."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)

    async def work() -> None:
        while True:
            loop.pass_time(late)
            await asyncio.sleep(0)

    working = asyncio.create_task(work())
    try:
        yield
    finally:
        working.cancel()


@pytest.mark.parametrize("late", [0.1, 0.25, 0.5, 1.5])
async def test_an_event_loop_that_is_always_late_cuts_nobody_off(late: float) -> None:
    """As with 50 people who talk at the same time: the sentence ends later, and there is no pause in it."""
    turn = make()
    send(turn, steady(100))
    async with busy_loop(late):
        heard = await hear(turn, 10)
    assert heard[:100] == [*range(100)]
    assert {*heard[100:]} <= {-1}


@pytest.mark.parametrize("milliseconds", [5, 20, 40, 80, 120])
async def test_packets_of_another_length_than_announced_make_the_same_sound(milliseconds: int) -> None:
    """Time passes as in what is heard: half a second without a packet is silence, and nothing else is."""
    turn, loop = make(), asyncio.get_running_loop()
    sound, size = b"".join(map(frame, range(80))), 32 * milliseconds
    for start in range(0, len(sound), size):
        later = 0.5 if start >= len(sound) // 2 else 0
        loop.call_later((start + size) / 32000 + later, turn.put, sound[start : start + size], 0)
    heard = await hear(turn, 81 * FRAME + 0.5)
    assert [number for number in heard if number >= 0] == [*range(80)]
    assert heard.count(-1) * FRAME == pytest.approx(0.2, abs=2 * FRAME)


async def test_one_long_stall_of_ours_is_no_pause() -> None:
    """As when Home Assistant is blocked by an integration."""
    turn = make()
    send(turn, steady(100))
    asyncio.get_running_loop().call_later(2, asyncio.get_running_loop().pass_time, 3)
    heard = await hear(turn, 10)
    assert heard[:100] == [*range(100)]
    assert {*heard[100:]} == {-1}


async def test_a_device_that_sends_nothing_any_more_is_silent_after_a_moment() -> None:
    turn = make()
    send(turn, steady(20))
    heard = await hear(turn, 20 * FRAME + 3)
    assert heard[:20] == [*range(20)]
    assert len(heard) * FRAME == pytest.approx(20 * FRAME + 3 - 0.3, abs=2 * FRAME)


@pytest.mark.parametrize("busy", [False, True], ids=["on time", "late"])
async def test_lost_datagrams_are_made_up_for_at_once(busy: bool) -> None:
    """Four are missing; the first three sound like what was heard last, but lower."""
    turn = make()
    packets = [packet for packet in steady(60) if not 20 <= packet[1] < 24]
    send(turn, [(at, number, 4 if number == 24 else 0) for at, number, _ in packets])
    async with busy_loop(0.4) if busy else nullcontext():
        heard = await hear(turn, 14)
    assert heard[:24] == [*range(20), 9, 4, 1, -1]
    assert heard[24:60] == [*range(24, 60)]
    # They do not count as what the device hears.
    assert [level > 0 for level in turn.loudness.turn[57:75]] == [True] * 3 + [False] * 12 + [True] * 3


async def test_a_stall_of_the_network_costs_no_word_and_its_silence_is_paid_back() -> None:
    """One second nothing comes, then all of it: the device had kept it."""
    turn = make()
    send(turn, [(max(at, 2.2 + number / 1e4), number, 0) for at, number, _ in steady(80) if number >= 20])
    send(turn, steady(20))
    heard = await hear(turn, 81.5 * FRAME)
    assert [number for number in heard if number >= 0] == [*range(80)]
    assert heard.count(-1) * FRAME == pytest.approx(1.0 - 0.3, abs=2 * FRAME)


async def test_a_turn_ends_after_so_much_audio_and_not_after_so_much_time() -> None:
    """A recording that we are late to read is not thrown away."""
    turn = make(longest=6)
    send(turn, steady(100))
    # Nobody listens for half a minute.
    await asyncio.sleep(30)
    assert await hear(turn, 0, end=False) == [*range(100)]


async def test_a_device_that_streams_without_end_is_not_listened_to_without_end() -> None:
    turn = make(longest=6)
    send(turn, steady(110))
    began = loop_time()
    assert await hear(turn, 0, end=False) == [*range(100)]
    assert loop_time() - began == pytest.approx(6, abs=0.2)
    await asyncio.sleep(1)
