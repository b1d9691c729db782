"""Descriptions of alarms as a person would give them: tomorrow at 6:30 AM, every weekday at 7 AM."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from .language import Language
from .understanding import DAYS

_MORNING: Final = 5
_KINDS: Final = {(0, 1, 2, 3, 4): "workdays", (5, 6): "weekends", tuple(range(7)): "daily"}


def say_time(language: Language, time: datetime) -> str:
    """Return a time of day."""
    said = language.said
    hour = time.hour if said["clock"] == 24 else time.hour % 12 or 12
    part = next((word for since, word in reversed(said["parts"]) if since <= time.hour), "")
    template: str = said["time" if time.minute else "full_hour"]
    said_time = template.format(hour=hour, minute=time.minute, part=part)
    # Two o'clock is rarely meant so.
    night: str = said.get("night", "{time}")
    return night.format(time=said_time) if time.hour < _MORNING else said_time


def say_moment(language: Language, moment: datetime, now: datetime) -> str:
    """Return a local day and time."""
    said, days = language.said, (moment.date() - now.date()).days
    kind = {0: "today", 1: "tomorrow"}.get(days, "weekday" if 0 < days < 7 else "date")
    template: str = said[kind]
    return template.format(
        time=say_time(language, moment),
        weekday=said["weekdays"][moment.weekday()],
        month=said["months"][moment.month - 1],
        day=_day(said, moment),
    )


def say_repetition(language: Language, start: datetime, rule: str, moment: datetime, now: datetime) -> str:
    """Return a description of a repetition, or of its next time if that is shorter."""
    said = language.said
    kind, days = _repetition(start, dict(part.split("=", 1) for part in rule.split(";")))
    words = said.get("each_weekday", said["weekdays"])
    named = [words[day] for day in days]
    template: str = said[kind]
    return template.format(
        time=say_time(language, start),
        weekdays=said["and"].join([*([said["comma"].join(named[:-1])] if named[:-1] else []), *named[-1:]]),
        month=said["months"][start.month - 1],
        day=_day(said, start),
        when=say_moment(language, moment, now),
    )


def say_since(language: Language, when: str, start: datetime) -> str:
    """Return the description of a repetition that begins later than with its next day."""
    said = language.said
    template: str = said["since"]
    return template.format(when=when, month=said["months"][start.month - 1], day=_day(said, start))


def say_named(language: Language, when: str, name: str) -> str:
    """Return the description of an alarm with its name."""
    template: str = language.said["named"]
    return template.format(when=when, name=name) if name else when


def _day(said: Mapping[str, Any], moment: datetime) -> str:
    first: str = said.get("first", "1")
    return first if moment.day == 1 else str(moment.day)


def say_list(language: Language, alarms: list[str]) -> str:
    """Return alarms as one text."""
    joined: str = language.said["list"].join(alarms)
    return joined


def _repetition(start: datetime, parts: Mapping[str, str]) -> tuple[str, list[int]]:
    """Return the key of a rule's text, and its days of the week."""
    frequency = parts["FREQ"]
    days = [DAYS.index(day) for day in parts.get("BYDAY", "").split(",") if day in DAYS]
    if parts.get("INTERVAL", "1") != "1" or not parts.keys() <= {"FREQ", "INTERVAL", "WKST", "BYDAY"}:
        return "repeated", []
    if frequency != "WEEKLY":
        return "repeated" if "BYDAY" in parts else frequency.lower(), []
    found = sorted(days) or [start.weekday()]
    return _KINDS.get(tuple(found), "weekly"), found
