"""The downlink's sense of time."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.audio.pacing import DownlinkPacer

FRAME = 0.06
LEAD = 0.36
ABOUT = 1e-6


def send(pacer: DownlinkPacer, now: float, packets: int) -> list[float]:
    """Send packets exactly when they may go; return when that was."""
    times = []
    for _ in range(packets):
        now = max(now, pacer.next_send_time())
        pacer.add_sound(now)
        times.append(now)
    return times


def test_a_lead_goes_at_once_and_a_slow_source_shifts_the_schedule() -> None:
    pacer = DownlinkPacer()
    pacer.start(100)
    assert send(pacer, 100, 6) == pytest.approx([100] * 6)
    assert pacer.playback_end == pytest.approx(100.36)
    # The device has run dry when the next sentence is there.
    assert send(pacer, 103, 8) == pytest.approx([103] * 6 + [103.06, 103.12])
    assert pacer.playback_end == pytest.approx(103.48)


def test_an_answer_after_another_is_queued_behind_it() -> None:
    pacer = DownlinkPacer()
    pacer.start(100)
    send(pacer, 100, 6)
    pacer.start(100.1)
    assert pacer.next_send_time() == pytest.approx(100.1)
    send(pacer, 100.1, 1)
    assert pacer.playback_end == pytest.approx(100.42)


@given(st.lists(st.one_of(st.just(0.0), st.floats(0, 0.02), st.floats(0, 3)), min_size=1, max_size=200))
def test_the_device_never_holds_more_than_the_lead(delays: list[float]) -> None:
    """A device that plays in real time, and packets that come when they may or later."""
    pacer = DownlinkPacer()
    pacer.start(50)
    now = 50.0
    plays_until = 0.0
    for delay in delays:
        now = max(now, pacer.next_send_time()) + delay
        pacer.add_sound(now)
        plays_until = max(plays_until, now) + FRAME
        assert plays_until - now <= LEAD + ABOUT
        assert pacer.playback_end == plays_until


@given(st.lists(st.floats(0, 0.29), max_size=200))
def test_delays_shorter_than_the_lead_never_let_the_device_run_dry(delays: list[float]) -> None:
    pacer = DownlinkPacer()
    pacer.start(50)
    now = send(pacer, 50, 6)[-1]
    for delay in delays:
        now = max(now, pacer.next_send_time() + delay)
        pacer.add_sound(now)
    assert pacer.playback_end == pytest.approx(50 + (6 + len(delays)) * FRAME)
