"""A wall clock that goes with the event loop's, and can be set."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util
import pytest

from tests.integration.announcements.test_room_player import chosen, player

__all__ = ["chosen", "player", "wall_clock"]


@pytest.fixture
def wall_clock(hass: HomeAssistant, monkeypatch: pytest.MonkeyPatch) -> Callable[[timedelta], None]:
    """Let the wall clock go with the event loop's, and return what sets it forward or back."""
    begins, shift = datetime.now(UTC) - timedelta(seconds=hass.loop.time()), timedelta()

    def now() -> datetime:
        return begins + shift + timedelta(seconds=hass.loop.time())

    def set_by(by: timedelta) -> None:
        nonlocal shift
        shift += by

    monkeypatch.setattr(dt_util, "utcnow", now)
    return set_by
