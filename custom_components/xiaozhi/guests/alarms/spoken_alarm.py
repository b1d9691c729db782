"""Alarms as people talk about them: which one is meant, and how it is described."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..spoken.descriptions import say_moment, say_named, say_repetition, say_since
from ..spoken.language import Language, folded, load_language
from ..spoken.understanding import DAYS, Meaning
from .alarm import Alarm, moment_of, wall_time
from .repetition import next_time

_WEEKS: Final = timedelta(weeks=52)
_MOMENT: Final = timedelta(microseconds=1)


async def async_language(hass: HomeAssistant, language: str) -> Language:
    """Return the words of a language."""
    return await hass.async_add_executor_job(load_language, language)


def wall_now() -> datetime:
    """Return the local time, without a time zone."""
    return wall_time(dt_util.utcnow())


def described(language: Language, moment: datetime, alarm: Alarm) -> str:
    """Return an alarm in words: when it rings or how it is repeated, and its name."""
    start, rule, time, now = alarm.start, alarm.rule, wall_time(moment), wall_now()
    # It may be snoozed.
    if rule and time.time() == start.time():
        when = say_repetition(language, start, rule, time, now)
        if time == start and _would_begin_before(start, rule, now):
            when = say_since(language, when, start)
    else:
        when = say_moment(language, time, now)
    return say_named(language, when, alarm.name or alarm.text)


def _would_begin_before(start: datetime, rule: str, now: datetime) -> bool:
    """Whether a repetition begins later than with its next day."""
    in_weeks = "FREQ=DAILY" in rule or "FREQ=WEEKLY" in rule
    first = next_time(start - _WEEKS if in_weeks else start.replace(year=start.year - 4), rule, now)
    return first is not None and first < start


def described_moment(language: Language, moment: datetime) -> str:
    """Return a moment in words."""
    return say_moment(language, wall_time(moment), wall_now())


def find_alarms(
    meaning: Meaning, upcoming: Iterable[tuple[datetime, str, Alarm]]
) -> Mapping[str, tuple[Alarm, datetime]]:
    """Return the alarms that are meant by id, each with the local time that is meant."""
    found: dict[str, tuple[Alarm, datetime]] = {}
    for _, uid, alarm in upcoming:
        time = _time_on(meaning, alarm) if meaning.has_day and not meaning.repeat else alarm.time
        if time is not None and _is_meant(meaning, alarm):
            found[uid] = alarm, time
    return found


def _is_meant(meaning: Meaning, alarm: Alarm) -> bool:
    minutes = alarm.start.hour * 60 + alarm.start.minute
    return (
        meaning.kind in ("both", "reminder" if alarm.text else "alarm")
        and folded(meaning.name) in folded(f"{alarm.name} {alarm.text}")
        and (not meaning.repeat or _repeats(meaning, alarm))
        and (meaning.minutes is None or minutes in {time % (24 * 60) for time in meaning.candidates()})
    )


def _repeats(meaning: Meaning, alarm: Alarm) -> bool:
    """Whether an alarm is repeated as it was said: that of the weekends is not that of the weekdays."""
    parts = dict(part.split("=", 1) for part in alarm.rule.split(";") if part)
    days = {
        DAYS.index(day) for day in parts.get("BYDAY", DAYS[alarm.start.weekday()]).split(",") if day in DAYS
    }
    every = (
        set(range(7)) if parts.get("FREQ") == "DAILY" else days if parts.get("FREQ") == "WEEKLY" else set()
    )
    if meaning.repeat in ("daily", "weekly") and parts.get("INTERVAL", "1") == "1":
        # Of "weekly" alone, any days are meant.
        wanted = set(range(7)) if meaning.repeat == "daily" else meaning.weekdays or every
        return bool(every) and every == wanted
    return parts.get("FREQ", "").lower() == meaning.repeat


def _time_on(meaning: Meaning, alarm: Alarm) -> datetime | None:
    """Return the first time of an alarm on the day that is meant."""
    now = wall_now()
    for day in meaning.days(now.date()):
        if alarm.snoozed and alarm.time.date() == day:
            return alarm.time
        midnight = datetime.combine(day, datetime.min.time())
        # The midnight at which a day begins is listed, and that at which it ends if it was said.
        ends_at_midnight = 24 * 60 in meaning.candidates()
        start = moment_of(max(midnight, now)) - _MOMENT
        end = moment_of(midnight + timedelta(days=1)) + _MOMENT * ends_at_midnight
        if (time := next((time for time, _ in alarm.listed(start, end)), None)) is not None:
            return time
    return None
