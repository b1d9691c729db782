"""Alarms as people and assistants put them: at seven, tomorrow, on weekdays."""

from collections.abc import Iterable
from datetime import datetime, time, timedelta
from typing import Any, Final

from homeassistant.util import dt as dt_util

from ..const import MAX_MESSAGE
from ..errors import InputError
from ..protocol.untrusted_text import one_line
from .alarm import MAX_NAME, Alarm, wall_time
from .alarm_clock import AlarmClock

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


async def async_set_at(clock: AlarmClock, when: str, name: str, text: str, repeat: str) -> datetime:
    """Set an alarm for a date and time; return when it rings first. Raises `InputError`."""
    try:
        start = dt_util.parse_datetime(when, raise_on_error=True)
    except ValueError as err:
        raise InputError("alarm_time", time=one_line(when, MAX_NAME)) from err
    wall = start if start.tzinfo is None else wall_time(start)
    uid = await clock.async_set(
        wall.replace(microsecond=0), one_line(name, MAX_NAME), one_line(text, MAX_MESSAGE), _rule(repeat)
    )
    alarm = clock.alarm(uid)
    return wall_time(alarm.next(alarm.done) or alarm.done)


def spoken_start(hours: int, minutes: int, period: str, day: str) -> datetime:
    """Return the next time of day, such as seven tomorrow, on the wall."""
    if period:
        hours = hours % 12 + (12 if period == "pm" else 0)
    now = wall_time(dt_util.utcnow())
    start = datetime.combine(now.date(), time(hours, minutes))
    if day == "tomorrow":
        return start + timedelta(days=1)
    if day == "today":
        return start
    ahead = (_DAYS.index(day) - now.weekday()) % 7 if day else 0
    start += timedelta(days=ahead)
    return start if start > now else start + timedelta(days=7 if day else 1)


def described(alarms: Iterable[tuple[str, Alarm]]) -> list[dict[str, Any]]:
    """Return alarms for an assistant, the next one first."""
    found = [
        {
            "id": uid,
            "next": wall_time(alarm.snoozed or alarm.next(alarm.done) or alarm.done).isoformat(),
            "name": alarm.name,
            "text": alarm.text,
            "repeat": alarm.rule,
            "snoozed": alarm.snoozed is not None,
        }
        for uid, alarm in alarms
    ]
    return sorted(found, key=lambda each: str(each["next"]))


def spoken(alarm: dict[str, Any]) -> str:
    """Return a described alarm in a few words."""
    when = datetime.fromisoformat(alarm["next"])
    title = alarm["name"] or alarm["text"]
    return f"{spoken_time(when)} {title}".strip()


def spoken_time(when: datetime) -> str:
    """Return a time, with its date unless that is within a day."""
    soon = when - wall_time(dt_util.utcnow()) < timedelta(days=1)
    return f"{when:%H:%M}" if soon else f"{when:%Y-%m-%d %H:%M}"


def _rule(repeat: str) -> str:
    if (rule := _REPETITIONS.get(repeat.strip().lower())) is not None:
        return rule
    days = [day.strip()[:2].upper() for day in repeat.split(",") if day.strip().isalpha()]
    if days and set(days) <= set(_DAYS):
        return f"FREQ=WEEKLY;BYDAY={','.join(days)}"
    return repeat
