"""Finds the risks of a tool, for the assistant, entities and users' rights.

The catalogue has the risks of stock tools. Other names are judged by their words, and all descriptions by the
actions they mention. A tool that only reads has no risk.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise, takewhile
import re
from typing import Final

from ..protocol.mcp.client import MAX_TOOLS
from ..protocol.mcp.tool import Tool
from .catalogue import CATALOGUE
from .chinese_words import in_english
from .risk_words import EVERYDAY, GENERIC, ITSELF, RISK_ROWS, Risk, RiskRow
from .tool_names import word_set, words

# In the last part of a name: the tool only reads.
_READS: Final = word_set("check get has is list measure ping query read scan")
_STATES: Final = word_set("address info ip level rssi ssid state status temperature version")
_JOINS: Final = word_set("and or then")

_ACTS: Final = frozenset().union(*(row.acts | row.bare for row in RISK_ROWS)) | word_set("save start stop")
_THINGS: Final = frozenset().union(*(row.things for row in RISK_ROWS)) - _ACTS - ITSELF | {"lock", "network"}
_ROWS_BY_ACT: Final = {
    act: tuple(row for row in RISK_ROWS if act == "ba" or act in row.acts | row.bare)
    for act in {"ba", *_ACTS}
}
_KNOWN: Final = re.compile(
    "|".join(
        sorted(
            {*GENERIC, *EVERYDAY, *_ACTS, *_THINGS}.union(
                *(row.words | row.unless | row.needs for row in RISK_ROWS)
            ),
            key=len,
            reverse=True,
        )
    )
)

# Terms that would be split into letters and digits.
_SPELLINGS: Final = {"g_code": "gcode", "i2c": "iic", "I2C": "iic", "4g": "cellular", "4G": "cellular"}
_SPELLED: Final = re.compile("|".join(_SPELLINGS))

# In a description.
_CLAUSES: Final = re.compile(r"[^\w\s'’/-]+|\n+|\s-+\s")
_PHRASES: Final = (
    (re.compile(r"n['’]t\b|\b(?:cannot|never|without|no need to|instead of)\b"), " not "),
    (re.compile(r"['’]s\b"), ""),
    (re.compile(r"\b(?:turn|switch|cut|shut|power)(?:s|ing|ting|ning)? off\b"), "disable"),
    (re.compile(r"\b(?:turn|switch|power)(?:s|ing)? on\b"), "enable"),
    (re.compile(r"\b(?:turn|switch|shut)s? ((?:[a-z-]+ ){1,4})off\b"), r"disable \1"),
    (re.compile(r"\b(?:turn|switch)s? ((?:[a-z-]+ ){1,4})on\b"), r"enable \1"),
    (re.compile(r"\b(?:shut|power)(?:s|ting|ing)? down\b"), "shutdown"),
    (re.compile(r"\bfactory[ -](?:reset|settings?|defaults?)\b"), "factoryreset"),
    (re.compile(r"\b(?:perform|trigger|cause|do|execute|initiate|force)(?:s|es|ing)? an? (?=re|fac)"), ""),
    (re.compile(r"\bg-code\b"), "gcode"),
    (re.compile(r"\bconnect(s|ing)? to\b"), "connect"),
    (re.compile(r"\btak(?:es?|ing) (?:an? |the )?(?:\w+ )?screenshots?\b"), "capture screenshot"),
)
_NEGATIONS: Final = word_set("not no")
# After these, a verb is a noun or a state: after a restart, the lock, is open.
_NOUN_AFTER: Final = word_set(
    "a after an any are before be by each every if is last next of on one since than the",
    "until was when whether",
)
_ENDS: Final = word_set(
    "after as at before by during for how if in into like near of on so than that to until",
    "via when where whether which while with within",
)
# After a noun, these change its meaning: the door sensor, the power LED.
_COMPOUNDS: Final = EVERYDAY | word_set(
    "animation bell button camera chime clock color icon image indicator info menu open page",
    "picture report s sensor sensors sound sounds state states status",
)
_NEAR: Final = 6
# As much as the assistant gets; longer texts could keep the event loop busy.
_MAX_TEXT: Final = 1024
_MAX_CLAUSES: Final = 64
_MAX_ACTS: Final = 32


@lru_cache(maxsize=4 * MAX_TOOLS)
def risks_of(tool: Tool) -> tuple[Risk, ...]:
    """Return the risks of a tool: by the catalogue or its name, and by title, description and hints."""
    reads = is_reading(tool.name)
    found = [*risks_in_name(tool.name), *_in_text(tool.title or "", begins=reads)]
    found += _in_text(tool.description, begins=reads)
    if tool.hints.get("destructiveHint"):
        found.append(Risk.DECLARED)
    return tuple(dict.fromkeys(found))


def risks_in_name(name: str) -> tuple[Risk, ...]:
    """Return the risks by the catalogue or by the words of a name."""
    if (stock := CATALOGUE.get(name)) is not None:
        return stock.risks
    if is_reading(name):
        return ()
    english = in_english(name)
    # A capital may be inside a word: ReSet.
    readings = [frozenset(_words(text)) for text in (english, english.lower())]
    return tuple(
        dict.fromkeys(row.risk for row in RISK_ROWS if any(_is_named(row, found) for found in readings))
    )


def is_reading(name: str) -> bool:
    """Whether the last part of a name says that the tool only reads."""
    last = name.rpartition(".")[2]
    found = _words(in_english(last))
    if any(first in _JOINS and second in _ACTS for first, second in pairwise(found)):
        return False
    if not found:
        return False
    names_a_state = found[-1] in _STATES and all(word in _THINGS for word in found[:-1])
    return names_a_state or found[0] in _READS or found[-1] == "get"


def _words(text: str) -> list[str]:
    """Return the words of a name; known words also without a separator: `opendoor`."""
    found: list[str] = []
    for word in words(_SPELLED.sub(lambda found: _SPELLINGS[found.group()], text)):
        parts = _KNOWN.findall(word)
        found += parts if "".join(parts) == word else [word]
    return found


def _is_named(row: RiskRow, found: frozenset[str]) -> bool:
    if found.isdisjoint(row.words) or not found.isdisjoint(row.unless):
        return False
    if row.needs and found.isdisjoint(row.needs):
        return False
    return not row.itself or found <= row.words | GENERIC


def _in_text(text: str, *, begins: bool) -> Iterator[Risk]:
    """Find the risks of the actions in a text; with `begins`, only of its first words."""
    plain = in_english(text[:_MAX_TEXT]).lower()
    for pattern, instead in _PHRASES:
        plain = pattern.sub(instead, plain)
    acts = 0
    for clause in _CLAUSES.split(plain)[: 1 if begins else _MAX_CLAUSES]:
        found = [_stem(word) for word in words(clause)]
        for at, word in enumerate(found[:2] if begins else found):
            rows = _ROWS_BY_ACT.get(word, ())
            acts += bool(rows)
            if acts > _MAX_ACTS:
                return
            yield from (row.risk for row in rows if _does(row, found, at))


def _does(row: RiskRow, found: list[str], at: int) -> bool:
    """Whether the word `at` begins an action of a row."""
    word, before, after = found[at], found[max(0, at - 3) : at], found[at + 1 : at + 1 + _NEAR]
    if not _NEGATIONS.isdisjoint(before) or (before and before[-1] in _NOUN_AFTER):
        return False
    if word == "ba":
        return _takes(row, after)
    rest = after[1:] if after and after[0] in {"it", "the", "this", "your"} else after
    if word in row.bare and (not rest or rest[0] in ITSELF | _JOINS):
        return not row.itself or not before or before[-1] in GENERIC | _JOINS
    return word in row.acts and _is_done_to(row, after)


def _takes(row: RiskRow, after: list[str]) -> bool:
    """Whether a Chinese clause with the verb at its end has an action of a row: 把门打开."""
    acts = [index for index, word in enumerate(after) if word in row.acts]
    return bool(acts) and not row.things.isdisjoint(after[: acts[0]])


def _is_done_to(row: RiskRow, after: list[str]) -> bool:
    """Whether the object of an action is one of a row's objects."""
    objects = list(takewhile(lambda each: each not in _ENDS | _JOINS, after))
    for index, each in enumerate(objects):
        following = after[index + 1 : index + 2]
        if each in row.things and not (following and following[0] in _COMPOUNDS):
            if each in ITSELF and following and following[0] in objects:
                continue
            return not row.itself or GENERIC.issuperset((*objects[:index], *_owner(after[index + 1 :])))
    return False


def _owner(after: list[str]) -> list[str]:
    """Return the owner after a noun: `the LED` in `power of the LED`."""
    return after[1:4] if after and after[0] in {"for", "from", "of", "to"} else []


def _stem(word: str) -> str:
    """Return the form of a verb in the table: `erase` for `erases` and `erasing`."""
    if word in _ACTS:
        return word
    forms = [word.removesuffix("s"), word.removesuffix("es")]
    if (stem := word.removesuffix("ing")) != word:
        forms += [stem, f"{stem}e", stem[:-1]]
    return next((form for form in forms if form in _ACTS), word)
