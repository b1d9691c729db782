"""What language models write for a day and a repetition is understood as people would, or refused."""

from datetime import timedelta
from random import Random
from typing import Final

import pytest

from custom_components.xiaozhi.errors import InputError
from custom_components.xiaozhi.guests.spoken.language import load_language
from custom_components.xiaozhi.guests.spoken.understanding import DAYS, Meaning, read_fields

from .recognizer import NOW

_NAMES: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NONSENSE: Final = (
    *("sunrise", "morning", "someday", "moth", "fortnightly", "7", "13:00", "weekdayish", "%"),
    *("none of", "monda", "tomorow", "except", "every other", "BYDAY", "tomorrow"),
)


def read(**fields: str) -> Meaning:
    return read_fields([load_language("en"), load_language("de")], {"hours": 7, **fields}, NOW.date())


def rule_of(repeat: str) -> str:
    """Return the rule of a repetition, or the key of the answer that refuses it."""
    try:
        return read(repeat=repeat).rule()
    except InputError as err:
        return err.key


def written_days(random: Random) -> tuple[str, set[int]]:
    """Return days and ranges in one of the ways in which they are written, and the days that are meant."""

    def written(day: int) -> str:
        name = _NAMES[day % 7]
        return random.choice((DAYS[day % 7], DAYS[day % 7].lower(), name, name[:3], name.title()))

    parts, meant = [], set[int]()
    for _ in range(random.randint(1, 4)):
        first, length = random.randrange(7), random.choice((1, 1, 2, 3, 5))
        dash = random.choice(("-", " - ", "–", " to ", " through "))
        to = dash + written(first + length - 1) if length > 1 else ""
        parts.append(random.choice(("", "", "every ", "on ")) * (not to) + written(first) + to)
        meant |= {(first + number) % 7 for number in range(length)}
    return random.choice((",", ", ", " and ", "/", " / ", " ", ", and ")).join(parts), meant


def test_300_random_lists_of_days_mean_these_days_or_are_refused() -> None:
    random = Random(26)
    for _ in range(300):
        text, meant = written_days(random)
        text = random.choice(("", "", "weekly ", "weekly on ")) + text
        text = text.replace("on on ", "on ")
        assert rule_of(text) == f"FREQ=WEEKLY;BYDAY={','.join(DAYS[day] for day in sorted(meant))}", text
        words = text.split(" ")
        words.insert(random.randint(0, len(words)), random.choice(_NONSENSE))
        assert rule_of(" ".join(words)) == "alarm_repeat", words


@pytest.mark.parametrize(
    ("repeat", "rule"),
    [
        ("", ""),
        ("none", ""),
        ("daily", "FREQ=DAILY"),
        ("Every day", "FREQ=DAILY"),
        ("weekday", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("weekdays", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        ("weekend", "FREQ=WEEKLY;BYDAY=SA,SU"),
        ("weekly on Monday", "FREQ=WEEKLY;BYDAY=MO"),
        ("monday,every friday", "FREQ=WEEKLY;BYDAY=MO,FR"),
        ("montags und donnerstags", "FREQ=WEEKLY;BYDAY=MO,TH"),
        ("FREQ=WEEKLY;BYDAY=MO", "FREQ=WEEKLY;BYDAY=MO"),
        ("monthly", "FREQ=MONTHLY"),
        ("Mo, Mi, Fr", "FREQ=WEEKLY;BYDAY=MO,WE,FR"),
        ("Sa/So", "FREQ=WEEKLY;BYDAY=SA,SU"),
        ("['monday', \"friday\"]", "FREQ=WEEKLY;BYDAY=MO,FR"),
        ("Weekdays (Mon-Fri)", "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"),
        *dict.fromkeys(("None", "null", "once", "one-time", "never.", "不重复"), "").items(),
        *dict.fromkeys(("week", "7:00", "every other day", "daily at 7", "x" * 400), "alarm_repeat").items(),
    ],
)
def test_a_repetition_is_one_of_those_that_are_named(repeat: str, rule: str) -> None:
    assert rule_of(repeat) == rule


@pytest.mark.parametrize(
    ("day", "after"),
    [
        ("today", 0),
        ("tomorrow", 1),
        ("the day after tomorrow", 2),
        ("this friday", 2),
        ("FR", 2),
        ("Fri", 2),
        ("wednesday", 7),
        *dict.fromkeys(("2026-12-01", "2026/12/1", "2026-12-01T07:00:00", "2026年12月1日"), 6).items(),
        ("none", 1),
        ("übermorgen", 2),
        *dict.fromkeys(("sunrise", "morning", "weekdays", "monday and friday", "every monday", "32")).items(),
    ],
)
def test_a_day_is_one_of_those_that_are_named(day: str, after: int | None) -> None:
    try:
        meaning = read(day=day)
    except InputError as err:
        found: object = err.key
    else:
        found = meaning.start(NOW, is_reminder=False)
    # Today at seven is over.
    expected = NOW.replace(hour=7) + timedelta(days=after) if after else None
    assert found == ("alarm_day" if after is None else expected)
