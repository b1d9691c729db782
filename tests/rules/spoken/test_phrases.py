"""Phrases of each language mean the alarm of its table, or are refused."""

import json
from pathlib import Path

import pytest

from custom_components.xiaozhi.spoken.language import load_language

from .recognizer import understood

_TABLES = sorted((Path(__file__).parent / "phrases").glob("*.json"))


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: str(table.stem))
def test_phrases_mean_what_people_mean(table: Path) -> None:
    phrases: dict[str, str] = json.loads(table.read_text(encoding="utf-8"))
    found = {phrase: understood(table.stem, phrase) for phrase in phrases}
    assert found == phrases
    assert len(phrases) >= 40
    assert load_language(table.stem).code == table.stem
