"""What a turn's times tell: how long the user waited, and for what."""

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.device.turn_times import TurnStep, TurnTimes


def test_each_part_ends_with_its_step() -> None:
    times = TurnTimes()
    for step, seconds in zip(TurnStep, (10, 10.6, 10.9, 11.7, 11.8, 11.82, 14), strict=True):
        times.passed(step, seconds)
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
