"""Delivery and end of an utterance."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from homeassistant.exceptions import HomeAssistantError

from ..errors import UserError
from .delivery import Delivery
from .utterance import Rank


class End(StrEnum):
    """The end of an utterance."""

    DONE = "done"
    """It was said to its end."""
    WOKEN = "woken"
    """Somebody woke the device, or pressed its button."""
    STOPPED = "stopped"
    """Somebody stopped it at a media player."""
    REPLACED = "replaced"
    """Something more important took its place."""
    QUIET = "quiet"
    """*Do not disturb* was switched on."""
    FAULT = "fault"


BY_PERSON: Final = frozenset({End.WOKEN, End.STOPPED})


class EndedByPersonError(UserError):
    """An utterance that somebody has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """How an utterance was heard, and its end."""

    how: Delivery
    """How it began to be heard; `NONE` if it did not."""
    end: End
    error: HomeAssistantError | None = None
    """The words for the user; None if it was said to its end."""
    replaced_by: Rank | None = None

    @property
    def by_person(self) -> bool:
        """Whether somebody has ended it."""
        return self.end in BY_PERSON

    def check(self) -> None:
        """Raise `error` if it was not said to its end."""
        if self.error is not None:
            raise self.error
