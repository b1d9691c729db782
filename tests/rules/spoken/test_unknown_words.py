"""A word that nobody knows changes nothing, whether it is put in or replaces a unit, a kind or a number."""

from collections.abc import Iterator
from functools import partial
import json
from pathlib import Path
from random import Random
import re
from typing import Final

import pytest

from custom_components.xiaozhi.guests.spoken.language import Language, load_language

from .recognizer import understood

_TABLES: Final = Path(__file__).parent / "phrases"
# A unit, a number and a kind that the data do not have.
_UNKNOWN: Final = {
    "de": ("Quartale", "zigste", "Sirene"),
    "en": ("fortnights", "umpteenth", "siren"),
    "es": ("trimestres", "enésimo", "sirena"),
    "fr": ("trimestres", "énième", "sirène"),
    "it": ("trimestri", "ennesimo", "sirena"),
    "ja": ("世紀", "何十", "サイレン"),
    "ko": ("분기", "몇십", "사이렌"),
    "nl": ("kwartalen", "zoveelste", "sirene"),
    "pl": ("kwartały", "enty", "syrena"),
    "pt-BR": ("trimestres", "enésimo", "sirene"),
    "ru": ("кварталов", "энный", "сирена"),
    "tr": ("asır", "kaçıncı", "siren"),
    "vi": ("thập kỷ", "vô số", "còi hụ"),
    "zh-Hans": ("季度", "若干", "隔周", "警报"),
    "zh-Hant": ("季度", "若干", "隔週", "警報"),
}
_WORD: Final = "Zorblax"
# What these name does not exist, so that nothing happens.
_BY_NAME: Final = ("delete", "message")
_HARMLESS: Final = ("refused", "nothing", "list", "next", "messages", "Hass")
_PHRASES: Final = {"inserted": 10, "replaced": 4}
# What Home Assistant understands by itself is harmless here.
_understood = partial(understood, only_ours=True)


@pytest.mark.parametrize("code", _UNKNOWN)
@pytest.mark.parametrize("change", _PHRASES)
def test_an_unknown_word_changes_no_meaning(change: str, code: str) -> None:
    """It may only be in the text of a reminder, or in the name of what is not there."""
    acting = _acting(code)
    chosen = Random(33).sample(sorted(acting), _PHRASES[change])
    assert _other_meanings(change, code, {phrase: acting[phrase] for phrase in chosen}) == {}


@pytest.mark.weekly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("code", _UNKNOWN)
@pytest.mark.parametrize("change", _PHRASES)
def test_no_phrase_at_all_changes_its_meaning(change: str, code: str) -> None:
    assert _other_meanings(change, code, _acting(code)) == {}


def _acting(code: str) -> dict[str, str]:
    """Return the phrases that do something, with their meanings."""
    phrases: dict[str, str] = json.loads((_TABLES / f"{code}.json").read_text(encoding="utf-8"))
    return {phrase: meaning for phrase, meaning in phrases.items() if not meaning.startswith(_HARMLESS)}


def _other_meanings(change: str, code: str, phrases: dict[str, str]) -> dict[str, str]:
    """Return changed phrases that do something else than before."""
    changes = _with_word if change == "inserted" else _with_another_word
    return {
        changed: found
        for phrase, meaning in phrases.items()
        for word, changed in changes(code, phrase)
        if not _is_harmless(word, found := _understood(code, changed))
        and found != meaning
        # In a name or a text, it changes that alone. Of a day that it replaces, nothing is left.
        and not (
            word in found.partition(": ")[2]
            and _moment(found) in map(_moment, (meaning, _understood(code, changed.replace(word, ""))))
        )
    }


def _is_harmless(word: str, found: str) -> bool:
    is_named = word in found and found.startswith(_BY_NAME)
    return is_named or found.startswith(_HARMLESS) or "no time" in found


def _moment(meaning: str) -> str:
    return meaning.partition(": ")[0]


def _with_word(code: str, phrase: str) -> Iterator[tuple[str, str]]:
    """Yield a phrase with the word at each place between words, or between characters without spaces."""
    language = load_language(code)
    is_spaced = " " in phrase or language.data["spaces"]
    parts = phrase.split(" ") if is_spaced else [*_characters(language, phrase)]
    for place in range(len(parts) + 1):
        yield _WORD, (" " if is_spaced else "").join([*parts[:place], _WORD, *parts[place:]])


def _characters(language: Language, phrase: str) -> Iterator[str]:
    """Yield the characters of a phrase; those of a time or a day are one word."""
    start = 0
    while start < len(phrase):
        found = language.elements(phrase, start, {})[:1]
        end = found[0].end if found else start + 1
        yield phrase[start:end]
        start = end


def _with_another_word(code: str, phrase: str) -> Iterator[tuple[str, str]]:
    """Yield a phrase with each word replaced, or in Chinese each character and each two of them."""
    words = r"\d+|[^\W\d]+" if load_language(code).data["spaces"] else r"\d+|[^\W\d](?=(\w?))"
    for match in re.finditer(words, phrase):
        ends = {match.end(), match.end(1)} - {-1} if match.re.groups else {match.end()}
        for end, word in ((end, word) for end in ends for word in _UNKNOWN[code]):
            yield word, phrase[: match.start()] + word + phrase[end:]
