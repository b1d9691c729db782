"""Sentences about a device itself take nothing from Home Assistant, and none has two meanings."""

from collections import defaultdict
from functools import cache
from itertools import chain, islice
import json
from pathlib import Path
from random import Random
from typing import Final

from hassil import recognize_best
from hassil.intents import Intents
from hassil.parse_expression import parse_sentence
from hassil.sample import sample_sentence
import pytest
import yaml

from custom_components.xiaozhi.guests.requests.box_requests import ACTIONS
from custom_components.xiaozhi.guests.spoken.box_sentences import Ability, abilities_of, box_blocks
from custom_components.xiaozhi.guests.spoken.language import load_language
from custom_components.xiaozhi.guests.spoken.sentences import sentences
from custom_components.xiaozhi.tools.mapping import map_tools
from tests.rules.tools.sample_tools import listed

from .recognizer import CODES, HOME, house, recognizer, understood
from .test_phrases import TABLES

_PHRASES: Final = Path(__file__).parent / "box_phrases.json"
_LANGUAGES: Final = [table.stem for table in TABLES]
# A search for music takes any words, also "your light".
_TAKES_ALL: Final = "HassMediaSearchAndPlay"
_LEVEL: Final = "{xiaozhi_number:value}"
_AREA: Final = {"area": {"value": "kitchen", "text": "kitchen"}}


@cache
def _samples(code: str) -> list[tuple[Ability, list[str]]]:
    """Return each ability with forms of each of its sentences."""
    return [
        (
            Ability(block["slots"]["action"], block["slots"].get("tool", "")),
            list(islice(sample_sentence(parse_sentence(sentence.replace(_LEVEL, "40"))), 4000)),
        )
        for block in box_blocks(load_language(code), house())
        for sentence in block["sentences"]
    ]


@pytest.mark.parametrize("code", _LANGUAGES)
def test_no_sentence_about_a_device_itself_is_home_assistants(code: str) -> None:
    """In a room, where it understands more."""
    theirs, random = recognizer(code).theirs, Random(36)
    for _, samples in _samples(code):
        for sample in {samples[0], *random.sample(samples, min(2, len(samples)))}:
            found = recognize_best(
                sample, theirs, slot_lists=HOME, language=CODES.get(code, code), intent_context=_AREA
            )
            assert found is None or found.intent.name == _TAKES_ALL, sample


@pytest.mark.parametrize("code", _LANGUAGES)
def test_no_sentence_asks_a_device_for_two_things(code: str) -> None:
    meanings = defaultdict[str, set[Ability]](set)
    for ability, samples in _samples(code):
        for sample in samples:
            meanings[" ".join(sample.split()).casefold()].add(ability)
    assert {sample: found for sample, found in meanings.items() if len(found) > 1} == {}
    assert {ability.action for ability in chain.from_iterable(meanings.values())} == set(ACTIONS)


@pytest.mark.parametrize("code", _LANGUAGES)
def test_phrases_ask_a_device_for_what_people_mean(code: str) -> None:
    phrases: dict[str, str] = json.loads(_PHRASES.read_text(encoding="utf-8"))[code]
    assert {phrase: understood(code, phrase) for phrase in phrases} == phrases


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
