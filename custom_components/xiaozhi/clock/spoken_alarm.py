"""Alarms as people talk about them: which one is meant, and how it is described."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ..spoken.descriptions import say_alarm, say_moment
from ..spoken.language import Language, load_language
from ..spoken.understanding import Meaning
from .alarm import Alarm, moment_of, wall_time


async def async_language(hass: HomeAssistant, language: str) -> Language:
    """Return the words of a language."""
    return await hass.async_add_executor_job(load_language, language)


def wall_now() -> datetime:
    """Return the local time, without a time zone."""
    return wall_time(dt_util.utcnow())


def described(language: Language, moment: datetime, alarm: Alarm) -> str:
    """Return an alarm in words: when it rings or how it is repeated, and its name."""
    name = alarm.name or alarm.text
    return say_alarm(language, alarm.start, alarm.rule, name, wall_time(moment), wall_now())


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
    words = meaning.name or meaning.text
    return (
        words.casefold() in f"{alarm.name} {alarm.text}".casefold()
        and (not meaning.repeat or bool(alarm.rule))
        and (meaning.minutes is None or minutes in {time % (24 * 60) for time in meaning.candidates()})
    )


def _time_on(meaning: Meaning, alarm: Alarm) -> datetime | None:
    """Return the first time of an alarm on the day that is meant."""
    now = wall_now()
    for day in meaning.days(now.date()):
        if alarm.snoozed and alarm.time.date() == day:
            return alarm.time
        midnight = datetime.combine(day, datetime.min.time())
        start, end = moment_of(max(midnight, now)), moment_of(midnight + timedelta(days=1))
        if (time := next((time for time, _ in alarm.listed(start, end)), None)) is not None:
            return time
    return None
