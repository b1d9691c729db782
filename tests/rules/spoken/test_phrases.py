"""Phrases of each language mean the alarm of its table; those of Home Assistant keep their meaning."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, islice
import json
from pathlib import Path
import re
from typing import Any

from hassil import recognize_best
from hassil.expression import Sentence
from hassil.intents import IntentData, Intents, WildcardSlotList
from hassil.parse_expression import parse_sentence
from hassil.sample import sample_sentence
from homeassistant.components.conversation.trigger import TRIGGER_SCHEMA
import pytest

from custom_components.xiaozhi.guests.spoken import language
from custom_components.xiaozhi.guests.spoken.language import folded, load_language
from custom_components.xiaozhi.guests.spoken.sentences import ALARM_SENTENCE

from .recognizer import CODES, HOME, recognizer, understood

_DATA = Path(language.__file__).parent / "languages"
TABLES = sorted((Path(__file__).parent / "phrases").glob("*.json"))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.stem))
def test_phrases_mean_what_people_mean(table: Path) -> None:
    phrases: dict[str, str] = json.loads(table.read_text(encoding="utf-8"))
    found = {phrase: understood(table.stem, phrase) for phrase in phrases}
    assert found == phrases
    assert len(phrases) >= 40
    assert load_language(table.stem).code == table.stem


@pytest.mark.parametrize("code", [table.stem for table in TABLES])
@pytest.mark.parametrize(
    ("key", "time"), [("alarm_time_missing", "07:00"), ("alarm_not_understood", "07:30")]
)
def test_the_examples_in_answers_are_understood(code: str, key: str, time: str) -> None:
    texts = json.loads((_DATA.parents[2] / "translations" / f"{code}.json").read_text(encoding="utf-8"))
    answer: str = texts["exceptions"][key]["message"]
    example = re.search("[“「](.+)[”」]|[:：](.+)$", answer)
    assert example is not None
    assert understood(code, example[1] or example[2].strip()) == f"set 2026-11-26 {time}"


@pytest.mark.parametrize(
    ("code", "phrase", "name"),
    [
        ("tr", "Işık alarmını sil", "IŞIK"),
        ("tr", "iş alarmını sil", "İŞ"),
        ("en", "delete the O'Neill alarm", "O\u2019Neill"),
        ("en", "delete the anne marie alarm", "Anne-Marie"),
        ("de", "lösche die Erinnerung ans Blumengießen", "Blumengiessen"),
        ("fr", "supprime l\u2019alarme de l\u2019école", "L'école"),
    ],
)
def test_names_may_have_signs_and_letters_of_their_own(code: str, phrase: str, name: str) -> None:
    action, _, said = understood(code, phrase).partition(" ")
    assert action == "delete"
    assert folded(said.removeprefix("reminder ")) == folded(name)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.stem))
def test_templates_have_the_placeholders_that_their_meaning_needs(table: Path) -> None:
    data = _data(table.stem)
    needed = [
        *((template, {"number"} | ({"month"} & _placeholders(template))) for template in data["dates"]),
        *((template, {"weekday"}) for template, weeks in data["weeks"].items() if weeks is not None),
        *((template, {"weekday", "until"}) for template in data["ranges"]),
        *(
            (template, set() if ":" in value else {"hour", *re.findall("minute|mm", value)})
            for template, value in data["times"].items()
        ),
    ]
    assert [template for template, names in needed if _placeholders(template) != names] == []


def _placeholders(template: str) -> set[str]:
    return set(re.findall(r"{(\w+)}", template))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table.stem))
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
    fields = (
        "times",
        "parts",
        "days",
        "weekdays",
        "each_weekday",
        "weeks",
        "ranges",
        "repeat",
        "dates",
        "durations",
    )
    forms = [
        known.plain(form)
        for template in chain.from_iterable(data.get(field, ()) for field in fields)
        for form in sample_sentence(
            parse_sentence(re.sub(r"{(\w+)}", lambda name: f"({words[name[1]]})", template))
        )
    ]
    ends = {form: [element.end for element in known.elements(form, 0, {})][:1] for form in forms}
    assert {form for form, end in ends.items() if end != [len(form)]} == set()


@pytest.mark.parametrize("code", [table.stem for table in TABLES])
def test_words_that_stop_a_ring_are_valid_for_a_trigger(code: str) -> None:
    words = _data(code)["stop"]
    assert TRIGGER_SCHEMA({"platform": "conversation", "command": words})["command"] == words
    forms = [form for each in words for form in sample_sentence(parse_sentence(each))]
    assert len(forms) == len({*forms}) > 10


def _data(code: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((_DATA / f"{code}.json").read_text(encoding="utf-8"))
    return data


# Of these Home Assistant has more variants than the integration has translations.
@pytest.mark.parametrize("code", [*(table.stem for table in TABLES), "pt", "zh-HK"])
def test_home_assistants_own_sentences_keep_their_meaning(code: str) -> None:
    """Also of devices and items that are called by the words for alarm, reminder and message, and two more.

    Only what has the whole name "alarm" is left to us: if nothing rings, Home Assistant switches it off.
    """
    theirs, tried = recognizer(code)
    wildcards = (name for name, found in theirs.slot_lists.items() if isinstance(found, WildcardSlotList))
    free = re.compile(rf"{{(?:{'|'.join(('name', *wildcards))})}}")
    samples = {
        sample
        for intent in theirs.intents.values()
        # Nobody calls a mower like this, and "cancel the alarm" would send it home.
        if intent.name != "HassLawnMowerDock"
        for data in intent.data
        for sentence in data.sentences
        for sample in islice(_samples(sentence, theirs, data), 1)
    }
    assert len(samples) > 20
    taken: dict[str, Any] = {}
    for name in _names(code):
        for sample in {free.sub(name, each) for each in samples}:
            found = recognize_best(sample, tried, HOME, language=CODES.get(code, code))
            if found is not None:
                taken[sample] = found.entities["action"].value
        # Only sentences about alarms have room for a name.
        samples = {each for each in samples if free.search(each)}
        tried = replace(tried, intents={ALARM_SENTENCE: tried.intents[ALARM_SENTENCE]})
    assert {sample for sample, action in taken.items() if action not in ("stop", "turn_off")} == set()


def _names(code: str) -> list[str]:
    """Return what an owner may call a device or an item: alone, and with two words more."""
    alarm, reminder = (load_language(code).data["called"][at] for at in (0, -1))
    return [alarm, reminder, f"{alarm} Bravo Zulu", f"Bravo Zulu {reminder}"]


def _samples(sentence: Sentence, theirs: Intents, data: IntentData) -> Iterable[str]:
    return sample_sentence(
        sentence,
        theirs.slot_lists,
        theirs.expansion_rules | data.expansion_rules,
        expand_lists=False,
        expand_ranges=False,
        skip_optionals=True,
    )
