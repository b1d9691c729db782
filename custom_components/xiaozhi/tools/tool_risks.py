"""Finds the risks of a tool, for the assistant, entities and users' rights.

The catalogue has those of stock tools. For others, words in their names reveal them: a description is a text
of an untrusted device, and is not read. The hints of a device may add a risk, never take one away.
"""

from collections.abc import Collection
from functools import lru_cache
from itertools import pairwise
import re
from typing import Final

from ..protocol.mcp.client import MAX_TOOLS
from ..protocol.mcp.tool import Tool
from .risk_words import ALSO_ACTS, HARMLESS, READING, RISK_WORDS, STATES, Risk
from .stock_tools import CATALOGUE
from .tool_names import words

_SEPARATORS: Final = re.compile(r"[\W_]+")
_RISKS: Final = {
    risk: [each.split("+") for each in " ".join(listed).split()] for risk, listed in RISK_WORDS.items()
}
_HARMLESS: Final = frozenset(" ".join(HARMLESS).split())
_HARMLESS_CHINESE: Final = re.compile("|".join(word for word in _HARMLESS if not word.isascii()))
_READING, _STATES, _ALSO_ACTS = (frozenset(listed.split()) for listed in (READING, STATES, ALSO_ACTS))
_BEGINS_READING: Final = tuple(word for word in _READING if not word.isascii())


def risks_of(tool: Tool) -> tuple[Risk, ...]:
    """Return the risks of a tool: by the catalogue or its name, and by the hints of the device."""
    if (stock := CATALOGUE.get(tool.name)) is not None:
        found = stock.risks
    else:
        found = () if only_reads(tool) else risks_in_name(tool.name)
    return (*found, Risk.DECLARED) if tool.hints.get("destructiveHint") else found


def only_reads(tool: Tool) -> bool:
    """Whether the name of a tool says that it only reads, and the device does not contradict."""
    if not tool.hints.get("readOnlyHint", True):
        return False
    last = tool.name.rpartition(".")[2]
    found = words(last)
    if not found or any(_has(word, last, found) for word in _ALSO_ACTS):
        return False
    begins = found[0] in _READING or last.startswith(_BEGINS_READING)
    return begins or found[-1] == "get" or (len(found) == 1 and found[0] in _STATES)


@lru_cache(maxsize=4 * MAX_TOOLS)
def risks_in_name(name: str) -> tuple[Risk, ...]:
    """Return the risks that the words of a name reveal."""
    name = _HARMLESS_CHINESE.sub(" ", name)
    found = words(name)
    pairs = {first + second: (first, second) for first, second in pairwise(found)}
    harmless = {word for pair in _HARMLESS & pairs.keys() for word in pairs[pair]}
    # A capital may be inside a word, as in ReSet, and a pair may be one word: shut_down.
    parts = ({*found, *_SEPARATORS.split(name.lower())} - harmless) | pairs.keys()
    return tuple(
        risk
        for risk, listed in _RISKS.items()
        if any(all(_has(word, name, parts) for word in each) for each in listed)
    )


def _has(word: str, name: str, parts: Collection[str]) -> bool:
    """Whether a name has a word: as one of its parts, or anywhere if it is Chinese."""
    return word in parts if word.isascii() else word in name
