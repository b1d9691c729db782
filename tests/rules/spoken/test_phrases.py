"""Phrases of each language mean the alarm of its table; those of Home Assistant keep their meaning."""

from collections.abc import Iterable
from itertools import chain, islice
import json
from pathlib import Path
import re
from typing import Any

from hassil import recognize_best
from hassil.expression import Sentence
from hassil.intents import IntentData, Intents
from hassil.parse_expression import parse_sentence
from hassil.sample import sample_sentence
import pytest

from custom_components.xiaozhi.spoken import language
from custom_components.xiaozhi.spoken.language import load_language
from custom_components.xiaozhi.spoken.sentences import ALARM_SENTENCE
from custom_components.xiaozhi.spoken.understanding import is_complete

from .recognizer import CODES, recognized, recognizer, understood

_DATA = Path(language.__file__).parent / "languages"
_TABLES = sorted((Path(__file__).parent / "phrases").glob("*.json"))


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: str(table.stem))
def test_phrases_mean_what_people_mean(table: Path) -> None:
    phrases: dict[str, str] = json.loads(table.read_text(encoding="utf-8"))
    found = {phrase: understood(table.stem, phrase) for phrase in phrases}
    assert found == phrases
    assert len(phrases) >= 40
    assert load_language(table.stem).code == table.stem


@pytest.mark.parametrize("code", [table.stem for table in _TABLES])
@pytest.mark.parametrize(
    ("key", "time"), [("alarm_time_missing", "07:00"), ("alarm_not_understood", "07:30")]
)
def test_the_examples_in_answers_are_understood(code: str, key: str, time: str) -> None:
    texts = json.loads((_DATA.parents[1] / "translations" / f"{code}.json").read_text(encoding="utf-8"))
    answer: str = texts["exceptions"][key]["message"]
    example = re.search("[“「](.+)[”」]|[:：](.+)$", answer)
    assert example is not None
    assert understood(code, example[1] or example[2].strip()) == f"set 2026-11-26 {time}"


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: str(table.stem))
def test_templates_have_the_placeholders_that_their_meaning_needs(table: Path) -> None:
    data = _data(table.stem)
    needed = [
        *((template, {"month", "number"}) for template in data["dates"]),
        *((template, {"weekday", "until"}) for template in data["ranges"]),
        *(
            (template, set() if ":" in value else {"hour", *re.findall("minute|mm", value)})
            for template, value in data["times"].items()
        ),
    ]
    assert [template for template, names in needed if set(re.findall(r"{(\w+)}", template)) != names] == []


@pytest.mark.parametrize("table", _TABLES, ids=lambda table: str(table.stem))
def test_each_form_of_a_template_is_understood_as_a_whole(table: Path) -> None:
    data, known = _data(table.stem), load_language(table.stem)
    words = {
        "hour": "7",
        "minute": "15",
        "mm": "15",
        "number": "5",
        "month": data["months"][4],
        "weekday": data["weekdays"][0],
        "until": data["weekdays"][4],
    }
    fields = ("times", "parts", "days", "weekdays", "each_weekday", "ranges", "repeat", "dates", "durations")
    forms = [
        known.plain(form)
        for template in chain.from_iterable(data.get(field, ()) for field in fields)
        for form in sample_sentence(
            parse_sentence(re.sub(r"{(\w+)}", lambda name: f"({words[name[1]]})", template))
        )
    ]
    ends = {form: [element.end for element in known.elements(form, 0, {})][:1] for form in forms}
    assert {form for form, end in ends.items() if end != [len(form)]} == set()


def _data(code: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((_DATA / f"{code}.json").read_text(encoding="utf-8"))
    return data


# Of these Home Assistant has more variants than the integration has translations.
@pytest.mark.parametrize("code", [*(table.stem for table in _TABLES), "pt", "zh-HK"])
def test_home_assistants_own_sentences_keep_their_meaning(code: str) -> None:
    """None of them is one of ours: timers, lights and all others."""
    theirs, ours = recognizer(code, with_ours=False), recognizer(code, with_theirs=False)
    samples = [
        sample
        for intent in theirs.intents.values()
        for data in intent.data
        for sentence in data.sentences
        for sample in islice(_samples(sentence, theirs, data), 2)
    ]
    assert len(samples) > 50
    taken = {sample for sample in samples if recognize_best(sample, ours, language=CODES.get(code, code))}
    assert not taken


def _samples(sentence: Sentence, theirs: Intents, data: IntentData) -> Iterable[str]:
    return sample_sentence(
        sentence,
        theirs.slot_lists,
        theirs.expansion_rules | data.expansion_rules,
        expand_lists=False,
        expand_ranges=False,
        skip_optionals=True,
    )


@pytest.mark.parametrize(
    ("phrase", "complete"),
    [
        ("wake me at seven", True),
        ("wake me at", False),
        ("set an alarm for monday", False),
        ("what alarms do I have", True),
        ("cancel the alarm at seven", True),
        ("remind me at six to take", False),
        ("remind me to take the bins out at six", False),
    ],
)
def test_a_complete_sentence_needs_no_pause(phrase: str, complete: bool) -> None:
    intent, slots = recognized("en", phrase)
    assert intent == ALARM_SENTENCE
    assert is_complete(load_language("en"), slots) is complete
