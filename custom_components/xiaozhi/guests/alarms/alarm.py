"""An alarm or a reminder, and when it rings next.

Times are those on the wall, so that seven o'clock stays seven o'clock in another time zone and after a change
to daylight saving. In the hour that is skipped it rings as much later; in the one that is repeated, once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
import logging
from typing import Any, Final, Self

from homeassistant.util import dt as dt_util
import voluptuous as vol

from ...device.owned import Owned
from ...errors import InputError
from ...settings import MOMENT, read_settings, stored
from .repetition import MAX_RULE, TIME_FORMAT, checked_parts, next_time

_LOGGER = logging.getLogger(__name__)

MAX_NAME: Final = 100

# More than a change of the clocks moves local time.
_SHIFT: Final = timedelta(hours=3)
_MAX_SKIPPED: Final = 366
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9000
# A stored moment that is farther away is damaged: no snooze and no change of the time zone is as long.
_FAR: Final = timedelta(days=2)
_SECOND: Final = timedelta(seconds=1)


def _on_the_wall(text: str) -> datetime:
    """Read a local time. Only in the second of two equal hours it is written with its offset from UTC."""
    written = datetime.fromisoformat(text)
    time = written.replace(tzinfo=None)
    if not _FIRST_YEAR <= time.year <= _LAST_YEAR:
        raise ValueError("a year in which nothing can be computed")
    second = time.replace(fold=1)
    if written.tzinfo is not None and moment_of(second) == written != moment_of(time):
        return second
    return time


def _written(time: datetime) -> str:
    return dt_util.as_local(moment_of(time)).isoformat() if time.fold else time.isoformat()


_TIME: Final = vol.All(str, _on_the_wall)
_DAY: Final = vol.All(str, datetime.fromisoformat, datetime.date)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm, or with a text a reminder."""

    start: datetime = stored(_TIME)
    """On the wall, without a time zone."""
    name: str = stored(str, "")
    text: str = stored(str, "")
    """Text that is said when it is due."""
    rule: str = stored(str, "")
    """Rule of its repetition; empty for none."""
    skipped: tuple[date, ...] = stored(vol.All([_DAY], vol.Coerce(tuple)), ())
    """Days that were deleted from the repetition."""
    time: datetime = stored(_TIME)
    """Local time at which it rings next, or rang before it was snoozed."""
    found: datetime = stored(MOMENT)
    """The moment at which `time` was determined."""
    snoozed: datetime | None = stored(vol.Maybe(MOMENT))
    """The moment at which it rings again."""

    @classmethod
    def from_dict(cls, data: Any) -> Self | None:
        """Read the stored form, also of 0.5.0; None if it does not say when it rings."""
        try:
            if "done" in data:
                data = {**data, "found": data["done"]}
            read = read_settings(cls, "an alarm", data)
            start, found = read["start"], read.pop("found", dt_util.utcnow())
            if read.get("rule"):
                read["rule"] = checked_rule(start, read["rule"])
            alarm = cls(**{"time": start, **read}, found=found)
            if "time" not in read:
                # In 0.5.0, a snoozed one has rung when it was done.
                time = wall_time(found) if alarm.snoozed else alarm.first(found)
                alarm = replace(alarm, time=time or start)
            # With a damaged one it would never ring.
            first = alarm.first(found)
            if first is not None and alarm.time - first > _FAR:
                alarm = replace(alarm, time=first)
            if alarm.snoozed and abs(alarm.snoozed - found) > _FAR:
                alarm = replace(alarm, snoozed=None)
        except (KeyError, ValueError, TypeError, OverflowError, InputError) as err:
            _LOGGER.warning("A stored alarm cannot be read: %s", type(err).__name__)
            return None
        return alarm

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form as JSON values."""
        return {
            "start": _written(self.start),
            "name": self.name,
            "text": self.text,
            "rule": self.rule,
            "skipped": [day.isoformat() for day in self.skipped],
            "time": _written(self.time),
            "found": self.found.isoformat(),
            "snoozed": self.snoozed.isoformat() if self.snoozed else None,
        }

    @property
    def next(self) -> datetime:
        """The moment at which it rings next."""
        return self.snoozed or moment_of(self.time)

    def first(self, after: datetime) -> datetime | None:
        """Return the first of its times, on the wall, whose moment is later; None if there is none."""
        time = self._not_before(wall_time(after) - _SHIFT)
        while time is not None and moment_of(time) <= after:
            time = self._not_before(time + _SECOND)
        return time

    def _not_before(self, since: datetime) -> datetime | None:
        if not self.rule:
            return self.start if self.start >= since else None
        time = next_time(self.start, self.rule, since)
        while time is not None and time.date() in self.skipped:
            time = next_time(self.start, self.rule, time + _SECOND)
        return time

    def renewed(self, now: datetime) -> Self | None:
        """Return the alarm that rings next after a moment, without a snooze; None if it never does."""
        time = self.first(now)
        return None if time is None else replace(self, time=time, found=now, snoozed=None)

    def instead_of(self, old: Alarm, now: datetime) -> Self | None:
        """Return the alarm in place of another one, with the snooze of that if it was of one of its times."""
        if old.snoozed is None or self._not_before(old.time) != old.time:
            return self.renewed(now)
        return replace(self, time=old.time, found=old.found, snoozed=old.snoozed)

    def moved(self, by: timedelta) -> Self:
        """Return the snoozed alarm after the clock was set."""
        return replace(self, found=self.found + by, snoozed=self.next + by)

    def listed(self, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the times between two moments, on the wall, with the moment of each. There may be many."""
        while (time := self.first(start)) is not None and (start := moment_of(time)) < end:
            yield time, start

    def without(self, time: datetime) -> Self | None:
        """Return the alarm without one of its times, if any is left. Raises `InputError` for another time."""
        self._check_time(time)
        left = replace(self, skipped=(*self.skipped, time.date())[-_MAX_SKIPPED:]) if self.rule else None
        # Also if it is snoozed.
        return left.renewed(dt_util.utcnow()) if left and self.time == time else left

    def until(self, time: datetime) -> Self | None:
        """Return the alarm without one of its times and all later ones. Returns and raises as `without`."""
        self._check_time(time)
        if time <= self.start:
            return None
        parts = (part for part in self.rule.split(";") if not part.startswith("UNTIL="))
        left = replace(self, rule=";".join((*parts, f"UNTIL={time - _SECOND:{TIME_FORMAT}}")))
        return left if self.time < time else left.renewed(dt_util.utcnow())

    def _check_time(self, time: datetime) -> None:
        if self._not_before(time) != time:
            raise InputError("unknown_alarm")


ALARMS: Final = Owned(key="alarms", read=Alarm.from_dict, write=Alarm.as_dict)
"""Alarms and reminders of a device."""


def wall_time(moment: datetime) -> datetime:
    """Return the local time at a moment, without a time zone."""
    return dt_util.as_local(moment).replace(tzinfo=None)


def moment_of(time: datetime) -> datetime:
    """Return the moment of a local time."""
    return time.replace(tzinfo=dt_util.get_default_time_zone()).astimezone(UTC)


def checked_rule(start: datetime, rule: str) -> str:
    """Return a rule as it is stored. Raises `InputError` if it is damaged, too frequent or never true."""
    try:
        return checked_parts(start, rule)
    except (KeyError, ValueError, OverflowError) as err:
        raise InputError("alarm_rule", rule=rule[:MAX_RULE]) from err
