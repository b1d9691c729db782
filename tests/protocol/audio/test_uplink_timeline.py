"""The uplink's sense of time, and what stands in for lost packets."""

from dataclasses import dataclass, field

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.uplink_timeline import (
    UPLINK_SAMPLE_RATE,
    UplinkTimeline,
    concealment,
    silence,
)
from tests.protocol.audio.sounds import level, tone

FRAME = 0.06
GRACE = 0.3
HORIZON = 2.4
ABOUT = FRAME / 1000 + 1e-6


@dataclass
class Stream:
    """A timeline and what came out of it; asked about silence once per frame, as a timer does."""

    now: float = 1000.0
    timeline: UplinkTimeline = field(default_factory=lambda: UplinkTimeline(60, 1000.0))
    packets: int = 0
    silent: int = 0

    @property
    def produced(self) -> int:
        return self.packets + self.silent

    def packet(self, missing: int = 0) -> int:
        fill = self.timeline.frames_before(self.now, missing)
        self.silent += fill
        self.packets += 1
        return fill

    def talk(self, seconds: float) -> int:
        """Let packets arrive as they should, each a frame after the one before."""
        before = self.silent
        for _ in range(round(seconds / FRAME)):
            self.now += FRAME
            self.packet()
            self.silent += self.timeline.due(self.now)
        return self.silent - before

    def stall(self, seconds: float) -> int:
        before = self.silent
        for _ in range(round(seconds / FRAME)):
            self.now += FRAME
            self.silent += self.timeline.due(self.now)
        return self.silent - before


@pytest.fixture
def stream() -> Stream:
    return Stream()


def test_time_passes_without_a_packet(stream: Stream) -> None:
    assert stream.stall(3) == 45


def test_what_comes_before_the_first_packet_is_no_gap(stream: Stream) -> None:
    assert stream.stall(0.24) == 0
    assert stream.packet(missing=3) == 0
    assert stream.stall(GRACE) == 0
    assert stream.stall(0.6) == 10


def test_more_packets_at_once_than_a_device_holds_back_make_no_more_debt(stream: Stream) -> None:
    stream.talk(1.2)
    assert stream.stall(6) == 95
    for _ in range(100):
        assert stream.packet() == 0
    assert stream.stall(HORIZON + GRACE) == 0
    assert stream.stall(0.6) == 10


@pytest.mark.parametrize("late", [0.06, 0.2, 1.0])
def test_a_device_that_falls_silent_is_noticed_however_late_we_are(stream: Stream, late: float) -> None:
    """Later than else, but it must end some time."""
    stream.talk(1.2)
    for _ in range(30):
        stream.now += FRAME + late
        stream.silent += stream.timeline.due(stream.now)
    assert 30 - 5 <= stream.silent <= 30 * (FRAME + 0.02) / FRAME


def test_more_lost_packets_than_the_clock_has_room_for_are_not_believed(stream: Stream) -> None:
    assert stream.packet(missing=1_000_000) == 0
    stream.talk(1.2)
    stream.now += 2 * FRAME
    assert stream.packet(missing=1_000_000) == 1
    assert stream.packet(missing=-5) == 0


def test_a_device_whose_clock_is_fast_delays_no_silence_later(stream: Stream) -> None:
    for _ in range(20_000):
        stream.now += FRAME * 0.995
        stream.packet()
    assert stream.silent == 0
    assert stream.stall(GRACE) == 0
    assert stream.stall(0.6) == 10


def test_a_device_with_a_slow_clock_keeps_its_packets_near_the_clock(stream: Stream) -> None:
    start = stream.now
    for _ in range(20_000):
        stream.now += FRAME * 1.005
        stream.packet()
    assert stream.now - start - stream.produced * FRAME <= GRACE + FRAME


@st.composite
def journeys(draw: st.DrawFn) -> list[tuple[float, bool]]:
    """Packets in order: seconds between being recorded and arriving, and whether they are lost."""
    delay = 0.0
    journey = []
    for _ in range(draw(st.integers(1, 120))):
        delay = max(0.0, delay - FRAME)
        if draw(st.integers(0, 9)) == 0:
            delay += draw(st.floats(0, 2))
        journey.append((min(delay, HORIZON), draw(st.integers(0, 6)) == 0))
    return journey


@given(journeys(), st.booleans())
def test_time_is_kept_on_every_journey(journey: list[tuple[float, bool]], knows_losses: bool) -> None:
    """Packets are never dropped, and the frames are neither far behind the clock nor far ahead of it."""
    stream = Stream()
    recorded = stream.now
    first_arrival: float | None = None
    tick = stream.now
    missing = 0
    lost = 0
    arrivals: list[tuple[float, bool]] = [
        (recorded + FRAME * (i + 1) + delay, is_lost) for i, (delay, is_lost) in enumerate(journey)
    ]
    for arrival, is_lost in arrivals:
        if is_lost:
            missing += 1
            lost += 1
            continue
        while tick + FRAME < arrival:
            tick += FRAME
            stream.now = tick
            stream.silent += stream.timeline.due(tick)
            if first_arrival is not None:
                assert tick - first_arrival - stream.produced * FRAME <= GRACE + ABOUT
        stream.now = arrival
        stream.packet(missing if knows_losses else 0)
        missing = 0
        first_arrival = arrival if first_arrival is None else first_arrival
        ahead = stream.produced * FRAME - (arrival - recorded)
        assert ahead <= min(stream.silent * FRAME, HORIZON) + ABOUT
    assert stream.packets == len(journey) - lost


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(-5, 2**31), st.booleans()), max_size=60))
def test_whatever_is_claimed_the_silence_is_bounded(steps: list[tuple[float, int, bool]]) -> None:
    timeline, now = UplinkTimeline(60, 0.0), 0.0
    for seconds, missing, arrives in steps:
        now += seconds
        fill = timeline.frames_before(now, missing) if arrives else timeline.due(now)
        assert 0 <= fill <= HORIZON / FRAME + 1


@pytest.mark.parametrize("milliseconds", [20, 60, 120])
def test_concealment_has_the_announced_length_whatever_was_heard(
    milliseconds: int,
) -> None:
    """A packet may be longer or shorter than the device has announced."""
    made_up = concealment(tone(milliseconds / 1000, UPLINK_SAMPLE_RATE), 1, 60)
    assert len(made_up) == len(silence(60))
    assert level(made_up[-320:]) > 1000
