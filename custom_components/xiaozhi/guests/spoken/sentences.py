"""Sentences for Home Assistant's own recogniser, which match as a whole or not at all.

The words of a time are one list with one template, made of literal words only: of a list for each number,
Home Assistant's search for unknown names would try all combinations, which takes minutes.
"""

from collections.abc import Collection, Iterator, Mapping
from functools import cache
import re
from typing import Any, Final

from homeassistant.util.yaml import dump

from .box_sentences import BOX_SENTENCE, Ability, box_blocks
from .factored import factored
from .language import Language

ALARM_SENTENCE: Final = "XiaozhiAlarm"
"""The intent of all sentences, with the slot `action`."""
KINDS: Final = ("alarm", "reminder", "both")
WORDS: Final = ("when", "then", "name", "a", "b", "text", "place", "kind", "ending")
"""Its other slots: spoken words, the kind that is meant, and the ending of a text."""

_LISTS: Final = {
    "when": "xiaozhi_when:when",
    "then": "xiaozhi_when:then",
    "d": "xiaozhi_day:when",
    "place_in": "area:place",
}
_SLOT: Final = re.compile(r"\{(when|then|d|place_in|name|a|b|text|place)\}")
_KIND: Final = re.compile(r"\{([^{}/]*)/([^{}/]*)(?:/([^{}]*))?\}")
_PLACEHOLDER: Final = re.compile(r"( ?)\{(\w+)\}( ?)")
_DIGIT: Final = "xiaozhi_digit"
# The meaning is read again from what is found here, and digits are checked there.
_DIGITS: Final = {
    "number": (f"<{_DIGIT}>[<{_DIGIT}>[<{_DIGIT}>]]",),
    "minute": (f"<{_DIGIT}>[<{_DIGIT}>]",),
    "mm": (f"<{_DIGIT}>" * 2,),
    "hour": (f"<{_DIGIT}>[<{_DIGIT}>]",),
}
_MOST_ELEMENTS: Final = 10
# These can be said of another room.
_ELSEWHERE: Final = {"set", "quiet", "disturb"}


def sentences(language: Language, code: str, house: Collection[Ability] = ()) -> str:
    """Return the content of a file of custom sentences, by Home Assistant's code of the language.

    `house` is what the devices themselves can do.
    """
    days = [language.elements_in[kind] for kind in ("day", "weekday", "week") if kind in language.elements_in]
    data: dict[str, Any] = {
        "language": code,
        "intents": {
            ALARM_SENTENCE: {"data": [*_blocks(language)]},
            BOX_SENTENCE: {"data": [*box_blocks(language, house)]},
        },
        "lists": {
            "xiaozhi_words": {"wildcard": True},
            "xiaozhi_number": {"range": {"from": 0, "to": 100}},
            "xiaozhi_when": {"values": [{"in": "<xiaozhi_when>"}]},
            "xiaozhi_day": {"values": [{"in": _rules(each)} for each in days]},
        },
        "expansion_rules": _rules_of_times(language),
    }
    return dump(data)


# It takes ten times as long as the rest of a file, which is written for each new ability of a device.
@cache
def _rules_of_times(language: Language) -> dict[str, str]:
    when = "<xiaozhi_element>"
    for _ in range(_MOST_ELEMENTS):
        when = f"<xiaozhi_element>[[ |(,|，|、)[ ]]{when}]"
    pause = "" if language.data["spaces"] else "[ ]"
    rules = {_DIGIT: "(0|1|2|3|4|5|6|7|8|9)", "xiaozhi_when": when}
    for name, listed in language.words.items():
        words = (f"({each}){pause}" for each in (*_DIGITS.get(name, ()), *(each for _, each in listed)))
        rules |= factored(f"xiaozhi_{name}", words, [_DIGIT])
    named = [f"xiaozhi_{name}" for name in language.words]
    return rules | factored("xiaozhi_element", map(_rules, language.elements_in.values()), named)


def _blocks(language: Language) -> Iterator[dict[str, Any]]:
    for key, listed in language.data["sentences"].items():
        action, _, ending = key.partition(" ")
        for number, kind in enumerate((*KINDS, "")):
            chosen = [found for each in listed if (found := _of_kind(each, number)) is not None]
            if action in _ELSEWHERE:
                chosen += [found for each in chosen for found in _extended(each, language.data)]
            slots = {"action": action, "kind": kind, "ending": ending}
            if chosen:
                yield {
                    "sentences": [_SLOT.sub(_slot, each) for each in chosen],
                    "slots": {name: value for name, value in slots.items() if value},
                }


def _of_kind(sentence: str, number: int) -> str | None:
    """Return a sentence with its words for a kind; None if it has none. The last number is for no kind."""
    found = _KIND.findall(sentence)
    if number == len(KINDS) or not found:
        return None if found or number < len(KINDS) else sentence
    if not all(words[number] for words in found):
        return None
    return _KIND.sub(lambda match: f"({match[number + 1]})", sentence)


def _extended(sentence: str, data: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence with a place, and with a name."""
    place_first, place = data.get("place_first", False), data["place"]
    if place_first:
        yield f"{place}[ ]{sentence}"
    for more in (*((place,) if not place_first else ()), *((data["named"],) if "named" in data else ())):
        space = " " * data["spaces"]
        yield f"{sentence}{space}{more}"
        yield from [sentence.replace(f"{space}{{when}}", f"{space}{more}{space}{{when}}")] * (
            "{when}" in sentence
        )


def _slot(match: re.Match[str]) -> str:
    name = match[1]
    pause = "[(,|，)[ ]]" if name == "when" else ""
    return f"{pause}{{{_LISTS.get(name, f'xiaozhi_words:{name}')}}}"


def _rules(template: str) -> str:
    # Speech recognition writes "7h" and "7 h".
    return _PLACEHOLDER.sub(
        lambda match: f"{'[ ]' * bool(match[1])}<xiaozhi_{match[2]}>{'[ ]' * bool(match[3])}", template
    )
