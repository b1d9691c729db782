"""An alarm or a reminder: when it rings, with repetitions as in calendars (RFC 5545).

Times are those on the wall, so that seven o'clock stays seven o'clock in another time zone and after a change
to daylight saving. In the hour that is skipped it rings as much later; in the one that is repeated, once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Self

from dateutil.rrule import rrule, rrulestr
from homeassistant.util import dt as dt_util
import voluptuous as vol

from ..errors import InputError

MAX_NAME: Final = 100
RECURRENCE_ID: Final = "%Y%m%dT%H%M%S"

# What a calendar offers. Parts such as BYSECOND, and 10 kB of them, would only keep this computer busy.
_RULE_LENGTH: Final = 200
_RULE_PARTS: Final = frozenset(
    ("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "WKST")
)
_FREQUENCIES: Final = frozenset(("DAILY", "WEEKLY", "MONTHLY", "YEARLY"))
_MAX_INTERVAL: Final = 1000
# From one 29 February to the next, at the turn of most centuries.
_LONGEST_GAP: Final = timedelta(days=9 * 366)
# By how much two times on the wall can change their order.
_SHIFT: Final = timedelta(hours=3)
_MAX_SKIPPED: Final = 366
# The longest that an alarm is asked for: what a calendar shows at once, and more.
_MAX_LISTED: Final = 400

_MOMENT: Final = vol.All(str, datetime.fromisoformat)
_STORED: Final = vol.Schema(
    {
        vol.Required("start"): _MOMENT,
        vol.Required("name"): str,
        vol.Required("text"): str,
        vol.Required("rule"): str,
        vol.Required("skipped"): vol.All([_MOMENT], vol.Coerce(tuple)),
        vol.Required("done"): _MOMENT,
        vol.Required("snoozed"): vol.Maybe(_MOMENT),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """An alarm, or with a text a reminder."""

    start: datetime
    """On the wall, without a time zone."""
    name: str = ""
    text: str = ""
    """What is said when it is due."""
    rule: str = ""
    """How it is repeated; empty if it is not."""
    skipped: tuple[datetime, ...] = ()
    """Times on the wall that were deleted from the repetition."""
    done: datetime
    """The last moment for which it has rung or was reported, or when it was set."""
    snoozed: datetime | None = None
    """When it rings again."""

    @classmethod
    def from_dict(cls, data: object) -> Self | None:
        """Read the stored form; None if it is damaged."""
        try:
            alarm = cls(**_STORED(data))
            _kept_rule(alarm.start, alarm.rule)
        except vol.Invalid, ValueError:
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

    def times(
        self, since: datetime, rule_of: Callable[[datetime, str], rrule | None] | None = None
    ) -> Iterator[tuple[datetime, datetime]]:
        """Yield the times after a moment: on the wall, and the moment of each."""
        first = wall_time(since) - _SHIFT
        rule = (rule_of or _kept_rule)(self.start, self.rule)
        for time in (self.start,) if rule is None else rule.xafter(first, inc=True):
            if time not in self.skipped and (moment := moment_of(time)) > since:
                yield time, moment

    def next(self, since: datetime) -> datetime | None:
        """Return the first moment after another one."""
        return next((moment for _, moment in self.times(since)), None)

    def rings_next(self) -> datetime | None:
        """Return when it rings next: by its repetition, or because it was snoozed."""
        moments = (self.snoozed, self.next(self.done))
        return min((moment for moment in moments if moment is not None), default=None)

    def last(self, since: datetime, until: datetime) -> datetime | None:
        """Return the last moment after one and up to another."""
        last = None
        for _, moment in self.times(since):
            if moment > until:
                break
            last = moment
        return last

    def listed(self, start: datetime, end: datetime) -> Iterator[tuple[datetime, datetime]]:
        """Yield the times between two moments, in bounded number. Also for threads."""
        for number, (time, moment) in enumerate(self.times(start, _rule)):
            if moment >= end or number == _MAX_LISTED:
                return
            yield time, moment

    def without(self, time: datetime) -> Self:
        """Return the alarm without one of its times."""
        return replace(self, skipped=(*self.skipped, time)[-_MAX_SKIPPED:])

    def until(self, time: datetime) -> Self:
        """Return the alarm that ends before one of its times."""
        parts = (part for part in self.rule.split(";") if not part.startswith(("COUNT=", "UNTIL=")))
        end = (time - timedelta(seconds=1)).strftime(RECURRENCE_ID)
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
    if len(rule) > _RULE_LENGTH:
        raise error
    try:
        parts = dict(part.split("=") for part in rule.upper().split(";"))
        if not parts.keys() <= _RULE_PARTS or parts["FREQ"] not in _FREQUENCIES:
            raise error
        if not 1 <= int(parts.get("INTERVAL", 1)) <= _MAX_INTERVAL or int(parts.get("COUNT", 1)) < 1:
            raise error
        if (until := parts.get("UNTIL", "")).endswith("Z"):
            end = datetime.strptime(until, f"{RECURRENCE_ID}Z").replace(tzinfo=UTC)
            parts["UNTIL"] = wall_time(end).strftime(RECURRENCE_ID)
        checked = ";".join(f"{name}={value}" for name, value in parts.items())
        found = rrulestr(checked, dtstart=start)
        # Without an end, a search for 30 February takes seconds.
        soon = found.replace(count=None, until=start + _LONGEST_GAP)
        if next(iter(soon), None) is None or next(iter(found), None) is None:
            raise error
    except (KeyError, TypeError, ValueError, OverflowError) as err:
        raise error from err
    return checked


def _rule(start: datetime, rule: str) -> rrule | None:
    """Return a rule, or None without one. Raises `ValueError` if it is damaged."""
    if not rule:
        return None
    found: rrule = rrulestr(rule, dtstart=start, cache=True)
    return found


# For the event loop only: a cached rule of dateutil keeps its lock after its last time, so an iteration in
# another thread would never end.
_kept_rule: Final = lru_cache(maxsize=1000)(_rule)
