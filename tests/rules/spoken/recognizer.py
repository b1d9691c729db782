"""Home Assistant's recogniser with its own sentences and ours, in a home with two devices."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from typing import Any, Final, NamedTuple

from hassil.intents import Intents, SlotList, TextSlotList
from hassil.recognize import recognize_best
from hassil.util import merge_dict
from home_assistant_intents import get_intents
import yaml

from custom_components.xiaozhi.errors import InputError
from custom_components.xiaozhi.guests.spoken.box_sentences import BOX_SENTENCE, Ability, abilities_of
from custom_components.xiaozhi.guests.spoken.language import load_language
from custom_components.xiaozhi.guests.spoken.sentences import ALARM_SENTENCE, sentences
from custom_components.xiaozhi.guests.spoken.understanding import DAYS, Meaning, read
from custom_components.xiaozhi.tools.mapping import map_tools
from scripts.tool_table import stock_tools

NOW: Final = datetime.fromisoformat("2026-11-25T15:00")
"""A Wednesday."""
CODES: Final = {"zh-Hans": "zh-CN", "zh-Hant": "zh-TW"}
"""What Home Assistant calls a language."""
_NAMES: Final[dict[str, list[tuple[str, str, dict[str, Any]]]]] = {
    "name": [("lamp", "lamp", {"domain": "light"}), ("smoke alarm", "smoke alarm", {"domain": "switch"})],
    "area": [("kitchen", "kitchen", {})],
    "floor": [("attic", "attic", {})],
}


HOME: Final[dict[str, SlotList]] = {name: TextSlotList.from_tuples(listed) for name, listed in _NAMES.items()}


@cache
def house() -> frozenset[Ability]:
    """Return what devices of all stock boards can do by themselves, and one of somebody's own."""
    entities = chain.from_iterable(map(map_tools, stock_tools().values()))
    boards = {ability for entity in entities for ability, _ in abilities_of(entity)}
    others = {Ability(action) for action in ("repeat", "photo", "look", "battery")}
    own = {Ability("do", "magic trick"), Ability("read", "soil moisture")}
    return frozenset(boards | others | own)


class Recognizer(NamedTuple):
    """The sentences of one language, Home Assistant's own and ours, with the lists and rules of both."""

    theirs: Intents
    ours: Intents


@cache
def recognizer(code: str) -> Recognizer:
    """Return the sentences of a language, as Home Assistant merges them."""
    merged: dict[str, Any] = get_intents(CODES.get(code, code)) or {}
    # Of the same content as with the loader in Python, which takes seconds.
    ours = yaml.load(sentences(load_language(code), CODES.get(code, code), house()), yaml.CSafeLoader)
    merge_dict(merged, ours)
    both = Intents.from_dict(merged)
    of_ours = {name: intent for name, intent in both.intents.items() if name in ours["intents"]}
    of_theirs = {name: intent for name, intent in both.intents.items() if name not in of_ours}
    return Recognizer(theirs=replace(both, intents=of_theirs), ours=replace(both, intents=of_ours))


def recognized(
    code: str, phrase: str, home: Mapping[str, SlotList] = HOME, room: str = "", *, only_ours: bool = False
) -> tuple[str, dict[str, str]]:
    """Return the intent of a phrase that is said in a room and its slots, as Home Assistant finds them.

    It prefers custom sentences to its own, so that those need not be tried where one of ours is found.
    """
    found = recognizer(code)
    for intents in (found.ours, found.theirs)[: 1 if only_ours else 2]:
        result = recognize_best(
            phrase,
            intents,
            slot_lists={**home},
            intent_context={"area": {"value": room, "text": room}} if room else {},
            language=CODES.get(code, code),
            best_slot_name="name",
        )
        if result is not None:
            entities = result.entities_list
            return result.intent.name, {entity.name: entity.text or entity.value for entity in entities}
    return "nothing", {}


def understood(
    code: str, phrase: str, home: Mapping[str, SlotList] = HOME, room: str = "", *, only_ours: bool = False
) -> str:
    """Return in a few words what a phrase means: of its alarm, the time, repetition and text."""
    intent, slots = recognized(code, phrase, home, room, only_ours=only_ours)
    if intent == BOX_SENTENCE:
        return " ".join(str(slots[name]) for name in ("action", "tool", "value") if name in slots)
    if intent != ALARM_SENTENCE:
        return intent
    action = slots["action"]
    try:
        meaning = read(load_language(code), action, slots)
    except InputError:
        return "refused"
    place = [f"@{meaning.place}"][: bool(meaning.place)]
    if action not in ("set", "remind"):
        return " ".join([action, *_said(action, meaning), *place])
    if not meaning.has_time:
        return f"{action}: no time"
    start = NOW + meaning.delay if meaning.delay else meaning.start(NOW, is_reminder=action == "remind")
    when = f"{start:%Y-%m-%d %H:%M}{f':{start:%S}' if start.second else ''}" if start else "never"
    said = " ".join([action, when, *[meaning.rule()][: bool(meaning.rule())], *place])
    return said + (f": {words}" if (words := meaning.name or meaning.text) else "")


def _said(action: str, meaning: Meaning) -> list[str]:
    kind = meaning.kind if action in ("list", "next", "delete", "delete_all") else "alarm"
    times = [f"{minutes // 60:02}:{minutes % 60:02}" for minutes in meaning.candidates()]
    day = [] if meaning.day is None else [str((NOW + timedelta(days=meaning.day)).date())]
    on = [] if meaning.on is None else [f"{meaning.on[0]:02}-{meaning.on[1]:02}"]
    week = [DAYS[number] for number in sorted(meaning.weekdays)]
    weeks = [] if meaning.weeks is None else [f"+{meaning.weeks}"]
    delay = [f"{meaning.delay}"] if meaning.delay else []
    words = [kind if kind != "alarm" else "", meaning.repeat, *times, *delay, meaning.name, meaning.text]
    return [each for each in (*day, *on, *week, *weeks, *words) if each]
