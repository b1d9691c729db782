"""Timers in the stored state of a device: a damaged one is left out, and harms nothing."""

from datetime import UTC, datetime
from typing import Any

import pytest

from custom_components.xiaozhi.voice.timers import SetTimer

STORED = {"name": "Eggs", "seconds": 300, "ends_at": "2026-11-20T08:00:00+00:00"}


async def test_a_timer_is_stored_and_read() -> None:
    timer = SetTimer.from_dict(STORED)
    assert timer == SetTimer(name="Eggs", seconds=300, ends_at=datetime(2026, 11, 20, 8, tzinfo=UTC))
    assert timer.as_dict() == STORED
    paused = SetTimer.from_dict(STORED | {"ends_at": None})
    assert paused == SetTimer(name="Eggs", seconds=300, ends_at=None)


@pytest.mark.parametrize(
    "damage",
    [
        {"ends_at": "2026-13-20T08:00:00+00:00"},
        {"ends_at": "tomorrow"},
        {"ends_at": 7},
        {"seconds": "300"},
        {"name": None},
    ],
)
def test_a_damaged_timer_is_left_out(damage: dict[str, Any]) -> None:
    assert SetTimer.from_dict(STORED | damage) is None
