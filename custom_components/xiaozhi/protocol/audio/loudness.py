"""How loud a device hears somebody: how far that is above its noise, and whether two hear the same speech.

Levels are those of 20 ms each, in dB. Boards differ in gain, so a device is compared with its own noise only.
"""

from collections import deque
from collections.abc import Sequence
from math import log10, sqrt, sumprod
from typing import Final

import audioop

from .timeline import UPLINK_SAMPLE_RATE

_STEP: Final = 0.02
_STEP_BYTES: Final = 2 * round(UPLINK_SAMPLE_RATE * _STEP)
# Seconds of a wake word, and of what follows it.
_WAKE_WORD: Final = 2.0
_LONGEST: Final = 3.0
# The share of all levels that are below that of the speech, which is unknown of less than half a second.
_SPEECH: Final = 0.95
_ENOUGH: Final = 25
# Speech is recognised by how its loudness rises and falls: from 60 ms to the 60 ms that begin 100 ms later. A
# second of it is enough, where one device's may be 100 ms later than the other's.
_SMOOTH: Final = 3
_RISE: Final = 5
_COMPARED: Final = 50
_LATER: Final = 5
# Chosen with `benchmarks/nearest.py`: lower, and two people who speak at the same time are more often taken
# for one; higher, and one person is more often answered twice.
_ALIKE: Final = 0.8


class Loudness:
    """The levels of what one device hears: its wake word, and the beginning of the turn after it."""

    def __init__(self, wake_word: deque[float]) -> None:
        """Begin with the levels of the wake word, of which more may follow."""
        self.wake_word = wake_word
        self.turn: list[float] = []
        self.began = float("inf")
        """When the microphone was opened, at the latest, in seconds of the caller's clock."""

    def heard(self, pcm: bytes, now: float) -> None:
        """Take what the microphone hears next: 16 kHz mono 16-bit PCM, which has just arrived."""
        if len(self.turn) * _STEP < _LONGEST:
            self.turn += levels(pcm)
            self.began = min(self.began, now - len(self.turn) * _STEP)

    def since(self, time: float) -> list[float]:
        """Return the levels since a moment of the turn."""
        return [level for number, level in enumerate(self.turn) if self.began + number * _STEP >= time]


def levels(pcm: bytes) -> list[float]:
    """Return the levels of 16 kHz mono 16-bit PCM."""
    steps = (pcm[start : start + _STEP_BYTES] for start in range(0, len(pcm), _STEP_BYTES))
    return [20 * log10(max(1, audioop.rms(step, 2))) for step in steps]


def wake_word_levels() -> deque[float]:
    """Return what keeps the levels of the last wake word."""
    return deque(maxlen=round(_WAKE_WORD / _STEP))


def above_noise(speech: Sequence[float], heard: Sequence[float], noise: float) -> float | None:
    """Return by how many dB speech is louder than the noise, which is above that share of all that was heard.

    None if too little was heard.
    """
    # What stands in for lost packets is no noise.
    noises = sorted(level for level in heard if level)
    if len(speech) < _ENOUGH or not noises:
        return None
    return sorted(speech)[int(_SPEECH * len(speech))] - noises[int(noise * len(noises))]


def are_alike(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two devices have heard the same speech since the same moment."""
    if min(len(one), len(other)) < _COMPARED:
        return False
    first, second = _rises(one), _rises(other)
    pairs = ((first[max(0, later) :], second[max(0, -later) :]) for later in range(-_LATER, _LATER + 1))
    return any(_correlation(*pair) >= _ALIKE for pair in pairs)


def _rises(heard: Sequence[float]) -> list[float]:
    smooth = [sum(heard[start : start + _SMOOTH]) for start in range(len(heard) - _SMOOTH + 1)]
    return [after - before for before, after in zip(smooth, smooth[_RISE:], strict=False)]


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Pearson's coefficient, of as much as there is of both; 0 if one does not vary."""
    size = min(len(one), len(other))
    first, second = ([value - sum(part) / size for value in part] for part in (one[:size], other[:size]))
    spread = sqrt(sumprod(first, first) * sumprod(second, second))
    return sumprod(first, second) / spread if spread else 0.0
