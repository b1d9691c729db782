"""What a sentence means, and whether more words change it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from hassil.intents import IntentData
from hassil.recognize import RecognizeResult

from .templates import PLACES, Ends

__all__ = ["Kind", "Meaning"]


@dataclass(frozen=True, slots=True)
class Kind:
    """What all sentences of a template have in common."""

    command: str
    """The intent, what it is given whatever is said, and the answer."""
    slots: frozenset[str]
    """What it may be given by what is said."""

    @classmethod
    def of(cls, intent: str, block: IntentData, slots: Iterable[str]) -> Self:
        """Return what the sentences of a template mean."""
        return cls(repr((intent, block.slots, block.response)), frozenset(slots))


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a sentence means."""

    kind: Kind
    """The command, and what was said of it."""
    names_one_thing: bool
    """It is about the only thing of a name, so that it does not matter where it is said to be."""
    has_wildcard: bool
    """Some of its words could be any."""

    @classmethod
    def of(cls, result: RecognizeResult, names_one_thing: bool) -> Self:
        """Return what a recognised sentence means."""
        said = (entity.name for entity in result.entities_list if entity.text_span is not None)
        has_wildcard = any(entity.is_wildcard for entity in result.entities_list)
        return cls(Kind.of(result.intent.name, result.intent_data, said), names_one_thing, has_wildcard)

    def is_changed(self, kind: Kind, ends: int) -> bool:
        """Whether a longer sentence of a template, which goes on in these ways, means something else."""
        if ends & Ends.ANYTHING and not self.has_wildcard:
            # Otherwise no command would ever be complete, since "in five minutes" may follow all of them.
            return False
        if ends & Ends.VALUE:
            return True
        if not ends & (Ends.WORDS | Ends.PLACE):
            # A wildcard in the middle of a longer sentence would have to take in what was understood without.
            return False
        if kind.command != self.kind.command or (ends & Ends.PLACE and not self.names_one_thing):
            return True
        return not kind.slots - (PLACES if self.names_one_thing else frozenset()) <= self.kind.slots
