"""How a text goes on, in templates that have all that templates can have."""

from typing import Any

from hassil.expression import Expression
from hassil.intents import Intents, TextSlotList
import pytest

from custom_components.xiaozhi.voice.sentences.grammar import (
    Grammar,
    Outlook,
    OutOfTimeError,
    values_of_lists,
)
from custom_components.xiaozhi.voice.sentences.templates import Compiler, Ends

NAMES = {
    "name": TextSlotList.from_tuples(
        [
            ("kitchen lamp", "Kitchen Lamp", {"domain": "light"}),
            ("kitchen lamp two", "Kitchen Lamp Two", {"domain": "light"}),
            ("front door", "Front Door", {"domain": "lock"}),
            ("客厅灯", "客厅灯", {"domain": "light"}),
            ("...", "nothing", {"domain": "light"}),
        ],
        allow_template=False,
    )
}


def outlook(text: str, *sentences: str, language: str = "en", **more: Any) -> Outlook:
    """Return how a text goes on in a language that has just these sentences."""
    block = {"sentences": [*sentences], **more.pop("block", {})}
    intents = Intents.from_dict({"language": language, "intents": {"Test": {"data": [block]}}, **more})
    named = Grammar(intents, language).named(values_of_lists(NAMES, language))
    return named.outlook(text, {}, 1.0, lambda: 0.0)


def told(found: Outlook) -> str:
    """Return what was found in a word or two."""
    parts = [
        "sentence" if found.is_sentence else "",
        "open" if found.ends_in_wildcard else "",
        "more" if found.is_beginning else "",
    ]
    return " ".join(filter(None, parts)) or "nothing"


@pytest.mark.parametrize(
    ("template", "text", "expected"),
    [
        ("turn on [the] light[s]", "turn on", "more"),
        ("turn on [the] light[s]", "turn", "more"),
        ("turn on [the] light[s]", "tur", "nothing"),
        # The "s" belongs to a word that has been said.
        ("turn on [the] light[s]", "turn on light", "sentence"),
        ("turn on [the] light[s]", "Turn on the lights!", "sentence"),
        ("turn on [the] light[s]", "turn on the fan", "nothing"),
        ("light[ now]", "light", "sentence more"),
        ("(now;please) go", "now please", "more"),
        ("(now;please) go", "please now go", "sentence"),
        ("(now;please) go", "now now", "nothing"),
        ("air-conditioner off", "air conditioner", "more"),
        ("air conditioner off", "air-conditioner off", "sentence"),
        ("allume l' (entrée|étage)", "allume l'", "more"),
        ("allume l' (entrée|étage)", "allume l'étage", "sentence"),
        ("打开灯[吧]", "打开", "more"),
        ("打开灯[吧]", "打开灯", "sentence more"),
        ("打开{name}", "打开客厅", "more"),
        ("{0..100:number}百分之", "50", "more"),
        ("亮度{0..100:number}度", "亮度45", "more"),
        ("dim to {0..100:number} percent", "dim to 20", "more"),
        ("dim to {0..100:number}", "dim to 20", "sentence more"),
        ("dim to {0..100:number}", "dim to 25", "sentence"),
        ("dim to {0..100:number}", "dim to 250", "nothing"),
        ("dim to {0..100:number}", "dim to twenty", "sentence more"),
        ("dim to {0..100:number}", "dim to twenty five", "sentence"),
        ("dim to {0..100:number}", "dim to one", "sentence more"),
        # Only digits of so many numbers are known, so more of them may follow.
        ("tint {1000..10000:kelvin}", "tint 2000", "sentence more"),
        ("tint {1000..10000:kelvin}", "tint two", "nothing"),
        ("turn on {name}", "turn on kitchen", "more"),
        ("turn on {name}", "turn on kitchen lamp", "sentence more"),
        ("turn on {name}", "turn on kitchen lamp two", "sentence"),
        ("turn on {name}", "turn on", "more"),
        ("say {words}", "say", "more"),
        ("say {words}", "say good morning", "sentence open more"),
        ("say {words} loudly", "say good", "more"),
        ("say {words} loudly", "say good morning loudly", "sentence more"),
        ("{words} loudly", "good morning", "nothing"),
        ("{words} very loudly", "good morning very", "more"),
        ("{words} loudly", "good morning loudly", "sentence"),
        ("<who> knows", "nobody", "more"),
        ("<missing> knows", "nobody", "nothing"),
        ("<circle> knows", "round and", "nothing"),
    ],
)
def test_a_text_goes_on_as_a_template_does(template: str, text: str, expected: str) -> None:
    lists = {"words": {"wildcard": True}}
    rules = {"who": "(somebody|nobody)", "circle": "round <circle>"}
    assert told(outlook(text, template, lists=lists, expansion_rules=rules)) == expected


def test_names_stand_only_where_what_they_name_fits() -> None:
    block = {"block": {"requires_context": {"domain": ["lock"]}}}
    assert told(outlook("lock front door", "lock {name}", **block)) == "sentence"
    assert told(outlook("lock kitchen", "lock {name}", **block)) == "nothing"
    block = {"block": {"requires_context": {"domain": ["vacuum"]}}}
    assert told(outlook("start", "start {name}", **block)) == "nothing"
    block = {"block": {"excludes_context": {"domain": ["lock"]}}}
    assert told(outlook("open front", "open {name}", **block)) == "nothing"


def test_what_the_home_has_none_of_is_not_said() -> None:
    floors = {"floor": {"values": []}}
    assert told(outlook("tidy", "tidy up {floor}", lists=floors)) == "nothing"
    assert told(outlook("tidy", "tidy up [{floor}]", lists=floors)) == "more"


def test_sentences_for_the_room_are_none_without_a_room() -> None:
    block = {"block": {"requires_context": {"area": {"slot": True}}}}
    assert told(outlook("lights", "lights on", **block)) == "nothing"


def test_a_block_may_have_rules_and_lists_of_its_own() -> None:
    block = {
        "block": {
            "expansion_rules": {"what": "tea [now]"},
            "lists": {"color": {"values": [{"in": "(dark|light) green", "out": "green"}, "red"]}},
        }
    }
    assert told(outlook("make tea", "make <what>", **block)) == "sentence more"
    assert told(outlook("paint it dark", "paint it {color}", **block)) == "more"
    assert told(outlook("paint it red", "paint it {color}", **block)) == "sentence"


def test_where_a_sentence_goes_on_with_a_place_is_told() -> None:
    areas = {"area": {"values": ["kitchen"]}}
    (_, ends), *more = outlook("lamp in", "lamp in {area}", lists=areas).longer
    assert (ends, more) == (Ends.PLACE, [])


def test_numbers_of_a_language_without_number_words_are_told_by_their_digits() -> None:
    assert told(outlook("dim 20", "dim {0..100:number}", language="tlh")) == "sentence more"


def test_nothing_but_punctuation_may_begin_anything() -> None:
    assert told(outlook(" . ", "turn on")) == "more"


def test_a_walk_ends_when_its_time_is_over() -> None:
    intents = Intents.from_dict({"language": "en", "intents": {"A": {"data": [{"sentences": ["a"]}]}}})
    with pytest.raises(OutOfTimeError):
        Grammar(intents, "en").named({}).outlook("a", {}, 1.0, lambda: 2.0)


def test_a_template_of_unknown_parts_is_refused() -> None:
    with pytest.raises(ValueError, match="Expression"):
        Compiler().node(Expression())
