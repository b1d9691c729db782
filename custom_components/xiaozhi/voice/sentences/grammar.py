"""All sentences of a language, asked what may follow a text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
import time
from typing import Any, Final

from hassil.expression import Expression, Group, ListReference, RuleReference, Sentence
from hassil.intents import IntentData, Intents, RangeSlotList, SlotList
from hassil.util import check_excluded_context, check_required_context

from .meaning import Kind
from .templates import Ends, Node, Values, Walk, compile_template
from .values import TextValues, values_of
from .words import Squashed

__all__ = ["Grammar", "Lists", "OutOfTimeError", "Outlook", "values_of_lists"]

type Lists = Mapping[str, Values | TextValues]


class OutOfTimeError(Exception):
    """A walk through all sentences took too long."""


@dataclass(slots=True)
class Outlook:
    """What was found about a text."""

    is_sentence: bool = False
    ends_in_wildcard: bool = False
    """Any words may follow."""
    longer: list[tuple[Kind, int]] = field(default_factory=list)
    """Sentences that begin with it, and what of `Ends` they go on with."""

    @property
    def is_beginning(self) -> bool:
        """Whether a longer sentence begins with the text, and not just because it begins with anything."""
        return any(ends & ~Ends.ANYTHING for _, ends in self.longer)

    def add(self, other: Outlook) -> None:
        """Add what was found elsewhere."""
        self.is_sentence |= other.is_sentence
        self.ends_in_wildcard |= other.ends_in_wildcard
        self.longer += other.longer


# What "please" may be the beginning of.
_ANY_SENTENCE: Final = (Kind("", frozenset()), Ends.WORDS)


class _Scope:
    """Sentences that demand the same of names and of where they are said."""

    def __init__(self, key: str, block: IntentData, rules: Mapping[str, Node], lists: Lists) -> None:
        self.key: Final = key
        self.required: Final = block.requires_context
        self.excluded: Final = block.excludes_context
        self.rules: Final = rules
        self.lists: Final = lists
        self.templates: Final[list[tuple[Node, Kind]]] = []

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


class Grammar:
    """The compiled sentences of hassil's intents."""

    def __init__(self, intents: Intents, language: str) -> None:
        self._ranges: Final[dict[str, RangeSlotList]] = {}
        rules = self._compile_rules(intents.expansion_rules)
        scopes: dict[str, _Scope] = {}
        for intent in intents.intents.values():
            for block in intent.data:
                key = repr((block.requires_context, block.excludes_context))
                if block.expansion_rules or block.slot_lists:
                    key = f"{key} {len(scopes)}"
                if (scope := scopes.get(key)) is None:
                    scope = scopes[key] = _Scope(
                        key,
                        block,
                        {**rules, **self._compile_rules(block.expansion_rules)},
                        values_of_lists(block.slot_lists, language),
                    )
                all_rules = {**intents.expansion_rules, **block.expansion_rules}
                for sentence in block.sentences:
                    kind = Kind.of(intent.name, block, _slots(sentence.expression, all_rules))
                    scope.templates.append((compile_template(sentence.expression, self._ranges), kind))
        self._scopes: Final = [*scopes.values()]
        self._lists: Final = values_of_lists({**intents.slot_lists, **self._ranges}, language)

    def outlook(
        self,
        text: str,
        lists: Lists,
        context: Mapping[str, Any],
        deadline: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> Outlook:
        """Return how a text may go on, with the names of the home. Raises OutOfTimeError."""
        squashed = Squashed(text)
        if not squashed.text:
            return Outlook(longer=[_ANY_SENTENCE])
        outlook = Outlook()
        lists = {**self._lists, **lists}
        known_later: set[str] = set()
        for values in lists.values():
            if isinstance(values, TextValues):
                known_later |= values.context_keys
        for scope in self._scopes:
            if not scope.admits(context, known_later):
                continue
            walk = Walk(squashed, scope.fitting(lists), scope.rules)
            for template, kind in scope.templates:
                if clock() > deadline:
                    raise OutOfTimeError
                walk.ends = 0
                after = template.walk(walk, 1)
                if after >= walk.end:
                    outlook.is_sentence = True
                    outlook.ends_in_wildcard |= bool(after & walk.open)
                if walk.ends:
                    outlook.longer.append((kind, walk.ends))
        return outlook

    def _compile_rules(self, rules: Mapping[str, Sentence]) -> dict[str, Node]:
        return {name: compile_template(rule.expression, self._ranges) for name, rule in rules.items()}


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


def _slots(part: Expression, rules: Mapping[str, Sentence], within: frozenset[str] = frozenset()) -> set[str]:
    """Return what a template may be given; `within` are the rules that refer to the part."""
    match part:
        case ListReference():
            return {part.slot_name}
        case Group():
            return set().union(*(_slots(item, rules, within) for item in part.items))
        case RuleReference() if part.rule_name in rules and part.rule_name not in within:
            return _slots(rules[part.rule_name].expression, rules, within | {part.rule_name})
    return set()
