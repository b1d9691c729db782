"""Bounds are above what an honest device causes, for days."""

import pytest

from custom_components.xiaozhi.device.bounds import CONVERSATION_EVENTS, NOTIFICATIONS, TURNS, Bound
from custom_components.xiaozhi.util.limits import TokenBucket

DAYS = 3 * 24 * 3600


@pytest.mark.parametrize(
    ("bound", "at_once", "pause"),
    [
        # A door sensor, a device that tells each of its states, and people who talk all day.
        (NOTIFICATIONS, 1, 30),
        (NOTIFICATIONS, 5, 60),
        (TURNS, 1, 20),
        (CONVERSATION_EVENTS, 5, 20),
    ],
)
def test_of_what_happens_for_days_nothing_is_too_much(bound: Bound, at_once: int, pause: int) -> None:
    buckets = [TokenBucket(rate=rate, burst=burst) for rate, burst in bound.limits]
    assert all(bucket.take(now) for now in range(0, DAYS, pause) for bucket in buckets * at_once)
