"""All sentences of a language, asked what may follow a text."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
import time
from typing import Any, Final

from hassil.expression import Alternative, Expression, Group, ListReference, RuleReference, Sentence
from hassil.intents import Intent, IntentData, Intents, RangeSlotList, SlotList, TextSlotList
from hassil.util import check_excluded_context, check_required_context

from .meaning import Kind
from .templates import DEVICE_CLASS, Compiler, Ends, Node, Values, Walk
from .values import TextValues, values_of
from .words import Squashed

__all__ = ["Grammar", "Lists", "NamedGrammar", "OutOfTimeError", "Outlook", "values_of_lists"]

type Lists = Mapping[str, Values | TextValues]


class OutOfTimeError(Exception):
    """A walk through all sentences took too long."""


@dataclass(slots=True)
class Outlook:
    """What was found about a text."""

    blocks: set[int] = field(default_factory=set)
    """Of the sentences that it is, by their number."""
    ends_in_wildcard: bool = False
    """Any words may follow."""
    longer: list[tuple[Kind, int]] = field(default_factory=list)
    """Sentences that begin with it, and what of `Ends` they go on with."""

    @property
    def is_sentence(self) -> bool:
        """Whether it is a sentence."""
        return bool(self.blocks)

    @property
    def is_beginning(self) -> bool:
        """Whether a longer sentence begins with the text, and not just because it begins with anything."""
        return any(ends & ~Ends.ANYTHING for _, ends in self.longer)

    def add(self, other: Outlook) -> None:
        """Add what was found elsewhere."""
        self.blocks |= other.blocks
        self.ends_in_wildcard |= other.ends_in_wildcard
        self.longer += other.longer


# What "please" may be the beginning of.
_ANY_SENTENCE: Final = (Kind("", "", None, frozenset()), Ends.WORDS)


@dataclass(frozen=True, slots=True)
class _Template:
    node: Node
    kind: Kind
    block: int
    lists: frozenset[str]
    """What no sentence of it goes without."""


class _Scope:
    """Sentences that demand the same of names and of where they are said."""

    def __init__(self, key: str, block: IntentData, rules: Mapping[str, Node], lists: Lists) -> None:
        self.key: Final = key
        self.required: Final = block.requires_context
        self.excluded: Final = block.excludes_context
        self.rules: Final = rules
        self.lists: Final = lists
        self.templates: Final[list[_Template]] = []

    def admits(self, context: Mapping[str, Any], later: set[str]) -> bool:
        """Whether the sentences can be said here; `later` is what names may add to the context."""
        if any(key not in context and key not in later for key in self.required):
            return False
        return check_required_context(
            self.required, dict(context), allow_missing_keys=True
        ) and check_excluded_context(self.excluded, dict(context))

    def fitting(self, lists: Lists) -> dict[str, Values]:
        """Return the values that these sentences take."""
        return {
            name: values.fitting(self.key, self.required, self.excluded)
            if isinstance(values, TextValues)
            else values
            for name, values in {**lists, **self.lists}.items()
        }


class NamedGrammar:
    """Sentences with the names of a home, but not those that need a name where it has none."""

    def __init__(self, lists: Lists, scopes: Iterable[_Scope]) -> None:
        self._known_later: Final = set[str]().union(
            *(values.context_keys for values in lists.values() if isinstance(values, TextValues))
        )
        self._scopes: Final[list[tuple[_Scope, dict[str, Values], list[_Template]]]] = []
        for scope in scopes:
            fitting = scope.fitting(lists)
            absent = {name for name, values in fitting.items() if not values.can_start}
            can_be_said = [template for template in scope.templates if not template.lists & absent]
            self._scopes.append((scope, fitting, can_be_said))

    def outlook(
        self,
        text: str,
        context: Mapping[str, Any],
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> Outlook:
        """Return how a text may go on. Raises OutOfTimeError."""
        squashed = Squashed(text)
        if not squashed.text:
            return Outlook(longer=[_ANY_SENTENCE])
        outlook = Outlook()
        for scope, fitting, templates in self._scopes:
            if not templates or not scope.admits(context, self._known_later):
                continue
            walk = Walk(squashed, fitting, scope.rules)
            for template in templates:
                if clock() > deadline:
                    raise OutOfTimeError
                walk.ends = 0
                after = template.node.walk(walk, 1)
                if after >= walk.end:
                    outlook.blocks.add(template.block)
                    outlook.ends_in_wildcard |= bool(after & walk.open)
                if walk.ends:
                    outlook.longer.append((template.kind, walk.ends))
        return outlook


class Grammar:
    """The compiled sentences of hassil's intents."""

    def __init__(self, intents: Intents, language: str) -> None:
        self._intents: Final = intents
        self._blocks: Final = [
            (intent.name, block) for intent in intents.intents.values() for block in intent.data
        ]
        compiler = Compiler()
        class_lists: set[str] = set()
        rules = compiler.nodes(intents.expansion_rules)
        references = _ReferenceFinder(intents.expansion_rules)
        scopes: dict[str, _Scope] = {}
        for number, (intent, block) in enumerate(self._blocks):
            key = repr((block.requires_context, block.excludes_context))
            if block.expansion_rules or block.slot_lists:
                key = f"{key} {len(scopes)}"
            if (scope := scopes.get(key)) is None:
                scope = scopes[key] = _Scope(
                    key,
                    block,
                    {**rules, **compiler.nodes(block.expansion_rules)},
                    values_of_lists(block.slot_lists, language),
                )
            finder = references
            if block.expansion_rules:
                finder = _ReferenceFinder({**intents.expansion_rules, **block.expansion_rules})
            for sentence in block.sentences:
                found = finder.of(sentence.expression)
                kind = Kind.of(intent, block, (slot for _, slot in found.slots))
                node = compiler.node(sentence.expression)
                class_lists |= {name for name, slot in found.slots if slot == DEVICE_CLASS}
                scope.templates.append(_Template(node, kind, number, found.needed))
        self._scopes: Final = [*scopes.values()]
        self._classes: Final = {
            name: values
            for name, values in intents.slot_lists.items()
            if name in class_lists and isinstance(values, TextSlotList)
        }
        self._lists: Final = values_of_lists({**intents.slot_lists, **compiler.ranges}, language)
        self._named: tuple[Lists, NamedGrammar] | None = None

    def named(self, lists: Lists, classes: Collection[str] | None = None) -> NamedGrammar:
        """Return the sentences with the names of a home; with `classes`, only for things of these classes."""
        if classes is not None:
            few = {
                name: TextValues(
                    replace(values, values=[v for v in values.values if str(v.value_out) in classes])
                )
                for name, values in self._classes.items()
            }
            return NamedGrammar({**self._lists, **lists, **few}, self._scopes)
        if self._named is None or self._named[0] is not lists:
            self._named = lists, NamedGrammar({**self._lists, **lists}, self._scopes)
        return self._named[1]

    def intents_of(self, outlook: Outlook) -> Intents:
        """Return all that a sentence can be, of which the recogniser takes one."""
        chosen: dict[str, Intent] = {}
        for number in sorted(outlook.blocks):
            name, block = self._blocks[number]
            chosen.setdefault(name, Intent(name)).data.append(block)
        return replace(self._intents, intents=chosen)


def values_of_lists(slot_lists: Mapping[str, SlotList], language: str) -> dict[str, Values | TextValues]:
    """Return what may stand for hassil's lists, of which many are the same range of numbers."""
    ranges: dict[str, Values | TextValues] = {}
    values = {}
    for name, slot_list in slot_lists.items():
        if isinstance(slot_list, RangeSlotList):
            kind = repr(replace(slot_list, name=None, multiplier=None))
            if kind not in ranges:
                ranges[kind] = values_of(slot_list, language)
            values[name] = ranges[kind]
        else:
            values[name] = values_of(slot_list, language)
    return values


@dataclass(frozen=True, slots=True)
class _References:
    """The lists of a part of a template."""

    slots: frozenset[tuple[str, str]] = frozenset()
    """Each list, and the slot that it fills."""
    needed: frozenset[str] = frozenset()
    """The lists that are in every sentence of the part."""


_NO_REFERENCES: Final = _References()


class _ReferenceFinder:
    """Finds the lists of templates, and those of each rule that they refer to only once."""

    def __init__(self, rules: Mapping[str, Sentence]) -> None:
        self._rules: Final = rules
        self._known: Final[dict[str, _References]] = {}

    def of(self, part: Expression) -> _References:
        match part:
            case ListReference():
                slots = frozenset({(part.list_name, part.slot_name)})
                return _References(slots, frozenset({part.list_name}))
            case Group():
                return self._of_group(part)
            case RuleReference():
                return self._of_rule(part.rule_name)
        return _NO_REFERENCES

    def _of_group(self, group: Group) -> _References:
        items = [self.of(item) for item in group.items]
        needed = [item.needed for item in items]
        combine = frozenset[str].intersection if isinstance(group, Alternative) else frozenset[str]().union
        return _References(
            frozenset[tuple[str, str]]().union(*(item.slots for item in items)),
            combine(*needed) if needed else frozenset(),
        )

    def _of_rule(self, name: str) -> _References:
        if name not in self._rules:
            return _NO_REFERENCES
        if name not in self._known:
            # A rule that refers to itself adds nothing there.
            self._known[name] = _NO_REFERENCES
            self._known[name] = self.of(self._rules[name].expression)
        return self._known[name]
