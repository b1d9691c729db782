"""Times of a device's turns, step by step, from the end of speech to the end of the answer."""

from collections.abc import Mapping
from enum import IntEnum, auto
from itertools import pairwise
from math import inf
from typing import Final


class TurnStep(IntEnum):
    """Steps of a turn, in this order. Most turns leave out a step."""

    SPEECH_ENDED = auto()
    """The end of the user's last word, as found by a detector of our own."""
    DETECTED = auto()
    """The end of speech is known: the detector has reported it, or the button was released."""
    TRANSCRIPT = auto()
    """Speech recognition has given its text, or the question was typed."""
    FIRST_WORD = auto()
    """The assistant has given the first word of its answer."""
    FIRST_SOUND = auto()
    """The speech engine has given the first sound."""
    FIRST_PACKET = auto()
    """The first packet of the answer is sent to the device."""
    ALL_SENT = auto()
    """The last packet of the answer is sent to the device."""


# Each part of a turn ends with a step, and begins with the one before it that the turn has passed.
_PARTS: Final[Mapping[TurnStep, str]] = {
    TurnStep.DETECTED: "end_of_speech",
    TurnStep.TRANSCRIPT: "recognition",
    TurnStep.FIRST_WORD: "assistant",
    TurnStep.FIRST_SOUND: "speech",
    TurnStep.FIRST_PACKET: "device",
    TurnStep.ALL_SENT: "speaking",
}


class TurnTimes:
    """When one turn passed its steps, in seconds of one monotonic clock."""

    def __init__(self) -> None:
        self.ended_by: str | None = None
        """How the end of speech was found; None if that is not known."""
        self._times: dict[TurnStep, float] = {}

    def passed(self, step: TurnStep, now: float) -> None:
        """Note when a step was passed; only the first time counts."""
        self._times.setdefault(step, now)

    def has_passed(self, step: TurnStep) -> bool:
        """Whether a step was passed."""
        return step in self._times

    def since(self, step: TurnStep, now: float) -> float:
        """Return the seconds since a step was passed; endless if it was not."""
        return now - self._times.get(step, -inf)

    @property
    def response(self) -> float | None:
        """Seconds from the end of speech to the first packet of the answer; None if it was not spoken."""
        if (answered := self._times.get(TurnStep.FIRST_PACKET)) is None:
            return None
        return answered - min(self._times.values())

    def as_dict(self) -> dict[str, float | str]:
        """Return the response time in seconds, if there is one, and what `parts` returns."""
        response = {} if self.response is None else {"response_time": round(self.response, 3)}
        return response | self.parts()

    def parts(self) -> dict[str, float | str]:
        """Return the milliseconds of each part that the turn has passed, by name and in order.

        The first item is how the turn has ended, if that is known.
        """
        passed = sorted(self._times)
        ended_by: dict[str, float | str] = {} if self.ended_by is None else {"ended_by": self.ended_by}
        return ended_by | {
            _PARTS[step]: max(0, round(1000 * (self._times[step] - self._times[before])))
            for before, step in pairwise(passed)
        }
