"""The voice timers that were set on a device. Home Assistant itself forgets them when it is restarted."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self

from homeassistant.core import HomeAssistant, callback
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN

__all__ = ["DeviceTimers", "SetTimer"]

_KNOWN: Final[HassKey[set[str]]] = HassKey(f"{DOMAIN}_timers")
"""Ids of the running timers that were set since Home Assistant started; all others are gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTimer:
    """A timer that was set on a device."""

    name: str
    """What the user calls it; empty if it has no name."""
    seconds: int
    """How long it was set for."""
    ends_at: datetime | None
    """None while it is paused."""

    @classmethod
    def from_dict(cls, data: Any) -> Self | None:
        """Read the stored form; None if it is damaged."""
        match data:
            case {"name": str(name), "seconds": int(seconds), "ends_at": str() | None as ends_at}:
                ends = _moment(ends_at) if ends_at else None
                if ends is not None or not ends_at:
                    return cls(name=name, seconds=seconds, ends_at=ends)
        return None

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form as JSON values."""
        ends_at = self.ends_at.isoformat() if self.ends_at else None
        return {"name": self.name, "seconds": self.seconds, "ends_at": ends_at}


def _moment(text: str) -> datetime | None:
    """Read a stored moment; None if it is damaged, or has no time zone and so cannot be compared."""
    try:
        moment = dt_util.parse_datetime(text)
    except ValueError:
        return None
    return moment if moment is not None and moment.tzinfo is not None else None


class DeviceTimers:
    """The timers of one device that have not ended, by the ids that Home Assistant gave them."""

    def __init__(self, hass: HomeAssistant, timers: dict[str, SetTimer], changed: Callable[[], None]) -> None:
        """Keep the stored `timers` up to date; `changed` is called when they have changed."""
        self._timers = timers
        self._changed = changed
        self._known = hass.data.setdefault(_KNOWN, set())

    def __bool__(self) -> bool:
        """Return whether there are timers."""
        return bool(self._timers)

    @property
    def next_end(self) -> datetime | None:
        """When the next timer ends; None if none runs."""
        return min((timer.ends_at for timer in self._timers.values() if timer.ends_at), default=None)

    @callback
    def put(self, timer_id: str, timer: SetTimer) -> None:
        """Add a timer, or store its changed state."""
        self._known.add(timer_id)
        self._timers[timer_id] = timer
        self._changed()

    @callback
    def remove(self, timer_id: str) -> None:
        """Remove a timer that has ended or was cancelled."""
        self._known.discard(timer_id)
        if self._timers.pop(timer_id, None) is not None:
            self._changed()

    @callback
    def take_lost(self) -> list[SetTimer]:
        """Remove and return the timers that a restart of Home Assistant ended, or that could not ring."""
        now = dt_util.utcnow()
        lost = {
            timer_id: timer
            for timer_id, timer in self._timers.items()
            if timer_id not in self._known or (timer.ends_at is not None and timer.ends_at <= now)
        }
        for timer_id in lost:
            del self._timers[timer_id]
        if lost:
            self._changed()
        return list(lost.values())
