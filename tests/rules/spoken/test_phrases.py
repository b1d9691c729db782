"""Phrases of each language mean what its tables say; those of Home Assistant keep their meaning."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import chain, islice
import json
from pathlib import Path
from random import Random
import re
from typing import Any, Final

from hassil import recognize_best
from hassil.expression import Sentence
from hassil.intents import IntentData, Intents, TextSlotList, WildcardSlotList
from hassil.parse_expression import parse_sentence
from hassil.sample import sample_sentence
from homeassistant.components.conversation.trigger import TRIGGER_SCHEMA
import pytest
import yaml

from custom_components.xiaozhi.guests.requests.box_requests import ACTIONS
from custom_components.xiaozhi.guests.spoken import language
from custom_components.xiaozhi.guests.spoken.box_sentences import Ability, abilities_of, box_blocks
from custom_components.xiaozhi.guests.spoken.language import folded, load_language
from custom_components.xiaozhi.guests.spoken.sentences import ALARM_SENTENCE, sentences
from custom_components.xiaozhi.tools.mapping import map_tools
from tests.rules.tools.sample_tools import listed

from .recognizer import CODES, HOME, house, recognizer, understood

_DATA = Path(language.__file__).parent / "languages"
_HERE: Final = Path(__file__).parent
_CODES: Final = sorted(table.stem for table in (_HERE / "phrases").glob("*.json"))
# A search for music takes any words, also "your light".
_TAKES_ALL: Final = "HassMediaSearchAndPlay"
_LEVEL: Final = "{xiaozhi_number:value}"
_AREA: Final = {"area": {"value": "kitchen", "text": "kitchen"}}
# Of 81 about alarms, messages and the device itself.
_NOT_UNDERSTOOD: Final = {"en": 3, "de": 6, "zh-Hans": 1}


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("code", _CODES)
def test_phrases_mean_what_people_mean(code: str) -> None:
    phrases: dict[str, str] = _read(_HERE / "phrases" / f"{code}.json")
    assert len(phrases) >= 40
    phrases |= _read(_HERE / "box_phrases.json")[code]
    assert {phrase: understood(code, phrase) for phrase in phrases} == phrases
    assert load_language(code).code == code


@pytest.mark.parametrize("code", _CODES)
@pytest.mark.parametrize(
    ("key", "time"), [("alarm_time_missing", "07:00"), ("alarm_not_understood", "07:30")]
)
def test_the_examples_in_answers_are_understood(code: str, key: str, time: str) -> None:
    texts = _read(_DATA.parents[2] / "translations" / f"{code}.json")
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


@pytest.mark.parametrize("code", _CODES)
def test_templates_have_the_placeholders_that_their_meaning_needs(code: str) -> None:
    data = _data(code)
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


@pytest.mark.parametrize("code", _CODES)
def test_each_form_of_a_template_is_understood_as_a_whole(code: str) -> None:
    data, known = _data(code), load_language(code)
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


@pytest.mark.parametrize("code", _CODES)
def test_words_that_stop_a_ring_are_valid_for_a_trigger(code: str) -> None:
    words = _data(code)["stop"]
    assert TRIGGER_SCHEMA({"platform": "conversation", "command": words})["command"] == words
    forms = [form for each in words for form in sample_sentence(parse_sentence(each))]
    assert len(forms) == len({*forms}) > 10


def _data(code: str) -> dict[str, Any]:
    data: dict[str, Any] = _read(_DATA / f"{code}.json")
    return data


# Of these Home Assistant has more variants than the integration has translations.
@pytest.mark.parametrize("code", [*_CODES, "pt", "zh-HK"])
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


@pytest.mark.parametrize("code", _NOT_UNDERSTOOD)
def test_other_wordings_mean_what_the_table_says(code: str) -> None:
    """Three of each kind of sentence, which were written before anything was made to understand them.

    "nothing" is left to a language model, and an intent of Home Assistant's is its own.
    """
    table = _read(_HERE / "other_wordings.json")[code]
    light, *rooms = table["home"]
    home = {
        "name": TextSlotList.from_tuples([(light, light, {"domain": "light"})]),
        "area": TextSlotList.from_tuples([(room, room, {}) for room in rooms]),
        "floor": TextSlotList.from_tuples([("attic", "attic", {})]),
    }
    ours, theirs = table["ours"], table["theirs"]
    for groups in (ours, theirs):
        found = {
            name: {each: understood(code, each, home, rooms[-1]) for each in group}
            for name, group in groups.items()
        }
        assert found == groups
        assert {len(group) for group in groups.values()} == {3}
    lacking = sum(meaning == "nothing" for group in ours.values() for meaning in group.values())
    assert (len(ours), lacking) == (27, _NOT_UNDERSTOOD[code])


# About the device itself.


@cache
def _box_samples(code: str) -> list[tuple[Ability, list[str]]]:
    """Return each ability with forms of each of its sentences."""
    return [
        (
            Ability(block["slots"]["action"], block["slots"].get("tool", "")),
            list(islice(sample_sentence(parse_sentence(sentence.replace(_LEVEL, "40"))), 4000)),
        )
        for block in box_blocks(load_language(code), house())
        for sentence in block["sentences"]
    ]


@pytest.mark.parametrize("code", _CODES)
def test_no_sentence_about_a_device_itself_is_home_assistants(code: str) -> None:
    """In a room, where it understands more."""
    theirs, random = recognizer(code).theirs, Random(36)
    for _, samples in _box_samples(code):
        for sample in {samples[0], *random.sample(samples, min(2, len(samples)))}:
            found = recognize_best(
                sample, theirs, slot_lists=HOME, language=CODES.get(code, code), intent_context=_AREA
            )
            assert found is None or found.intent.name == _TAKES_ALL, sample


@pytest.mark.parametrize("code", _CODES)
def test_no_sentence_asks_a_device_for_two_things(code: str) -> None:
    meanings = defaultdict[str, set[Ability]](set)
    for ability, samples in _box_samples(code):
        for sample in samples:
            meanings[" ".join(sample.split()).casefold()].add(ability)
    assert {sample: found for sample, found in meanings.items() if len(found) > 1} == {}
    assert {ability.action for ability in chain.from_iterable(meanings.values())} == set(ACTIONS)


def test_a_name_from_a_device_is_only_words() -> None:
    """Home Assistant reads the file of sentences all the same, and its own sentence keeps its meaning."""
    titles = "Turn on (the|a) {name}", "[turn on] lamp", "<all>; lights", "{}[]()", "turn on the lamp"
    tools = [listed(f"self.x{number}", title=title) for number, title in enumerate(titles)]
    found = [ability for entity in map_tools(tools) for ability, _ in abilities_of(entity)]
    named = ["Turn on the a name", "turn on lamp", "all lights", "turn on the lamp"]
    assert [name for _, name in found] == named
    intents = Intents.from_dict(yaml.safe_load(sentences(load_language("en"), "en", found)))
    heard = {each: recognize_best(each, intents) for each in (f"do the {named[1]}", "turn on the lamp")}
    assert [result is not None for result in heard.values()] == [True, False]
