"""What may stand in place of a list in a sentence template: names, numbers, and other words."""

from collections.abc import Mapping
import re
from typing import Any, Final

from hassil.expression import TextChunk
from hassil.intents import RangeSlotList, SlotList, TextSlotList
from hassil.numbers import get_rbnf_engine
from hassil.util import check_excluded_context, check_required_context

from .templates import WILDCARD, Compiler, Ends, Node, Values, Walk
from .words import Squashed

__all__ = ["Context", "NumberValues", "TextValues", "values_of"]

# More numbers than that, such as all colour temperatures, are told by their digits only.
_MOST_WORDS: Final = 1000
_INTEGER: Final = re.compile(r"[0-9]+")
_FLOAT: Final = re.compile(r"[0-9]+(?:[.,][0-9]+)?")

type Context = Mapping[str, Any]


def values_of(slot_list: SlotList, language: str) -> Values | TextValues:
    """Return what may stand for one of hassil's lists."""
    if isinstance(slot_list, TextSlotList):
        return TextValues(slot_list)
    if isinstance(slot_list, RangeSlotList):
        return NumberValues(slot_list, language)
    return WILDCARD


class _Phrases:
    """Texts and their beginnings, each with bits that say where it may be used."""

    def __init__(self) -> None:
        self._whole: dict[str, int] = {}
        self._openings: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._longest = 0

    def add(self, text: str, bits: int = 1) -> None:
        """Add a text."""
        phrase = Squashed(text)
        if not phrase.text:
            return
        self._longest = max(self._longest, len(phrase.text))
        self._whole[phrase.text] = self._whole.get(phrase.text, 0) | bits
        self._counts[phrase.text] = self._counts.get(phrase.text, 0) + 1
        for end in phrase.breaks:
            if 0 < end < len(phrase.text):
                opening = phrase.text[:end]
                self._openings[opening] = self._openings.get(opening, 0) | bits

    def only(self, text: str) -> int | None:
        """Return the bits of a text that was added once."""
        phrase = Squashed(text).text
        return self._whole[phrase] if self._counts.get(phrase) == 1 else None

    def is_opening(self, text: str, bits: int = 1) -> bool:
        """Whether one of the texts goes on after this one."""
        return bool(self._openings.get(text, 0) & bits)

    def walk(self, walk: Walk, states: int, bits: int = 1) -> int:
        """Return where a walk may be after one of the texts."""
        text = walk.text.text
        after = 0
        for position in walk.positions(states):
            last = min(len(text), position + self._longest)
            for end in range(position + 1, last + 1):
                if self._whole.get(text[position:end], 0) & bits:
                    after |= 1 << end
            if last == len(text) and self.is_opening(text[position:], bits):
                walk.ends |= Ends.VALUE
        return after


class TextValues:
    """Names or other words, which may stand only in sentences that fit what is named, such as lights."""

    def __init__(self, slot_list: TextSlotList) -> None:
        self._phrases: Final = _Phrases()
        self._templates: Final[list[tuple[Node, int]]] = []
        self._contexts: Final[list[Context]] = []
        self._counts: Final[list[int]] = []
        compiler = Compiler()
        bits: dict[str, int] = {}
        for value in slot_list.values:
            context = value.context or {}
            if (kind := repr(context)) not in bits:
                bits[kind] = 1 << len(bits)
                self._contexts.append(context)
                self._counts.append(0)
            self._counts[bits[kind].bit_length() - 1] += 1
            if isinstance(value.text_in, TextChunk):
                self._phrases.add(value.text_in.text, bits[kind])
            else:
                self._templates.append((compiler.node(value.text_in), bits[kind]))
        self._fitting: Final[dict[str, Values]] = {}

    def only(self, name: str) -> Context | None:
        """Return what is known of the thing of a name, such as its domain; None if more than one have it."""
        bits = self._phrases.only(name)
        return None if bits is None else self._contexts[bits.bit_length() - 1]

    def others(self, thing: Context) -> list[Context]:
        """Return what is known of all but one thing; things with several names count as several."""
        return [
            context
            for context, count in zip(self._contexts, self._counts, strict=True)
            if context is not thing or count > 1
        ]

    @property
    def context_keys(self) -> set[str]:
        """What is known of a thing when it was named, such as its domain."""
        return set().union(*self._contexts)

    def fitting(self, scope: str, required: Context, excluded: Context) -> Values:
        """Return the values that sentences with these requirements take."""
        if (fitting := self._fitting.get(scope)) is None:
            bits = 0
            for i, context in enumerate(self._contexts):
                if check_required_context(
                    dict(required), dict(context), allow_missing_keys=True
                ) and check_excluded_context(dict(excluded), dict(context)):
                    bits |= 1 << i
            fitting = self._fitting[scope] = _Fitting(self._phrases, self._templates, bits)
        return fitting


class _Fitting:
    def __init__(self, phrases: _Phrases, templates: list[tuple[Node, int]], bits: int) -> None:
        self._phrases: Final = phrases
        self._templates: Final = [template for template, its in templates if its & bits]
        self._bits: Final = bits

    @property
    def can_start(self) -> bool:
        """Whether there is any value."""
        return bool(self._bits)

    def walk(self, walk: Walk, states: int) -> int:
        """Return where a walk may be after one of the values."""
        if not self._bits:
            return 0
        after = self._phrases.walk(walk, states, self._bits)
        for template in self._templates:
            after |= template.walk(walk, states)
        return after


class NumberValues:
    """A range of numbers, in digits or in words."""

    can_start = True

    def __init__(self, slot_list: RangeSlotList, language: str) -> None:
        self._list: Final = slot_list
        self._pattern: Final = _INTEGER if slot_list.fraction_type is None else _FLOAT
        self._numbers: Final = frozenset(slot_list.get_numbers())
        self._words: Final[dict[float, set[str]]] = {}
        self._phrases: Final = _Phrases()
        if len(self._numbers) > _MOST_WORDS:
            return
        try:
            engine = get_rbnf_engine(slot_list.words_language or language)
        except ValueError:
            # Nobody has taught hassil the numbers of this language.
            return
        for number in self._numbers:
            for words in {*engine.format_number(number).text_by_ruleset.values()}:
                self._words.setdefault(number, set()).add(Squashed(words).text)
                if slot_list.words:
                    self._phrases.add(words)

    def walk(self, walk: Walk, states: int) -> int:
        """Return where a walk may be after a number."""
        after = self._phrases.walk(walk, states)
        text = walk.text.text
        for position in walk.positions(states):
            if (digits := self._pattern.match(text, position)) is None:
                continue
            number = float(digits[0].replace(",", "."))
            if number not in self._numbers:
                continue
            after |= 1 << digits.end()
            if digits.end() == len(text) and self._goes_on(number):
                walk.ends |= Ends.VALUE
        return after

    def _goes_on(self, number: float) -> bool:
        """Whether somebody who has said the number may be about to say another: twenty - five."""
        if not self._words:
            return True
        return any(self._phrases.is_opening(words) for words in self._words.get(number, ()))
