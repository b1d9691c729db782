"""The repetition of an alarm: a rule as calendars write it (RFC 5545), without parts such as BYSECOND.

Not with `dateutil`, which comes from the start of a rule to now step by step, and searches up to the year
9999 for a rule that is never true: that takes 20 seconds.
"""

from calendar import isleap, monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
import itertools
import re
from typing import Final, Self

TIME_FORMAT: Final = "%Y%m%dT%H%M%S"
_PARTS: Final = frozenset(
    ("FREQ", "INTERVAL", "COUNT", "UNTIL", "BYDAY", "BYMONTHDAY", "BYMONTH", "BYSETPOS", "WKST")
)
_MAX_INTERVAL: Final = 1000
# Their times are counted from the start on.
_MAX_COUNT: Final = 1000
_DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_DAY: Final = re.compile(rf"([+-]?[0-9]{{0,2}})({'|'.join(_DAYS)})")
# Periods in a row without a time, by frequency: 41 years. The 29 February is a Monday every 28 or 40.
_MAX_EMPTY: Final = {"DAILY": 41 * 366, "WEEKLY": 41 * 53, "MONTHLY": 41 * 12, "YEARLY": 41}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """A rule from its start on, whose periods are days, weeks, months or years."""

    start: datetime
    frequency: str
    interval: int
    count: int | None
    until: datetime | None
    months: frozenset[int]
    month_days: frozenset[int]
    """Negative ones are counted from the end of the month."""
    days: frozenset[tuple[int, int]]
    """Numbers within the month or year, 0 for all, and days of the week."""
    positions: frozenset[int]
    """Which of the times in a period are meant, negative ones from the end; all if empty."""
    week_start: int

    @classmethod
    def parse(cls, rule: str, start: datetime) -> Self:
        """Read a rule. Raises `ValueError` if it is damaged or too frequent."""
        parts = dict(part.split("=") for part in rule.split(";"))
        interval, count = int(parts.get("INTERVAL", 1)), int(parts.get("COUNT", 1))
        if (
            not parts.keys() <= _PARTS
            or parts.get("FREQ") not in _MAX_EMPTY
            or not (1 <= interval <= _MAX_INTERVAL and 1 <= count <= _MAX_COUNT)
        ):
            raise ValueError("not a rule for alarms")
        frequency = parts["FREQ"]
        if not {"BYDAY", "BYMONTHDAY"} & parts.keys():
            match frequency:
                case "WEEKLY":
                    parts["BYDAY"] = _DAYS[start.weekday()]
                case "MONTHLY":
                    parts["BYMONTHDAY"] = str(start.day)
                case "YEARLY":
                    parts = {"BYMONTHDAY": str(start.day), "BYMONTH": str(start.month)} | parts
        return cls(
            start=start,
            frequency=frequency,
            interval=interval,
            count=count if "COUNT" in parts else None,
            until=datetime.fromisoformat(parts["UNTIL"]).replace(tzinfo=None) if "UNTIL" in parts else None,
            months=_numbers(parts, "BYMONTH", 12),
            month_days=_numbers(parts, "BYMONTHDAY", 31),
            days=frozenset(map(_day, parts["BYDAY"].split(","))) if "BYDAY" in parts else frozenset(),
            positions=_numbers(parts, "BYSETPOS", 366),
            week_start=_DAYS.index(parts.get("WKST", "MO")),
        )

    def times(self, since: datetime) -> Iterator[datetime]:
        """Yield the times that are not before `since`."""
        left, empty = self.count, 0
        first = max(0, self._period_of(since)) if left is None else 0
        for period in itertools.count(first - first % self.interval, self.interval):
            try:
                dates = self._dates(period)
            # After the year 9999.
            except ValueError, OverflowError:
                return
            empty = 0 if dates else empty + 1
            for found in (datetime.combine(each, self.start.time()) for each in dates):
                if left == 0 or (self.until is not None and found > self.until):
                    return
                if found >= self.start:
                    left = left and left - 1
                    if found >= since:
                        yield found
            if empty > _MAX_EMPTY[self.frequency]:
                return

    def _week(self, day: date) -> int:
        """Return the first day of a week, as its ordinal."""
        return day.toordinal() - (day.weekday() - self.week_start) % 7

    def _period_of(self, day: date) -> int:
        """Return the number of the period that a day is in, from that of the start on."""
        start = self.start
        match self.frequency:
            case "DAILY":
                return day.toordinal() - start.toordinal()
            case "WEEKLY":
                return (self._week(day) - self._week(start)) // 7
            case "MONTHLY":
                return 12 * (day.year - start.year) + day.month - start.month
        return day.year - start.year

    def _dates(self, period: int) -> list[date]:
        """Return the dates in a period. Raises `ValueError` and `OverflowError` after the year 9999."""
        start = self.start
        match self.frequency:
            case "DAILY":
                days = [date.fromordinal(start.toordinal() + period)]
            case "WEEKLY":
                first = self._week(start) + 7 * period
                days = [date.fromordinal(first + number) for number in range(7)]
            case "MONTHLY":
                year, month = divmod(12 * start.year + start.month - 1 + period, 12)
                days = _days_of(year, month + 1)
            case _:
                months = sorted(self.months) or range(1, 13)
                days = [day for month in months for day in _days_of(start.year + period, month)]
        dates = [*filter(self._means, days)]
        if not self.positions:
            return dates
        total = len(dates)
        wanted = {each - 1 if each > 0 else total + each for each in self.positions}
        return [dates[index] for index in sorted(wanted) if 0 <= index < total]

    def _means(self, day: date) -> bool:
        """Whether the rule is true on a day."""
        if self.months and day.month not in self.months:
            return False
        length = monthrange(day.year, day.month)[1]
        if self.month_days and not self.month_days & {day.day, day.day - length - 1}:
            return False
        if not self.days:
            return True
        number = day.day
        if self.frequency == "YEARLY" and not self.months:
            number, length = day.timetuple().tm_yday, 365 + isleap(day.year)
        numbers = {0, (number - 1) // 7 + 1, (number - length - 1) // 7}
        numbered = self.frequency in {"MONTHLY", "YEARLY"}
        return any(
            day.weekday() == weekday and (not numbered or each in numbers) for each, weekday in self.days
        )


def _days_of(year: int, month: int) -> list[date]:
    return [date(year, month, number + 1) for number in range(monthrange(year, month)[1])]


def _numbers(parts: dict[str, str], name: str, largest: int) -> frozenset[int]:
    """Return the numbers of a part. Raises `ValueError`."""
    numbers = frozenset(map(int, parts[name].split(","))) if name in parts else frozenset()
    if any(not 1 <= abs(number) <= largest for number in numbers):
        raise ValueError(f"{name} has other numbers")
    return numbers


def _day(text: str) -> tuple[int, int]:
    """Return a day of the week with its number. Raises `ValueError`."""
    if (match := _DAY.fullmatch(text)) is None:
        raise ValueError("no day of the week")
    return int(match[1] or 0), _DAYS.index(match[2])
