"""What a sentence means, and whether more words change it."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, Self

from hassil.intents import IntentData
from hassil.recognize import RecognizeResult
from homeassistant.helpers.intent import (
    INTENT_CANCEL_TIMER,
    INTENT_DECREASE_TIMER,
    INTENT_INCREASE_TIMER,
    INTENT_PAUSE_TIMER,
    INTENT_SET_POSITION,
    INTENT_START_TIMER,
    INTENT_TIMER_STATUS,
    INTENT_UNPAUSE_TIMER,
)

from .templates import DEVICE_CLASS, PLACES, Ends

__all__ = ["Change", "Kind", "Meaning", "Thing"]

# Intents that need to find one of the timers, and the slots that say which one.
_CHOOSE_TIMER: Final = frozenset(
    {
        INTENT_CANCEL_TIMER,
        INTENT_DECREASE_TIMER,
        INTENT_INCREASE_TIMER,
        INTENT_PAUSE_TIMER,
        INTENT_TIMER_STATUS,
        INTENT_UNPAUSE_TIMER,
    }
)
_WHICH_TIMER: Final = PLACES | {"name", "start_hours", "start_minutes", "start_seconds"}
_WHICH_THINGS: Final = PLACES | {DEVICE_CLASS}
# Intents to which seldom more is said than what they need: the seconds of a new timer, and its name.
_SELDOM_LONGER: Final = frozenset({INTENT_START_TIMER})


class Change(Enum):
    """What more words make of a command."""

    NONE = auto()
    DETAIL = auto()
    """The same command in more detail, which is seldom said."""
    CLASS = auto()
    """The same command for all things of a class, of which the thing that was named may be the only one."""
    OTHER = auto()


@dataclass(frozen=True, slots=True)
class Kind:
    """What all sentences of a template have in common."""

    intent: str
    command: str
    """The intent, what it is given whatever is said, and the answer."""
    domain: object
    """The domain of what it is about, whatever is said; None if that is said."""
    slots: frozenset[str]
    """What it may be given by what is said."""

    @classmethod
    def of(cls, intent: str, block: IntentData, slots: Iterable[str]) -> Self:
        """Return what the sentences of a template mean."""
        command = repr((intent, block.slots, block.response))
        return cls(intent, command, block.slots.get("domain"), frozenset(slots))


@dataclass(frozen=True, slots=True)
class Thing:
    """The only thing of a name."""

    domain: object
    takes_position: bool
    """It can be moved to a position, and not just be opened and closed."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a sentence means."""

    kind: Kind
    """The command, and what was said of it."""
    thing: Thing | None
    """What it is about, if nothing else has the name; then it does not matter where it is said to be."""
    has_wildcard: bool
    """Some of its words could be any."""
    chooses_timer: bool
    """There are several timers to choose from."""

    @classmethod
    def of(cls, result: RecognizeResult, thing: Thing | None, *, chooses_timer: bool) -> Self:
        """Return what a recognised sentence means."""
        said = (entity.name for entity in result.entities_list if entity.text_span is not None)
        has_wildcard = any(entity.is_wildcard for entity in result.entities_list)
        return cls(Kind.of(result.intent.name, result.intent_data, said), thing, has_wildcard, chooses_timer)

    def change(self, kind: Kind, ends: int) -> Change:
        """Return what a longer sentence of a template, which goes on in these ways, makes of the command."""
        if not self._goes_on(ends):
            return Change.NONE
        if ends & Ends.VALUE:
            return Change.OTHER
        more = kind.slots - self.kind.slots
        if kind.command != self.kind.command:
            return self._change_to(kind, ends, more)
        if kind.intent in _CHOOSE_TIMER and not self.chooses_timer and more <= _WHICH_TIMER:
            return Change.NONE
        if self.thing is not None:
            more, ends = more - PLACES, ends & ~Ends.PLACE
        # A class may be called as a room is: in "garage doors", followed by "in the hall", there is none.
        takes_class_for_room = self.thing is None and DEVICE_CLASS in kind.slots and kind.slots & PLACES
        if not (more or ends & (Ends.PLACE | Ends.LIST) or takes_class_for_room):
            return Change.NONE
        return Change.DETAIL if kind.intent in _SELDOM_LONGER else Change.OTHER

    def _goes_on(self, ends: int) -> bool:
        if ends & Ends.ANYTHING and not self.has_wildcard:
            # Otherwise no command would ever be complete, since "in five minutes" may follow all of them.
            return False
        # A wildcard in the middle of a longer sentence would have to take in what was understood without.
        return bool(ends & ~(Ends.ANYTHING | Ends.WILDCARD))

    def _change_to(self, kind: Kind, ends: int, more: frozenset[str]) -> Change:
        """Return whether another command does more than the one that was understood."""
        thing = self.thing
        if thing is None:
            return Change.OTHER
        refused = kind.intent == INTENT_SET_POSITION != self.kind.intent and not thing.takes_position
        if refused and kind.domain is None and "name" in kind.slots and more <= PLACES | {"position"}:
            return Change.NONE
        if kind.domain != thing.domain or "name" in kind.slots:
            return Change.OTHER
        same = kind.intent == self.kind.intent and more <= _WHICH_THINGS and not ends & Ends.LIST
        return Change.CLASS if same or (refused and more <= _WHICH_THINGS | {"position"}) else Change.OTHER
