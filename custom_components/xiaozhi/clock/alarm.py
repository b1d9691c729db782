"""An alarm or a reminder: when it rings, with repetitions as in calendars (RFC 5545).

Times are those on the wall, so that seven o'clock stays seven o'clock in another time zone and after a change
to daylight saving. In the hour that is skipped it rings as much later; in the one that is repeated, once.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
import logging
from typing import Any, Final, Self

from dateutil.rrule import rrulestr
from homeassistant.util import dt as dt_util
import voluptuous as vol

from ..errors import InputError
from ..settings import MOMENT, read_settings, stored

_LOGGER = logging.getLogger(__name__)

MAX_NAME: Final = 100
TIME_FORMAT: Final = "%Y%m%dT%H%M%S"

_RULE_LENGTH: Final = 200
# What calendars offer, by frequency. dateutil looks for a day that does not come, such as 30 February, up to
# the year 9999: half a second with these parts, and many with others.
_RULE_PARTS: Final = {
    "DAILY": frozenset(),
    "WEEKLY": frozenset(("BYDAY",)),
    "MONTHLY": frozenset(("BYDAY", "BYMONTHDAY", "BYSETPOS")),
    "YEARLY": frozenset(("BYDAY", "BYMONTHDAY", "BYMONTH")),
}
_PARTS_OF_ALL: Final = frozenset(("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"))
# Also of times: those of a rule with a number are counted from its start on.
_MAX_NUMBER: Final = 1000
_DAYS: Final = {"DAILY": 1, "WEEKLY": 7}
# From one 29 February to the next, at the turn of most centuries.
_LONGEST_GAP: Final = timedelta(days=9 * 366)
# By how much two times on the wall can change their order.
_SHIFT: Final = timedelta(hours=3)
_MAX_SKIPPED: Final = 366
# The longest that an alarm is asked for: what a calendar shows at once, and more.
_MAX_LISTED: Final = 400
# More than the alarms of all devices.
_KEPT: Final = 4096

_TIME: Final = vol.All(str, datetime.fromisoformat, lambda time: time.replace(tzinfo=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm, or with a text a reminder."""

    start: datetime = stored(_TIME)
    """On the wall, without a time zone."""
    name: str = stored(str, "")
    text: str = stored(str, "")
    """What is said when it is due."""
    rule: str = stored(str, "")
    """How it is repeated; empty if it is not."""
    skipped: tuple[datetime, ...] = stored(vol.All([_TIME], vol.Coerce(tuple)), ())
    """Times on the wall that were deleted from the repetition."""
    done: datetime = stored(MOMENT)
    """The last moment for which it has rung or was reported, or when it was set."""
    snoozed: datetime | None = stored(vol.Maybe(MOMENT))
    """When it rings again."""

    @classmethod
    def from_dict(cls, data: Any) -> Self | None:
        """Read the stored form, and compute when it rings next; None if that is unknown. For threads."""
        try:
            found = read_settings(cls, "an alarm", data)
            alarm = cls(start=found.pop("start"), done=found.pop("done", dt_util.utcnow()), **found)
            alarm.rings_next()
        except (KeyError, ValueError, TypeError, OverflowError) as err:
            _LOGGER.warning("A stored alarm cannot be read, and is lost: %s", type(err).__name__)
            return None
        return alarm

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form as JSON values."""
        return {
            "start": self.start.isoformat(),
            "name": self.name,
            "text": self.text,
            "rule": self.rule,
            "skipped": [each.isoformat() for each in self.skipped],
            "done": self.done.isoformat(),
            "snoozed": self.snoozed.isoformat() if self.snoozed else None,
        }

    def times(self, since: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the times after a moment: on the wall, and the moment of each."""
        first = wall_time(since) - _SHIFT
        for time in _repeated(self.start, self.rule, first) if self.rule else (self.start,):
            if time >= first and time not in self.skipped and (moment := moment_of(time)) > since:
                yield time, moment

    def next(self, since: datetime) -> datetime | None:
        """Return the first moment after another one."""
        return _next(self, since, dt_util.get_default_time_zone())

    def rings_next(self) -> datetime | None:
        """Return when it rings next: by its repetition, or because it was snoozed."""
        moments = (self.snoozed, self.next(self.done))
        return min((moment for moment in moments if moment is not None), default=None)

    def last(self, since: datetime, until: datetime) -> datetime | None:
        """Return the last moment after one and up to another."""
        if (last := self.next(since)) is None or last > until:
            return None
        for _, moment in self.times(since):
            if moment > until:
                break
            last = moment
        return last

    def listed(self, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the times between two moments, in bounded number."""
        for number, (time, moment) in enumerate(self.times(start)):
            if moment >= end or number == _MAX_LISTED:
                return
            yield time, moment

    def without(self, time: datetime) -> Self:
        """Return the alarm without one of its times."""
        return replace(self, skipped=(*self.skipped, time)[-_MAX_SKIPPED:])

    def until(self, time: datetime) -> Self:
        """Return the alarm that ends before one of its times."""
        parts = (part for part in self.rule.split(";") if not part.startswith(("COUNT=", "UNTIL=")))
        end = (time - timedelta(seconds=1)).strftime(TIME_FORMAT)
        return replace(self, rule=";".join((*parts, f"UNTIL={end}")))


def wall_time(moment: datetime) -> datetime:
    """Return what clocks here show at a moment."""
    return dt_util.as_local(moment).replace(tzinfo=None)


def moment_of(time: datetime) -> datetime:
    """Return the moment at which clocks here show a time."""
    return time.replace(tzinfo=dt_util.get_default_time_zone()).astimezone(UTC)


def checked_rule(start: datetime, rule: str) -> str:
    """Return a rule as it is stored. Raises `InputError` if it is damaged, too frequent or never true."""
    error = InputError("alarm_rule", rule=rule[:_RULE_LENGTH])
    # A second line would be more than a rule.
    if len(rule) > _RULE_LENGTH or len(rule.split()) != 1:
        raise error
    try:
        parts = _parts(rule.upper())
        # A calendar ends it at a moment.
        if (until := parts.get("UNTIL", "")).endswith("Z"):
            end = datetime.strptime(until, f"{TIME_FORMAT}Z").replace(tzinfo=UTC)
            parts["UNTIL"] = wall_time(end).strftime(TIME_FORMAT)
        checked = ";".join(f"{name}={value}" for name, value in parts.items())
        found = next(_repeated(start, checked, start), None)
        if found is None or found - start > _LONGEST_GAP:
            raise error
    except (KeyError, TypeError, ValueError, OverflowError) as err:
        raise error from err
    return checked


def _parts(rule: str) -> dict[str, str]:
    """Return the parts of a rule. Raises `KeyError` or `ValueError` if a search for its times may not end."""
    parts = dict(part.split("=") for part in rule.split(";"))
    # Assistants may write it like this.
    if parts["FREQ"] == "DAILY" and "BYDAY" in parts and "INTERVAL" not in parts:
        parts["FREQ"] = "WEEKLY"
    if not parts.keys() <= _PARTS_OF_ALL | _RULE_PARTS[parts["FREQ"]]:
        raise ValueError("parts that calendars do not offer")
    if any(not 1 <= int(parts.get(name, 1)) <= _MAX_NUMBER for name in ("INTERVAL", "COUNT")):
        raise ValueError("a number out of range")
    return parts


def _repeated(start: datetime, rule: str, since: datetime) -> Iterator[datetime]:
    """Yield the times of a rule that are not before another one. Raises `ValueError` if it is damaged."""
    parts = _parts(rule)
    days = _DAYS.get(parts["FREQ"], 0) * int(parts.get("INTERVAL", 1))
    if days and "COUNT" not in parts:
        # dateutil goes through all times from the start on. In the period before, a week may be cut.
        periods = (since - start).days // days - 1
        start += max(0, periods) * timedelta(days=days)
    times: Iterator[datetime] = rrulestr(rule, dtstart=start).xafter(since, inc=True)
    return times


@lru_cache(maxsize=_KEPT)
def _next(alarm: Alarm, since: datetime, _time_zone: tzinfo) -> datetime | None:
    """Return the first moment of an alarm after another one; it is another in another time zone."""
    return next((moment for _, moment in alarm.times(since)), None)
