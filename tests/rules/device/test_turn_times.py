"""What a turn's times tell: how long the user waited, and for what."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.device.turn_times import TurnStep, TurnTimes


def _times(**seconds: float) -> TurnTimes:
    times = TurnTimes()
    for step, when in seconds.items():
        times.passed(TurnStep[step.upper()], when)
    return times


def test_each_part_ends_with_its_step() -> None:
    times = _times(
        speech_ended=10,
        detected=10.6,
        transcript=10.9,
        first_word=11.7,
        first_sound=11.8,
        first_packet=11.82,
        all_sent=14,
    )
    assert times.response == pytest.approx(1.82)
    assert times.as_dict() == {
        "response_time": 1.82,
        "end_of_speech": 600,
        "recognition": 300,
        "assistant": 800,
        "speech": 100,
        "device": 20,
        "speaking": 2180,
    }


@given(st.dictionaries(st.sampled_from(TurnStep), st.floats(0, 1e6)))
def test_parts_are_never_negative(passed: dict[TurnStep, float]) -> None:
    """Whatever engine tells its steps in which order."""
    times = TurnTimes()
    for step, now in passed.items():
        times.passed(step, now)
    assert all(part >= 0 for part in times.parts().values())
    assert len(times.parts()) == max(0, len(passed) - 1)
    assert times.response is None or times.response >= 0
