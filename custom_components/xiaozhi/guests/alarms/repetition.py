"""Repetitions that people use, as calendars write them (RFC 5545), and when they come next.

They are daily, weekly on days, and monthly or yearly on a date or a weekday by its position. The search ends
by itself, also for a day that never comes, such as 30 February: dateutil looks for that up to the year 9999.
"""

from calendar import monthrange
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
import re
from typing import Final

from homeassistant.util import dt as dt_util

TIME_FORMAT: Final = "%Y%m%dT%H%M%S"
MAX_RULE: Final = 200

_WEEKDAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WEEKDAY: Final = "|".join(_WEEKDAYS)
_NUMBER: Final = "[1-9][0-9]{0,2}"
_MONTH_DAY: Final = "[12][0-9]|3[01]|[1-9]"


def _several(pattern: str) -> str:
    return f"{pattern}(?:,{pattern})*"


_PARTS: Final = {
    "FREQ": "DAILY|WEEKLY|MONTHLY|YEARLY",
    "INTERVAL": _NUMBER,
    "COUNT": _NUMBER,
    "UNTIL": "[0-9]{8}(?:T[0-9]{6}Z?)?",
    "WKST": _WEEKDAY,
    "BYDAY": _several(rf"(?:[+-]?[1-5])?(?:{_WEEKDAY})"),
    "BYMONTHDAY": _several(rf"-?(?:{_MONTH_DAY})"),
    "BYMONTH": _several("(?:1[0-2]|[1-9])"),
    "BYSETPOS": _several(rf"[+-]?(?:{_MONTH_DAY})"),
}
_PARTS_OF_ALL: Final = frozenset(("FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST"))
_PARTS_OF: Final = {
    "DAILY": frozenset[str](),
    "WEEKLY": frozenset(("BYDAY",)),
    "MONTHLY": frozenset(("BYDAY", "BYMONTHDAY", "BYSETPOS")),
    "YEARLY": frozenset(("BYDAY", "BYMONTHDAY", "BYMONTH")),
}
# Months, or years, that are searched for a day: from one 29 February to the next are eight years at most.
_PERIODS: Final = 12
# A repetition that is counted to an end farther away has none.
_COUNTED_YEARS: Final = 50
_LAST_YEAR: Final = 9990


def next_time(start: datetime, rule: str, since: datetime) -> datetime | None:
    """Return the first time of a checked rule that is not before another; None if there is none."""
    parts = dict(part.split("=") for part in rule.split(";"))
    first = start.date()
    since_day = max(first, since.date() + timedelta(days=since.time() > start.time()))
    if since_day.year > _LAST_YEAR:
        return None
    interval = int(parts.get("INTERVAL", 1))
    match parts["FREQ"]:
        case "DAILY":
            days = iter([since_day + timedelta(days=(first - since_day).days % interval)])
        case "WEEKLY":
            days = _days_of_weeks(parts, first, since_day, interval)
        case _:
            days = _days_of_months(parts, first, since_day, interval)
    day = next((day for day in days if day >= since_day), None)
    if day is None:
        return None
    until = parts.get("UNTIL", "9999")
    time = datetime.combine(day, start.time())
    # A day includes its end.
    return time if time.strftime(TIME_FORMAT)[: len(until)] <= until else None


def _days_of_weeks(parts: dict[str, str], first: date, since: date, interval: int) -> Iterator[date]:
    wanted = parts.get("BYDAY", _WEEKDAYS[first.weekday()]).split(",")
    begin = first - timedelta(days=(first.weekday() - _WEEKDAYS.index(parts.get("WKST", "MO"))) % 7)
    begin += timedelta(weeks=(since - begin).days // 7 // interval * interval)
    # In the first of two periods, all of its days may be over.
    for week in (0, interval):
        days = (begin + timedelta(weeks=week, days=number) for number in range(7))
        yield from (day for day in days if _WEEKDAYS[day.weekday()] in wanted)


def _days_of_months(parts: dict[str, str], first: date, since: date, interval: int) -> Iterator[date]:
    months, begin = [0], first.year * 12 + first.month - 1
    if parts["FREQ"] == "YEARLY":
        interval *= 12
        if "BYMONTH" in parts:
            months, begin = sorted(number - 1 for number in _numbers(parts, "BYMONTH")), first.year * 12
        elif "BYDAY" in parts or "BYMONTHDAY" in parts:
            months, begin = [*range(12)], first.year * 12
    begin += (since.year * 12 + since.month - 1 - begin) // interval * interval
    for period in range(_PERIODS):
        for month in months:
            year, month_number = divmod(begin + period * interval + month, 12)
            if year <= _LAST_YEAR:
                yield from _days_of_month(parts, first.day, year, month_number + 1)


def _days_of_month(parts: dict[str, str], usual: int, year: int, month: int) -> list[date]:
    weekday, length = monthrange(year, month)
    days = set[int]()
    for each in parts["BYDAY"].split(",") if "BYDAY" in parts else ():
        same = range(1 + (_WEEKDAYS.index(each[-2:]) - weekday) % 7, length + 1, 7)
        days.update(_at(same, [int(each[:-2])]) if each[:-2] else same)
    if "BYMONTHDAY" in parts or "BYDAY" not in parts:
        wanted = _numbers(parts, "BYMONTHDAY") or [usual]
        in_month = {day if day > 0 else length + 1 + day for day in wanted}.intersection(range(1, length + 1))
        days = days & in_month if "BYDAY" in parts else in_month
    found = sorted(days)
    if "BYSETPOS" in parts:
        found = sorted(set(_at(found, _numbers(parts, "BYSETPOS"))))
    return [date(year, month, day) for day in found]


def _at(days: Sequence[int], positions: list[int]) -> list[int]:
    places = (position - (position > 0) for position in positions)
    return [days[place] for place in places if -len(days) <= place < len(days)]


def _numbers(parts: dict[str, str], name: str) -> list[int]:
    return [int(number) for number in parts[name].split(",")] if name in parts else []


def checked_parts(start: datetime, rule: str) -> str:
    """Return a rule as it is stored, with an end in place of a count. Raises `ValueError` for other rules."""
    parts = _parts(rule)
    count = int(parts.pop("COUNT", 0))
    uncounted, end = _rule(parts), start.year + _COUNTED_YEARS
    if (last := next_time(start, uncounted, start)) is None:
        raise ValueError("never true")
    for _ in range(count - 1):
        following = next_time(start, uncounted, last + timedelta(seconds=1))
        if following is None or last.year > end:
            break
        last = following
    return uncounted if not count or last.year > end else _rule(parts | {"UNTIL": last.strftime(TIME_FORMAT)})


def _parts(rule: str) -> dict[str, str]:
    """Return the parts of a rule that calendars offer. Raises `ValueError` for other rules."""
    if len(rule) > MAX_RULE:
        raise ValueError("too long")
    parts: dict[str, str] = {}
    # Some calendars write the year 9999 for no end.
    for part in re.sub(r"^RRULE:|\s|;$|;UNTIL=9999\w*", "", rule.upper()).split(";"):
        name, _, value = part.partition("=")
        if name in parts or not re.fullmatch(_PARTS[name], value):
            raise ValueError("a part that calendars do not offer")
        parts[name] = value
    # Assistants may write it like this.
    if parts["FREQ"] == "DAILY" and "BYDAY" in parts and "INTERVAL" not in parts:
        parts["FREQ"] = "WEEKLY"
    in_month = parts["FREQ"] == "MONTHLY" or "BYMONTH" in parts
    if not parts.keys() <= _PARTS_OF_ALL | _PARTS_OF[parts["FREQ"]] or (
        not in_month and re.search("[0-9]", parts.get("BYDAY", ""))
    ):
        raise ValueError("parts that do not go together")
    if "UNTIL" in parts:
        until = datetime.fromisoformat(parts["UNTIL"])
        if until.tzinfo is not None:
            # A calendar ends it at a moment.
            parts["UNTIL"] = dt_util.as_local(until).strftime(TIME_FORMAT)
    return parts


def _rule(parts: dict[str, str]) -> str:
    return ";".join(f"{name}={value}" for name, value in parts.items())
