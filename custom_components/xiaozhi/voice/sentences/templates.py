"""Sentence templates, walked with a text that may end in their middle.

hassil knows whether a text is a sentence, but not whether one begins with it. Here its parsed templates are
walked as far as a text goes. The walk is more lenient than hassil: it ignores spaces, and checks what a
sentence demands of a name (such as being a light) only with the name itself. So it may find a sentence where
hassil finds none, which costs a turn some time, but it rarely misses one.

A walk keeps the positions in the text that it may have come to as the bits of a number: one for each
character, and for the end of the text three: touching the last word, after a space, and in a wildcard.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Protocol, override

from hassil.expression import (
    Alternative,
    Expression,
    Group,
    ListReference,
    Permutation,
    RuleReference,
    Sentence,
    TextChunk,
)
from hassil.intents import RangeSlotList

from .words import Squashed

__all__ = ["DEVICE_CLASS", "PLACES", "WILDCARD", "Compiler", "Ends", "Node", "Values", "Walk"]

# Slots that say where something is.
PLACES: Final = frozenset({"area", "floor"})
# The slot that says of what class things are, such as garage doors.
DEVICE_CLASS: Final = "device_class"
# Templates refer to rules, and rules to others, never so deep; more may be a circle.
_DEEPEST: Final = 32


class Ends:
    """What a template goes on with where a text ends: bits, since `Flag` takes half of the time of a walk."""

    WORDS: Final = 1
    """Words of the template."""
    VALUE: Final = 2
    """The rest of a value: the bedroom - lamp, twenty - five."""
    PLACE: Final = 4
    """An area or a floor."""
    WILDCARD: Final = 8
    """More of a wildcard that other words led to."""
    ANYTHING: Final = 16
    """A template that begins with a wildcard, which may take in whatever was said."""
    LIST: Final = 32
    """Another value, of a list that is no place."""


class Values(Protocol):
    """What may stand for a list in a template."""

    @property
    def can_start(self) -> bool:
        """Whether there is any value."""

    def walk(self, walk: Walk, states: int) -> int:
        """Return where a walk may be after a value."""


class Walk:
    """One text on its way through templates."""

    def __init__(self, text: Squashed, values: Mapping[str, Values], rules: Mapping[str, Node]) -> None:
        self.text: Final = text
        self.values: Final = values
        """The lists that templates refer to; others are wildcards."""
        self.rules: Final = rules
        n = len(text.text)
        self.end: Final = 1 << n
        self.spaced: Final = 1 << (n + 1)
        self.open: Final = 1 << (n + 2)
        self.ready: Final = self.spaced | (self.end if text.spaceless else 0)
        """States in which the text is used up, and the next word may begin."""
        self.ends = 0
        """Where templates went on after the end of the text, since this was last cleared."""
        self._known: Final[dict[tuple[int, int], tuple[int, int]]] = {}
        self._depth = 0

    def once(self, part: Node | Values, states: int) -> int:
        """Return where a walk may be after a part that many templates share."""
        key = (id(part), states)
        if (known := self._known.get(key)) is None:
            if self._depth > _DEEPEST:
                return 0
            outer, self.ends = self.ends, 0
            self._depth += 1
            after = part.walk(self, states)
            self._depth -= 1
            known = self._known[key] = after, self.ends
            self.ends = outer
        self.ends |= known[1]
        return known[0]

    def positions(self, states: int) -> Iterator[int]:
        """Yield the positions of states within the text."""
        states &= self.end - 1
        while states:
            lowest = states & -states
            yield lowest.bit_length() - 1
            states ^= lowest


class Node:
    """A part of a template."""

    def walk(self, walk: Walk, states: int) -> int:
        """Return where a walk may be after this part."""
        raise NotImplementedError


class _Text(Node):
    def __init__(self, text: str) -> None:
        self._squashed: Final = Squashed(text)
        self._leads: Final = text[:1].isspace()
        self._trails: Final = text[-1:].isspace()

    @override
    def walk(self, walk: Walk, states: int) -> int:
        text, chunk = walk.text.text, self._squashed.text
        if self._leads and states & walk.end:
            states ^= walk.end | walk.spaced
        if not chunk:
            return states
        if states & walk.ready:
            walk.ends |= Ends.WORDS
        after = 0
        for position in walk.positions(states):
            if text.startswith(chunk, position):
                after |= 1 << (position + len(chunk))
            elif chunk.startswith(text[position:]):
                left = len(text) - position
                if left in self._squashed.breaks or walk.text.spaceless:
                    walk.ends |= Ends.WORDS
        if self._trails and after & walk.end:
            after ^= walk.end | walk.spaced
        return after


class _Sequence(Node):
    def __init__(self, items: list[Node]) -> None:
        self._items: Final = items

    @override
    def walk(self, walk: Walk, states: int) -> int:
        for item in self._items:
            if not (states := item.walk(walk, states)):
                break
        return states


class _Alternative(Node):
    def __init__(self, items: list[Node]) -> None:
        self._items: Final = items

    @override
    def walk(self, walk: Walk, states: int) -> int:
        after = 0
        for item in self._items:
            after |= item.walk(walk, states)
        return after


class _Permutation(Node):
    def __init__(self, items: list[Node]) -> None:
        self._items: Final = items

    @override
    def walk(self, walk: Walk, states: int) -> int:
        every = (1 << len(self._items)) - 1
        after = {0: states}
        for done in range(1, every + 1):
            after[done] = 0
            for i, item in enumerate(self._items):
                if done >> i & 1 and (before := after[done ^ (1 << i)]):
                    after[done] |= item.walk(walk, before)
        return after[every]


class _Rule(Node):
    def __init__(self, name: str) -> None:
        self._name: Final = name

    @override
    def walk(self, walk: Walk, states: int) -> int:
        rule = walk.rules.get(self._name)
        return walk.once(rule, states) if rule is not None else 0


class _List(Node):
    def __init__(self, name: str, slot: str) -> None:
        self._name: Final = name
        self._start: Final = Ends.PLACE if slot in PLACES else Ends.LIST

    @override
    def walk(self, walk: Walk, states: int) -> int:
        values = walk.values.get(self._name, WILDCARD)
        if states & walk.ready and values.can_start:
            walk.ends |= self._start
        states &= walk.end - 1
        return walk.once(values, states) if states else 0


class Wildcard:
    """A list in whose place any words may stand."""

    can_start = True

    def walk(self, walk: Walk, states: int) -> int:
        """Return the ends of all words that follow."""
        first = (states & -states).bit_length() - 1
        after = 0
        for end in walk.text.breaks:
            if end > first:
                after |= 1 << end
        if not after:
            return 0
        walk.ends |= Ends.WILDCARD if first else Ends.ANYTHING
        return after & ~walk.end | walk.open


WILDCARD: Final = Wildcard()


class Compiler:
    """Makes templates into the form that can be walked."""

    def __init__(self) -> None:
        """Begin with no template."""
        self.ranges: Final[dict[str, RangeSlotList]] = {}
        """The ranges of numbers that were written in templates, by the name of their list."""
        # The templates of a language are made of few words.
        self._texts: Final[dict[str, _Text]] = {}

    def nodes(self, rules: Mapping[str, Sentence]) -> dict[str, Node]:
        """Return rules, by their name. Raises ValueError as `node`."""
        return {name: self.node(rule.expression) for name, rule in rules.items()}

    def node(self, expression: Expression) -> Node:
        """Return a parsed template. Raises ValueError if it has unknown parts."""
        match expression:
            case TextChunk():
                text = expression.text
                if (node := self._texts.get(text)) is None:
                    node = self._texts[text] = _Text(text)
                return node
            case Group():
                items = [self.node(item) for item in expression.items]
                match expression:
                    case Alternative():
                        return _Alternative(items)
                    case Permutation():
                        return _Permutation(items)
                return _Sequence(items)
            case RuleReference():
                return _Rule(expression.rule_name)
            case ListReference():
                name = expression.list_name
                if inline := expression.get_inline_range():
                    self.ranges[name] = RangeSlotList(name, *inline)
                return _List(name, expression.slot_name)
        raise ValueError(f"A template has an unknown part, {type(expression).__name__}")
