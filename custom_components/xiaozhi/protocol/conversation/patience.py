"""How long a pause must last to end what somebody says, by what has been said so far. No clock, no task.

When somebody pauses, what they have said so far is transcribed at once, and the transcript is judged. If they
speak on, the transcript is dropped; else it is the transcript of the turn, which need not be made again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from typing import Final

NOTICED_PAUSE: Final = 0.2
"""Seconds of silence after which speech is transcribed that may still go on."""
# Early transcripts of one turn. With the last one, which is needed in any case, these are three calls.
_CALLS: Final = 2


class EndOfTurn(StrEnum):
    """What has decided that the user has finished."""

    COMPLETE = "complete_command"
    """The command is complete, and nothing can follow."""
    DETAIL = "command_without_detail"
    """The command is complete, and only a detail can follow, which is rare."""
    PAUSE = "pause"
    """The pause has lasted as long as the owner allows."""
    BEGINNING = "beginning_of_command"
    """Only the beginning of a command was said, and a long pause has followed."""


DEFAULT_PAUSES: Final[Mapping[EndOfTurn, float]] = {
    EndOfTurn.COMPLETE: 0.2,
    EndOfTurn.DETAIL: 0.6,
    EndOfTurn.PAUSE: 0.85,
    EndOfTurn.BEGINNING: 1.2,
}
"""Seconds of silence that end the turn, by what has been said."""


@dataclass(frozen=True, slots=True)
class Transcribe:
    """Transcribe what was said so far, and tell `Patience.transcribed` the number."""

    number: int


@dataclass(frozen=True, slots=True)
class Judge:
    """Judge a transcript, and tell `Patience.judged` the number."""

    number: int
    text: str


@dataclass(frozen=True, slots=True)
class EndAfter:
    """End the turn when the pause has lasted so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class UseTranscript:
    """This is the transcript of the turn."""

    text: str


@dataclass(frozen=True, slots=True)
class TranscribeAll:
    """Transcribe the whole turn; there is no early transcript of it."""


type PatienceAction = Transcribe | Judge | EndAfter | UseTranscript | TranscribeAll


class _State(Enum):
    SPEAKING = auto()
    PAUSED = auto()
    """Nothing is known of what was said before the pause."""
    TRANSCRIBING = auto()
    JUDGING = auto()
    DECIDED = auto()
    AWAITED = auto()
    """The turn has ended, and its transcript is on its way."""
    ENDED = auto()


class Patience:
    """The end of one turn. Each method takes an event, and returns what is to be done, if anything.

    Numbers tell what belongs to the pause that now is from what comes late.
    """

    def __init__(self, pauses: Mapping[EndOfTurn, float] = DEFAULT_PAUSES) -> None:
        """Begin with somebody who speaks."""
        self._pauses = pauses
        self._state = _State.SPEAKING
        self._number = 0
        self._running: int | None = None
        self._calls = _CALLS
        self._text = ""
        self._judgement = EndOfTurn.PAUSE

    @property
    def ending(self) -> EndOfTurn:
        """What has decided, or will decide as far as is known, that the turn has ended."""
        return self._judgement

    def paused(self, *, engine_free: bool) -> PatienceAction | None:
        """Nobody has spoken for `NOTICED_PAUSE`."""
        if self._state is not _State.SPEAKING:
            return None
        self._number += 1
        self._state = _State.PAUSED
        return self._transcribe() if engine_free else None

    def resumed(self) -> None:
        """Speech goes on: what was known of the turn is no longer true."""
        if self._state not in {_State.AWAITED, _State.ENDED}:
            self._state = _State.SPEAKING
            self._judgement = EndOfTurn.PAUSE

    def transcribed(
        self, number: int, text: str | None, *, engine_free: bool = True
    ) -> PatienceAction | None:
        """Take a transcript; None or an empty text if there is none."""
        if self._running == number:
            self._running = None
        if number != self._number:
            # The engine has only now finished what was dropped.
            return self._transcribe() if engine_free and self._state is _State.PAUSED else None
        match self._state:
            case _State.TRANSCRIBING if text:
                self._state, self._text = _State.JUDGING, text
                return Judge(number, text)
            case _State.TRANSCRIBING:
                self._state = _State.DECIDED
                self._text = ""
            case _State.AWAITED:
                self._text = text or ""
                return self._end()
        return None

    def judged(self, number: int, judgement: EndOfTurn) -> PatienceAction | None:
        """Take what the transcript of a pause says."""
        if self._state is not _State.JUDGING or number != self._number:
            return None
        self._state, self._judgement = _State.DECIDED, judgement
        return EndAfter(self._pauses[judgement])

    def ended(self) -> PatienceAction | None:
        """The pause was long enough, or there is no more audio. None if a transcript is on its way."""
        match self._state:
            case _State.TRANSCRIBING:
                self._state = _State.AWAITED
                return None
            case _State.JUDGING | _State.DECIDED:
                return self._end()
            case _State.AWAITED | _State.ENDED:
                return None
        self._text = ""
        return self._end()

    def late(self) -> PatienceAction | None:
        """The transcript on its way takes too long."""
        return self._end() if self._state is _State.AWAITED else None

    def _transcribe(self) -> PatienceAction | None:
        if self._running is not None or not self._calls:
            return None
        self._calls -= 1
        self._running = self._number
        self._state, self._text = _State.TRANSCRIBING, ""
        return Transcribe(self._number)

    def _end(self) -> PatienceAction:
        self._state = _State.ENDED
        # Nobody says half a command: the engine has misheard the end, or needs the silence after it.
        if not self._text or self._judgement is EndOfTurn.BEGINNING:
            return TranscribeAll()
        return UseTranscript(self._text)
