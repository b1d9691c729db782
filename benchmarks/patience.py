"""How long a device waits for people it has learned from, beside the fixed second: households by simulation.

In each of 20 households of a kind, 40 of the recordings are spoken at random, 300 turns long. Fluent people
speak as recorded; hesitant ones pause for 0.5 to 0.9 s more in a third of their sentences; mixed households
have one of each. Half of the turns that are cut off are noticed, as by somebody who speaks again at once, and
one in a hundred others is taken for one. The detector and what is learned are the product's.

Seconds from the last word to the end of the turn, on average, of sentences that Home Assistant does not know
and that were not cut off; and the percentage of those that were. The first 50 turns, and those after.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from statistics import mean
from typing import Final

from custom_components.xiaozhi.protocol.audio.speech_detector import (
    SpeechEnded,
    SpeechPaused,
    SpeechResumed,
)
from custom_components.xiaozhi.voice.end_of_turn import QUICK_AND_PATIENT
from custom_components.xiaozhi.voice.patience import after_cut, after_turn, patience

from .end_of_speech import FRAME_SECONDS, Sentence, is_cut, stage
from .house import House
from .recordings import Recording, read_recordings
from .report import Row

_HOUSEHOLDS: Final = 20
_RECORDINGS: Final = 40
_TURNS: Final = 300
_FIRST: Final = 50
# Whether somebody hesitates who is drawn from a household.
_KINDS: Final = {"fluent": (False,), "hesitant": (True,), "mixed": (False, True)}
_HESITATIONS: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
_HESITATES: Final = 1 / 3
_NOTICED: Final = 0.5
_MISTAKEN: Final = 0.01

type Learn = Callable[[tuple[int, ...]], float]


@dataclass(slots=True)
class _People:
    """Everything that can be said, and how it ends after how long a silence."""

    stages: dict[float, list[Sentence]]
    _ends: dict[tuple[float, int, float], tuple[float | None, float]] = field(default_factory=dict)

    def end(self, hesitation: float, number: int, silence: float) -> tuple[float | None, float]:
        """Return when a turn ends, and its longest pause before that, in seconds."""
        key = hesitation, number, round(silence, 2)
        if key not in self._ends:
            self._ends[key] = _end(self.stages[hesitation][number], key[2])
        return self._ends[key]


@dataclass(frozen=True, slots=True)
class _Turn:
    number: int
    waited: float | None
    """None for a turn that was cut off or has not ended."""
    cut: bool


async def measure(_house: House, *, recordings: Path, every: int = 1, quick: bool = False) -> list[Row]:
    """Let people talk in their households. Raises `ValueError` if there are no recordings."""
    return await asyncio.to_thread(
        _measure, read_recordings(recordings)[::every], 1 if quick else _HOUSEHOLDS
    )


def _measure(recordings: list[Recording], households: int) -> list[Row]:
    people = _People({pause: stage(recordings, pause) for pause in (0.0, *_HESITATIONS)})
    rows: list[Row] = []
    for policy, learn in (("a second", lambda _: QUICK_AND_PATIENT.silence), ("learned", patience)):
        for kind, hesitant in _KINDS.items():
            random = Random(5)
            turns = [
                turn
                for _ in range(households)
                for turn in _talk(people, len(recordings), random, hesitant, learn)
            ]
            row: Row = {"patience": policy, "household": kind}
            for name, some in (
                ("first", [turn for turn in turns if turn.number < _FIRST]),
                ("after", [turn for turn in turns if turn.number >= _FIRST]),
            ):
                waited = [turn.waited for turn in some if turn.waited is not None]
                row[f"{name} s"] = round(mean(waited), 2) if waited else None
                row[f"{name} cut"] = round(100 * mean(turn.cut for turn in some), 1) if some else None
            rows.append(row)
    return rows


def _talk(
    people: _People, recordings: int, random: Random, hesitant: tuple[bool, ...], learn: Learn
) -> list[_Turn]:
    """Return the turns of one household whose sentences Home Assistant does not know."""
    known = random.sample(range(recordings), min(recordings, _RECORDINGS))
    pauses: tuple[int, ...] = ()
    turns: list[_Turn] = []
    for number in range(_TURNS):
        hesitates = random.choice(hesitant) and random.random() < _HESITATES
        hesitation = random.choice(_HESITATIONS) if hesitates else 0.0
        which = random.choice(known)
        said = people.stages[hesitation][which]
        at, longest = people.end(hesitation, which, learn(pauses))
        cut = at is not None and is_cut(said, at)
        is_unknown = random.random() < 0.3
        if is_unknown:
            turns.append(_Turn(number, None if cut or at is None else at - said.end, cut))
        pauses = after_turn(pauses, longest)
        noticed = random.random()
        if noticed < (_NOTICED if cut else _MISTAKEN if is_unknown else 0):
            pauses = after_cut(pauses)
    return turns


def _end(said: Sentence, silence: float) -> tuple[float | None, float]:
    detector = said.detector(replace(QUICK_AND_PATIENT, silence=silence))
    paused_at = longest = 0.0
    for number, frame in enumerate(said.frames, 1):
        for event in detector.hear(frame):
            match event:
                case SpeechPaused(at):
                    paused_at = at
                case SpeechResumed(at):
                    longest = max(longest, at - paused_at)
                case SpeechEnded():
                    return number * FRAME_SECONDS, longest
    return None, longest
