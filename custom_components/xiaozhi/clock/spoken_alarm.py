"""Alarms as people put them: at seven, tomorrow, on weekdays."""

from datetime import date, datetime, time, timedelta
from typing import Final

from homeassistant.util import dt as dt_util

from ..errors import InputError
from ..protocol.untrusted_text import one_line
from .alarm import MAX_NAME, Alarm, wall_time

_DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_REPETITIONS: Final = {
    "": "",
    "none": "",
    "daily": "FREQ=DAILY",
    "weekdays": "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
    "weekends": "FREQ=WEEKLY;BYDAY=SA,SU",
    "weekly": "FREQ=WEEKLY",
    "monthly": "FREQ=MONTHLY",
    "yearly": "FREQ=YEARLY",
}


def time_of_day(hours: int, minutes: int = 0, period: str = "") -> time:
    """Return a time of day: by the 24 hour clock, or of a period, am or pm."""
    return time(hours % 12 + (12 if period == "pm" else 0) if period else hours, minutes)


def spoken_start(at: time, day: str) -> datetime:
    """Return the next time of day, or that of a day, on the wall. Raises `InputError`."""
    now = wall_time(dt_util.utcnow())
    start = datetime.combine(spoken_date(day) if day else now.date(), at)
    if start <= now and (not day or _weekday(day)):
        start += timedelta(days=7 if day else 1)
    return start


def spoken_date(day: str) -> date:
    """Return the next date of a day: today, tomorrow, one of the week or a date. Raises `InputError`."""
    today = wall_time(dt_util.utcnow()).date()
    if weekday := _weekday(day):
        return today + timedelta(days=(_DAYS.index(weekday) - today.weekday()) % 7)
    if (name := day.strip().lower()) in {"today", "tomorrow"}:
        return today + timedelta(days=name == "tomorrow")
    try:
        return date.fromisoformat(day)
    except ValueError as err:
        raise InputError("alarm_day", day=one_line(day, MAX_NAME)) from err


def _weekday(day: str) -> str | None:
    """Return a day of the week, such as monday or MO, as rules write it."""
    short = day.strip()[:2].upper()
    return short if short in _DAYS else None


def spoken_rule(repeat: str) -> str:
    """Return the rule of a repetition."""
    if (rule := _REPETITIONS.get(repeat.strip().lower())) is not None:
        return rule
    days = [day for day in map(_weekday, repeat.split(",")) if day]
    if days and "=" not in repeat:
        return f"FREQ=WEEKLY;BYDAY={','.join(days)}"
    return repeat


def spoken_time(moment: datetime) -> str:
    """Return when something is, with its date unless that is within a day."""
    soon = moment - dt_util.utcnow() < timedelta(days=1)
    return f"{wall_time(moment):{'%H:%M' if soon else '%Y-%m-%d %H:%M'}}"


def spoken(moment: datetime, alarm: Alarm) -> str:
    """Return an alarm and when it rings in a few words."""
    return f"{spoken_time(moment)} {alarm.name or alarm.text}".strip()
