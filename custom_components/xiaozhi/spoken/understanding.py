"""The meaning of sentences about alarms: time, repetition and the text of a reminder."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from itertools import starmap
import re
from typing import Any, Final

from ..errors import InputError
from ..protocol.text import one_line
from .language import Element, Language

DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
"""The days of the week, as rules write them."""
_DAY: Final = 24 * 60
# Only in rules; English sentences have the words "we" and "mo".
_ENGLISH: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_SHORT_DAYS: Final = re.compile(rf"\b({'|'.join(DAYS)})\b", re.IGNORECASE)
_HALVES: Final = {"am": (0, 12 * 60), "pm": (12 * 60, 24 * 60)}
_SHOWN: Final = 100
# Spellings of language models.
_NOTHING: Final = re.compile(
    r"\W*(?:(?:none|no|null|false|never|once|one[- ]time|(?:仅|只)?[一单]次|不重[复複]|einmalig|nie)\W*)?",
    re.IGNORECASE,
)
_SIGNS: Final = re.compile(r"[\[\](){}\"/|+]|(?<!\w)'|'(?!\w)")
_WRITTEN_DATE: Final = re.compile(r"\s*(\d{4})[-/.年](\d\d?)[-/.月](\d\d?)(?:日|[T ]\d\d:.*)?\s*")
_AROUND: Final = 3 * 60
_EVENING: Final = 17 * 60
_WEEKDAYS: Final = {"weekdays": {0, 1, 2, 3, 4}, "weekends": {5, 6}}
_TERM: Final = re.compile(r"([+-])(\d+|minute|mm)")
_LONGEST: Final = 300


# Of two times on a named day a reminder takes the first at which people are up. In minutes.
_UP: Final = 7 * 60


@dataclass(slots=True, kw_only=True)
class Meaning:
    """Meaning of a sentence about an alarm."""

    minutes: int | None = None
    """Time of day in minutes, 0 to 1440."""
    is_exact: bool = False
    """Whether there is only one such time in a day, because it was said in 24 hours."""
    parts: list[tuple[int, int]] = field(default_factory=list)
    """Parts of the day, in minutes from its beginning. Those of a night end on the next day."""
    day: int | None = None
    """Days from today."""
    on: tuple[int, int] | None = None
    """Month and day."""
    weekdays: set[int] = field(default_factory=set)
    repeat: str = ""
    """daily, weekly, monthly, yearly, a rule as in calendars, or empty."""
    delays: list[int] = field(default_factory=list)
    """Seconds from now, which add up."""
    named: int | None = None
    """A time that has a name, such as noon, in minutes."""
    is_each: bool = False
    """Whether each of the days or parts of the day is meant."""
    name: str = ""
    text: str = ""
    """All other words, such as the text of a reminder."""

    def add(self, name: str, value: Any) -> bool:
        """Add to a field; return False if it has another value."""
        match getattr(self, name):
            case list() | set() as several:
                setattr(self, name, type(several)((*several, *value)))
            case None | "" | False:
                setattr(self, name, value)
            case known:
                return bool(known == value or known is True)
        return True

    @property
    def has_time(self) -> bool:
        """Whether a moment was said."""
        return self.minutes is not None or bool(self.delays)

    @property
    def has_day(self) -> bool:
        """Whether a day, or several, were said."""
        return self.day is not None or self.on is not None or bool(self.weekdays)

    def candidates(self) -> list[int]:
        """Return the times of day that may be meant, in minutes. Those of a night may be later than 1440."""
        if self.minutes is None:
            return []
        first = self.minutes if self.is_exact else self.minutes % (_DAY // 2)
        times = [first] if self.is_exact else [first, first + _DAY // 2]
        # A night ends on the next day.
        times += [first + _DAY] if self.parts and first < _DAY else []
        return [
            time
            for time in times
            # That of "two at night" in some languages begins before its day.
            if all(start <= time < end or start <= time - _DAY < min(end, 0) for start, end in self.parts)
        ]

    def start(self, now: datetime, *, is_reminder: bool) -> datetime | None:
        """Return the first local time that is meant; None if there is none.

        For seven in the morning or in the evening, an alarm takes the first and a reminder the next one.
        """
        if self.delays:
            return (now + timedelta(seconds=sum(self.delays))).replace(microsecond=0)
        starts = [
            moment
            for day in self.days(now.date())
            for time in self._likely(is_reminder=is_reminder)
            if (moment := datetime.combine(day, datetime.min.time()) + timedelta(minutes=time)) > now
        ]
        return next(iter(starts if self.has_day else sorted(starts)), None)

    def _likely(self, *, is_reminder: bool) -> list[int]:
        """Return the times of day that may be meant, the likeliest of a named day first."""
        times = self.candidates()
        if self.parts or self.is_exact:
            return times
        if not is_reminder:
            times = [time for time in times if time < _EVENING]
        if self.has_day or self.repeat:
            # Twelve is noon then.
            times.sort(key=lambda time: (time == 0, is_reminder and time < _UP, time))
        return times[:1] if self.repeat else times

    def days(self, today: date) -> list[date]:
        """Return the days that may be meant, the first one first."""
        if self.on is not None:
            return [day for year in (today.year, today.year + 1) if (day := _date(year, *self.on))]
        if self.day is not None:
            return [today + timedelta(days=self.day)]
        # Tonight at two may be a time of the night that began yesterday.
        following = [today + timedelta(days=number) for number in range(-1, 8)]
        return [day for day in following if day >= today and day.weekday() in self.weekdays] or following

    def rule(self) -> str:
        """Return the rule of the repetition."""
        days = ",".join(DAYS[number] for number in sorted(self.weekdays))
        if not self.repeat or "=" in self.repeat:
            return self.repeat
        return f"FREQ={self.repeat.upper()}" + (f";BYDAY={days}" if days else "")


def understand(language: Language, said: str) -> Meaning | None:
    """Return the meaning of a sentence, with all words that have none as its text.

    The text may stand before or after the others. None if these contradict each other.
    """
    text = language.plain(said)
    if len(text) > _LONGEST:
        return None
    known: dict[int, Element | None] = {}
    found = language.elements(text, 0, known)
    if found and found[-1].end == len(text):
        return _meaning(found)
    while found and found[-1].kind == "filler":
        found.pop()
    meaning, start, end = _meaning(found), found[-1].end if found else 0, len(text)
    if meaning is None:
        return None
    # The time may follow: remind me to take the bins out at six.
    for at in () if meaning.has_time else range(start, len(text)):
        after = language.elements(text, at, known)
        both = _meaning([*found, *after]) if after and after[-1].end == len(text) else None
        if both is not None and both.has_time:
            meaning, end = both, at
            break
    meaning.text = text[start:end].strip()
    return meaning


def read(language: Language, action: str, slots: Mapping[str, str]) -> Meaning:
    """Return the meaning of the slots of a sentence. `action` is a key of the data. Raises `InputError`.

    Its text is that of a reminder, in a deletion a part of a name, and of a voice message the place.
    """
    said = " ".join(slots[name] for name in ("a", "b", "d") if name in slots)
    if action == "message":
        return Meaning(text=said)
    # The time may stand before or after words such as "to" and "that".
    meaning = understand(language, language.text(language.plain(said)) if action == "remind" else said)
    if meaning is None:
        raise InputError("alarm_not_understood")
    if action == "remind":
        meaning.text = language.text(meaning.text) + slots.get("ending", "")
    elif meaning.text and action != "delete":
        if (name := language.name(meaning.text)) is None:
            raise InputError("alarm_not_understood")
        meaning.name, meaning.text = name, ""
    if action in ("set", "remind") and not meaning.has_time:
        raise InputError("alarm_time_missing")
    return meaning


def is_complete(language: Language, slots: Mapping[str, str]) -> bool:
    """Whether a sentence needs nothing more. The text of a reminder may go on."""
    try:
        return not read(language, slots["action"], slots).text
    except InputError:
        return False


def read_fields(languages: Collection[Language], fields: Mapping[str, Any], today: date) -> Meaning:
    """Return the meaning of a form that a language model has filled in. Raises `InputError`.

    A day and a repetition are read as strictly as sentences, in any of the languages.
    """
    meaning = Meaning(name=fields.get("name", ""), text=fields.get("text", ""))
    if (hours := fields.get("hours")) is not None:
        # Without a period they count to 24.
        period = fields.get("period")
        meaning.minutes = hours * 60 + fields.get("minutes", 0)
        meaning.is_exact = period is None or hours > 12
        meaning.parts = [_HALVES[period]] if period else []
    if (day := fields.get("day")) and not _NOTHING.fullmatch(day):
        found = _day_of(languages, day, today)
        meaning.day, meaning.on, meaning.weekdays = found.day, found.on, found.weekdays
    if (repeat := fields.get("repeat")) and not _NOTHING.fullmatch(repeat):
        found = _repetition_of(languages, repeat)
        meaning.repeat = found.repeat or "weekly"
        meaning.weekdays = found.weekdays or (meaning.weekdays if meaning.repeat == "weekly" else set())
    if _contradicts_itself(meaning):
        raise InputError("alarm_not_understood")
    return meaning


def _day_of(languages: Collection[Language], day: str, today: date) -> Meaning:
    found = _date_of(day, today) or _field(languages, day)
    if found is None or found.repeat or not found.has_day:
        raise InputError("alarm_day", day=one_line(day, _SHOWN))
    return found


def _repetition_of(languages: Collection[Language], repeat: str) -> Meaning:
    found = Meaning(repeat=repeat) if "=" in repeat else _field(languages, repeat)
    if found is None or found.day is not None or found.on or not (found.repeat or found.weekdays):
        raise InputError("alarm_repeat", repeat=one_line(repeat, _SHOWN))
    return found


def _date_of(day: str, today: date) -> Meaning | None:
    written = _WRITTEN_DATE.fullmatch(day)
    found = _date(*map(int, written.groups())) if written else None
    return Meaning(day=(found - today).days) if found else None


def _field(languages: Collection[Language], words: str) -> Meaning | None:
    """Return the days and repetitions in words; None if they have any other meaning."""
    words = _SIGNS.sub(" ", words)
    english = _SHORT_DAYS.sub(lambda match: _ENGLISH[DAYS.index(match[0].upper())], words)
    found = (understand(language, each) for each in (english, words) for language in languages)
    return next((each for each in found if each and not (each.text or each.has_time or each.parts)), None)


def _meaning(elements: list[Element]) -> Meaning | None:
    """Return the common meaning of elements; None if they contradict each other."""
    meaning = Meaning()
    fields = (item for element in elements for item in _FIELDS[element.kind](element).items())
    if not all(starmap(meaning.add, fields)):
        return None
    if meaning.named is not None and meaning.minutes is None:
        meaning.minutes, meaning.is_exact = meaning.named, True
    elif meaning.named is not None:
        # Twelve o'clock noon.
        meaning.parts.append((meaning.named - _AROUND, meaning.named + _AROUND))
    if meaning.repeat in _WEEKDAYS:
        meaning.weekdays |= _WEEKDAYS[meaning.repeat]
        meaning.repeat = "weekly"
    elif not meaning.repeat and (meaning.is_each or len(meaning.weekdays) > 1):
        if not meaning.weekdays and not meaning.parts:
            return None
        meaning.repeat = "weekly" if meaning.weekdays else "daily"
    return None if _contradicts_itself(meaning) else meaning


def _time(element: Element) -> dict[str, Any]:
    if ":" in element.value:
        hour, minute = map(int, element.value.split(":"))
        return {"named": hour * 60 + minute}
    hour, numbers = element.numbers["hour"], element.numbers
    minutes = hour * 60 + sum(
        (1 if sign == "+" else -1) * (int(term) if term.isdecimal() else numbers[term])
        for sign, term in _TERM.findall(element.value)
    )
    is_exact = element.is_exact or not 1 <= hour <= 12
    return {"minutes": minutes if is_exact else minutes % _DAY, "is_exact": is_exact}


def _delay(element: Element) -> dict[str, Any]:
    each, more = element.value if isinstance(element.value, list) else (element.value, 0)
    return {"delays": [element.numbers.get("number", 1) * each + more]}


def _weekday(element: Element) -> dict[str, Any]:
    first, last = element.numbers.get("weekday", element.value), element.numbers.get("until")
    following = range(1 if last is None else (last - first) % 7 + 1)
    return {"weekdays": {(first + day) % 7 for day in following}, "is_each": element.value is not None}


def _repeat(element: Element) -> dict[str, Any]:
    repeat, *part = element.value if isinstance(element.value, list) else [element.value]
    return {"repeat": repeat, "parts": [(part[0] * 60, part[1] * 60)] if part else []}


def _part(element: Element) -> dict[str, Any]:
    start, end, *day = element.value
    weekdays = {element.numbers["weekday"]} if "weekday" in element.numbers else set[int]()
    return {"parts": [(start * 60, end * 60)], "weekdays": weekdays} | ({"day": day[0]} if day else {})


_FIELDS: Final[Mapping[str, Callable[[Element], dict[str, Any]]]] = {
    "time": _time,
    "delay": _delay,
    "date": lambda element: {"on": (element.numbers["month"], element.numbers["number"])},
    "weekday": _weekday,
    "more_weekday": _weekday,
    "repeat": _repeat,
    "every": lambda _: {"is_each": True},
    "day": lambda element: {"day": element.value},
    "part": _part,
    "filler": lambda _: {},
}
"""Fields of the meaning by the kind of an element."""


def _contradicts_itself(meaning: Meaning) -> bool:
    days = (meaning.day is not None) + (meaning.on is not None) + bool(meaning.weekdays)
    return (
        days > 1
        or (meaning.minutes is not None and not meaning.candidates())
        or (bool(meaning.delays) and (meaning.minutes is not None or days > 0 or bool(meaning.repeat)))
        or (bool(meaning.weekdays) and meaning.repeat not in ("", "weekly"))
        or (meaning.repeat == "daily" and days > 0)
    )


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
