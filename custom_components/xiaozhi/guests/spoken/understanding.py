"""The meaning of sentences about alarms: time, repetition and the text of a reminder."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields as dataclass_fields
from datetime import date, datetime, timedelta
from itertools import starmap
import re
from typing import Any, Final

from ...errors import InputError
from ...util.text import one_line
from .language import Element, Language, splits_word

DAYS: Final = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
"""The days of the week, as rules write them."""
SETTING: Final = frozenset(("set", "move", "remind", "unclear"))
"""Actions that need a time."""
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
_NOT_SAID: Final = frozenset(("kind", "name", "text", "place"))
_SECONDS_OF_DAY: Final = 24 * 60 * 60


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
    is_after: bool = False
    """Whether the day was said as a time from now: in two days."""
    on: tuple[int, int] | None = None
    """Month, or 0 for any, and day."""
    weekdays: set[int] = field(default_factory=set)
    weeks: int | None = None
    """Weeks from this one in which the weekday is; 0 for the next such day that is not today."""
    repeat: str = ""
    """daily, weekly, monthly, yearly, a rule as in calendars, or empty."""
    since: int = 0
    """Days from today after which a repetition begins."""
    delays: list[int] = field(default_factory=list)
    """Seconds from now, which add up."""
    named: int | None = None
    """A time that has a name, such as noon, in minutes."""
    is_each: bool = False
    """Whether each of the days or parts of the day is meant."""
    kind: str = "both"
    """alarm, reminder or both."""
    name: str = ""
    text: str = ""
    """Text of a reminder."""
    place: str = ""
    """Where it is meant, or the receivers of a message."""

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
    def has_clock(self) -> bool:
        """Whether a moment was said, and not only a day."""
        return self.minutes is not None or bool(self.delays)

    @property
    def has_time(self) -> bool:
        """Whether a moment was said, if only as in two days, at this time."""
        return self.has_clock or self.is_after

    @property
    def has_day(self) -> bool:
        """Whether a day, or several, were said."""
        return self.day is not None or self.on is not None or bool(self.weekdays)

    def complete(self, said: Meaning) -> bool:
        """Add what was said later; return whether that has a time and contradicts nothing."""
        fields = (each.name for each in dataclass_fields(said) if each.name not in _NOT_SAID)
        added = [self.add(name, value) for name in fields if (value := getattr(said, name))]
        return said.has_time and all(added) and not _contradicts_itself(self)

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

    @property
    def delay(self) -> timedelta | None:
        """The time from now that was said."""
        return timedelta(seconds=sum(self.delays)) if self.delays else None

    def start(self, now: datetime, *, is_reminder: bool) -> datetime | None:
        """Return the first local time that is meant, without a delay; None if there is none.

        For seven in the morning or in the evening, an alarm takes the first and a reminder the next one.
        """
        if self.minutes is None:
            return (now + timedelta(days=self.day or 0)).replace(second=0, microsecond=0)
        for times in (self._likely(is_reminder=is_reminder), self.candidates() if self.day == 0 else []):
            starts = [
                moment
                for day in self.days(now.date())
                for time in times
                if (moment := datetime.combine(day, datetime.min.time()) + timedelta(minutes=time)) > now
            ]
            if starts:
                return starts[0] if self.has_day else min(starts)
        return None

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
        since = today + timedelta(days=self.since)
        if self.on is not None:
            month, day = self.on
            months = (divmod(since.year * 12 + since.month - 1 + number, 12) for number in range(25))
            found = (_date(year, each + 1, day) for year, each in months if month in (0, each + 1))
            return [each for each in found if each and each >= since]
        if self.day is not None:
            return [today + timedelta(days=self.day)]
        if self.weeks:
            monday = today + timedelta(weeks=self.weeks, days=-today.weekday())
            return [monday + timedelta(days=number) for number in sorted(self.weekdays)]
        # Tonight at two may be a time of the night that began yesterday.
        following = [since + timedelta(days=number) for number in range(0 if self.since else -1, 8)]
        first = today + timedelta(days=self.weeks is not None)
        return [day for day in following if day >= first and day.weekday() in self.weekdays] or following

    def rule(self) -> str:
        """Return the rule of the repetition."""
        days = ",".join(DAYS[number] for number in sorted(self.weekdays))
        if not self.repeat or "=" in self.repeat:
            return self.repeat.upper()
        return f"FREQ={self.repeat.upper()}" + (f";BYDAY={days}" if days else "")


def understand(language: Language, said: str) -> Meaning | None:
    """Return the meaning of words; None unless every word has one, and none contradicts another."""
    text = language.plain(said)
    found = language.elements(text, 0, {}) if len(text) <= _LONGEST else []
    return _meaning(found) if (found[-1].end if found else 0) == len(text) else None


def _understand_reminder(language: Language, said: str, *, begun: bool) -> Meaning | None:
    """Return the meaning of words with a text, which stands after the time or before it."""
    text = language.plain(said)
    if not (begun or language.text_has_word):
        # The time may stand behind words such as "to" and "that", too.
        text, begun = language.without_begin(text)
    if len(text) > _LONGEST:
        return None
    known: dict[int, Element | None] = {}
    found = language.elements(text, 0, known)
    meaning, start, end = _meaning(found), found[-1].end if found else 0, len(text)
    if meaning is None or splits_word(text, start) or language.text(text[start:], begun=begun) is None:
        return None
    # The time may follow: remind me to take the bins out at six.
    for at in () if meaning.has_clock else range(start, len(text)):
        after = language.elements(text, at, known)
        both = _meaning([*found, *after]) if after and after[-1].end == len(text) else None
        if both is not None and (both.has_clock or both.has_time > meaning.has_time):
            meaning, end = both, at
            break
    words = text[start:end].strip()
    meaning.text = language.text(words, begun=begun) or ""
    is_free = begun or not found or language.without_begin(words)[1]
    is_after_time = end == len(text)
    if not is_free and is_after_time and text[found[-2].end if found[1:] else 0 : start].strip().isdecimal():
        # Of apples.
        return None
    return None if _hides_time(language, meaning, words, is_free, is_free and is_after_time) else meaning


def _hides_time(language: Language, meaning: Meaning, words: str, is_free: bool, may_have_day: bool) -> bool:
    """Whether the words of a text have a part of the time: tomorrow, um, at three."""
    lacks_day = not (meaning.has_day or meaning.delays or may_have_day)
    lacks_time = meaning.is_after and not meaning.has_clock
    return (
        (lacks_day and language.mentions(words, "day", "weekday", "week"))
        # To buy 3 apples, but not: to call mum at 3, um.
        or (lacks_time and language.mentions(words, "time", alone=not (is_free and language.text_has_word)))
        or (lacks_time and not is_free and language.begins_within(words))
        # On the 5th of umptember at 3.
        or (not is_free and language.mentions_time(words))
    )


def read(language: Language, action: str, slots: Mapping[str, str]) -> Meaning:
    """Return the meaning of the slots of a sentence. `action` is a key of the data. Raises `InputError`."""
    if action == "remind":
        said = _joined(slots, "when", "a", "b", "text")
        meaning = _understand_reminder(language, said, begun="text" in slots)
        # Of the words before and after the verb, one half is no text.
        halves = [slots[name] for name in ("a", "b") if name in slots]
        if len(halves) > 1 and all(understand(language, each) is None for each in halves):
            meaning = None
    else:
        meaning = understand(language, _joined(slots, "when", "then"))
    if meaning is None or action == "unclear":
        raise InputError("alarm_not_understood")
    meaning.kind, meaning.place = slots.get("kind", "alarm"), slots.get("place", "")
    meaning.name = language.name(slots.get("name", ""))
    if action == "set" and not meaning.has_day and language.mentions(meaning.name, "day", "weekday", "week"):
        raise InputError("alarm_not_understood")
    ending = slots.get("ending", "")
    if action == "snooze" and ending:
        meaning.delays = [int(ending) * 60]
    elif meaning.text:
        meaning.text += ending
    return meaning


def _joined(slots: Mapping[str, str], *names: str) -> str:
    return " ".join(slots[name] for name in names if name in slots)


def read_fields(languages: Collection[Language], fields: Mapping[str, Any], today: date) -> Meaning:
    """Return the meaning of a form that a language model has filled in. Raises `InputError`.

    A day and a repetition are read as strictly as sentences, in any of the languages.
    """
    meaning = Meaning(name=fields.get("name", ""), text=fields.get("text", ""))
    meaning.kind = fields.get("kind", meaning.kind)
    if (hours := fields.get("hours")) is not None:
        # Without a period they count to 24.
        period = fields.get("period")
        meaning.minutes = hours * 60 + fields.get("minutes", 0)
        meaning.is_exact = period is None or hours > 12
        meaning.parts = [_HALVES[period]] if period else []
    if (day := fields.get("day")) and not _NOTHING.fullmatch(day):
        found = _day_of(languages, day, today)
        meaning.day, meaning.on, meaning.weekdays, meaning.weeks = (
            found.day,
            found.on,
            found.weekdays,
            found.weeks,
        )
    if (repeat := fields.get("repeat")) and not _NOTHING.fullmatch(repeat):
        found = _repetition_of(languages, repeat)
        meaning.repeat = found.repeat or "weekly"
        if found.weekdays or meaning.repeat == "daily":
            # It begins on the day.
            meaning.since = (meaning.days(today)[0] - today).days if meaning.has_day else 0
            meaning.day, meaning.on, meaning.weeks, meaning.weekdays = None, None, None, found.weekdays
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
    return next((each for each in found if each and not (each.has_time or each.parts)), None)


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
        if not meaning.weekdays and not meaning.parts and meaning.on is None:
            return None
        of_date = "" if meaning.on is None else "yearly" if meaning.on[0] else "monthly"
        meaning.repeat = of_date or ("weekly" if meaning.weekdays else "daily")
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
    if each % _SECONDS_OF_DAY == 0:
        # A day of the calendar, which is not always as long.
        return {"day": element.numbers.get("number", 1) * each // _SECONDS_OF_DAY, "is_after": True}
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
    "date": lambda element: {"on": (element.numbers.get("month", 0), element.numbers["number"])},
    "weekday": _weekday,
    "more_weekday": _weekday,
    # Of the weekend, the first day is meant.
    "week": lambda element: {"weekdays": {element.numbers.get("weekday", 5)}, "weeks": element.value},
    "repeat": _repeat,
    "every": lambda _: {"is_each": True},
    "day": lambda element: {"day": element.value},
    "part": _part,
    "and": lambda _: {},
}
"""Fields of the meaning by the kind of an element."""


def _contradicts_itself(meaning: Meaning) -> bool:
    days = (meaning.day is not None) + (meaning.on is not None) + bool(meaning.weekdays)
    every = meaning.repeat.partition(";")[0].rpartition("=")[2].lower()
    month = meaning.on[0] if meaning.on else None
    return (
        days > 1
        or (meaning.weeks is not None and (len(meaning.weekdays) > 1 or bool(meaning.repeat)))
        or (month is not None and every in ("daily", "weekly"))
        or (bool(month) and every == "monthly")
        or (month == 0 and every == "yearly")
        or (meaning.is_after and bool(meaning.repeat))
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
