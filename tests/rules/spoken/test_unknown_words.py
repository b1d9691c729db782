"""A word that nobody knows changes nothing, wherever it stands in a sentence."""

from collections.abc import Iterator
import json
from pathlib import Path
from random import Random
from typing import Final

import pytest

from custom_components.xiaozhi.guests.spoken.language import load_language

from .recognizer import understood

_TABLES = sorted((Path(__file__).parent / "phrases").glob("*.json"))
_WORD: Final = "Zorblax"
# What these name does not exist, so that nothing happens.
_BY_NAME: Final = ("delete", "message")
_HARMLESS: Final = ("refused", "nothing", "list", "next", "messages", "Hass")
_PHRASES: Final = 10


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: str(table.stem))
def test_an_unknown_word_anywhere_changes_no_meaning(table: Path) -> None:
    """It may only be in the text of a reminder, or in the name of what is not there."""
    phrases: dict[str, str] = json.loads(table.read_text(encoding="utf-8"))
    acting = {phrase: meaning for phrase, meaning in phrases.items() if not meaning.startswith(_HARMLESS)}
    for phrase in Random(33).sample(sorted(acting), _PHRASES):
        for changed in _with_word(table.stem, phrase):
            found = understood(table.stem, changed)
            # In a name or a text, it changes that alone.
            moment, _, text = found.partition(": ")
            is_same = found == acting[phrase] or (
                _WORD in text and moment == acting[phrase].partition(": ")[0]
            )
            is_named = _WORD in found and found.startswith(_BY_NAME)
            assert is_same or is_named or found.startswith(_HARMLESS) or "no time" in found, changed


def _with_word(code: str, phrase: str) -> Iterator[str]:
    """Yield a phrase with the word at each place between words, or in Chinese between characters."""
    is_spaced = " " in phrase or load_language(code).data["spaces"]
    parts = phrase.split(" ") if is_spaced else [*phrase]
    for place in range(len(parts) + 1):
        yield (" " if is_spaced else "").join([*parts[:place], _WORD, *parts[place:]])
