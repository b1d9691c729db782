"""All sentences of a language, asked what may follow a text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import time
from typing import Any, Final

from hassil.expression import Sentence
from hassil.intents import IntentData, Intents, RangeSlotList, SlotList
from hassil.util import check_excluded_context, check_required_context

from .templates import Node, Values, Walk, compile_template
from .values import TextValues, values_of
from .words import Squashed

__all__ = ["Grammar", "OutOfTimeError", "Outlook"]

type Lists = Mapping[str, Values | TextValues]


class OutOfTimeError(Exception):
    """A walk through all sentences took too long."""


@dataclass
class Outlook:
    """How a text may go on."""

    whole: bool = False
    """It is a sentence, and ends with none of its wildcards."""
    ends_in_wildcard: bool = False
    """It is a sentence that ends with a wildcard, so any words may follow."""
    goes_on: bool = False
    """A longer sentence begins with it: the last word matched, and words that are known may follow."""
    in_wildcard: bool = False
    """A longer sentence may begin with it: the last word may be part of a wildcard in its middle."""

    def add(self, other: Outlook) -> None:
        """Add what is true of other sentences."""
        self.whole |= other.whole
        self.ends_in_wildcard |= other.ends_in_wildcard
        self.goes_on |= other.goes_on
        self.in_wildcard |= other.in_wildcard


class _Scope:
    """Sentences that demand the same of names and of where they are said."""

    def __init__(self, key: str, block: IntentData) -> None:
        self.key: Final = key
        self.required: Final = block.requires_context
        self.excluded: Final = block.excludes_context
        self.rules: Mapping[str, Node] = {}
        self.lists: Lists = {}
        self.templates: Final[list[Node]] = []

    def admits(self, context: Mapping[str, Any], later: set[str]) -> bool:
        """Whether the sentences can be said here; `later` is what names may add to the context."""
        if any(key not in context and key not in later for key in self.required):
            return False
        return check_required_context(
            self.required, dict(context), allow_missing_keys=True
        ) and check_excluded_context(self.excluded, dict(context))


class Grammar:
    """The compiled sentences of hassil's intents."""

    def __init__(self, intents: Intents, language: str) -> None:
        self._language: Final = language
        self._ranges: Final[dict[str, RangeSlotList]] = {}
        self._rules: Final = self._compile_rules(intents.expansion_rules)
        self._lists: Final = {**home_lists(intents.slot_lists, language)}
        scopes: dict[str, _Scope] = {}
        for intent in intents.intents.values():
            for block in intent.data:
                key = repr((block.requires_context, block.excludes_context))
                if block.expansion_rules or block.slot_lists:
                    key = f"{key} {len(scopes)}"
                if (scope := scopes.get(key)) is None:
                    scope = scopes[key] = _Scope(key, block)
                    scope.rules = self._rules | self._compile_rules(block.expansion_rules)
                    scope.lists = home_lists(block.slot_lists, language)
                scope.templates.extend(
                    compile_template(sentence.expression, self._ranges) for sentence in block.sentences
                )
        self._scopes: Final = [*scopes.values()]
        self._lists.update(home_lists(self._ranges, language))

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
        outlook = Outlook()
        lists = {**self._lists, **lists}
        named = [values.context_keys for values in lists.values() if isinstance(values, TextValues)]
        known_later: set[str] = set().union(*named)
        for scope in self._scopes:
            if not scope.admits(context, known_later):
                continue
            walk = Walk(squashed, {**_fitting(lists, scope), **_fitting(scope.lists, scope)}, scope.rules)
            for template in scope.templates:
                if clock() > deadline:
                    raise OutOfTimeError
                after = template.walk(walk, 1)
                outlook.whole |= bool(after & (walk.end | walk.spaced))
                outlook.ends_in_wildcard |= bool(after & walk.open)
            outlook.goes_on |= walk.needed
            outlook.in_wildcard |= walk.in_wildcard
        return outlook

    def _compile_rules(self, rules: Mapping[str, Sentence]) -> dict[str, Node]:
        return {name: compile_template(rule.expression, self._ranges) for name, rule in rules.items()}


def home_lists(slot_lists: Mapping[str, SlotList], language: str) -> dict[str, Values | TextValues]:
    """Return what may stand for hassil's lists."""
    return {name: values_of(slot_list, language) for name, slot_list in slot_lists.items()}


def _fitting(lists: Lists, scope: _Scope) -> dict[str, Values]:
    return {
        name: values.fitting(scope.key, scope.required, scope.excluded)
        if isinstance(values, TextValues)
        else values
        for name, values in lists.items()
    }
