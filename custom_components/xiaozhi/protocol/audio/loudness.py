"""Loudness of a voice for a device: its level above the noise, and whether two devices hear the same speech.

Levels are those of 20 ms each, in dB. Boards differ in gain, so a device is compared with its own noise only.
`docs/measurements.md` has what each number brings.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from math import log10
from statistics import StatisticsError, correlation, pstdev
from typing import Final

import audioop

from .opus_codec import OpusDecoder
from .uplink_timeline import UPLINK_SAMPLE_RATE

_STEP: Final = 0.02
_STEP_BYTES: Final = 2 * round(UPLINK_SAMPLE_RATE * _STEP)
# Seconds after a wake word that the arbitration waits for.
_LONGEST: Final = 3.5
# The shares of all levels that are below that of the speech, and of the noise.
_SPEECH: Final = 0.95
_NOISE: Final = 0.05
# How much noise alone may stand above itself: when it is steady, and when it is not, which the spread of the
# quieter levels shows.
_STEADY: Final = 1.0
_RESTLESS: Final = 6.0
_QUIETER: Final = 0.4
# More would make noise of a distant voice, in dB.
_MOST_GAIN: Final = 20.0
# Speech is recognised by its loudness in 60 ms, and how that rises or falls within 100 ms. One device may be
# 100 ms later than the other.
_SMOOTH: Final = 3
_RISE: Final = 5
_LATER: Final = 5


class Loudness:
    """The levels of what one device hears: its wake word, and the beginning of the turn after it."""

    def __init__(self, packets: deque[bytes], frame_duration: int) -> None:
        """Begin with the Opus packets of the wake word, of so many ms; more may follow."""
        self.packets = packets
        self.wake_word: list[float] = []
        self._frame_duration = frame_duration
        self._decoder: OpusDecoder | None = None
        self.turn: list[float] = []
        # The rest of frames that are no multiple of a step.
        self._rest, self._wake_word_rest = bytearray(), bytearray()
        self.began = float("inf")
        """When the microphone was opened, at the latest, in seconds of the caller's clock."""

    def heard(self, pcm: bytes, now: float) -> None:
        """Take the next sound of the microphone: 16 kHz mono 16-bit PCM, which has just arrived."""
        if len(self.turn) * _STEP < _LONGEST:
            self.turn += levels(_whole_steps(self._rest, pcm))
            self.began = min(self.began, now - len(self.turn) * _STEP)

    async def hear_wake_word(self) -> None:
        """Decode the wake word, one packet at a time: all of them would keep the event loop busy."""
        while self.packets:
            self._decoder = self._decoder or OpusDecoder(self._frame_duration)
            pcm = self._decoder.decode(self.packets.popleft())
            self.wake_word += levels(_whole_steps(self._wake_word_rest, pcm))
            await asyncio.sleep(0)

    def since(self, time: float) -> list[float]:
        """Return the levels since a moment of the turn."""
        return [level for number, level in enumerate(self.turn) if self.began + number * _STEP >= time]


def _whole_steps(rest: bytearray, pcm: bytes) -> bytes:
    rest += pcm
    whole = bytes(rest[: len(rest) // _STEP_BYTES * _STEP_BYTES])
    del rest[: len(whole)]
    return whole


def levels(pcm: bytes) -> list[float]:
    """Return the levels of 16 kHz mono 16-bit PCM."""
    steps = (pcm[start : start + _STEP_BYTES] for start in range(0, len(pcm), _STEP_BYTES))
    return [20 * log10(max(1, audioop.rms(step, 2))) for step in steps]


def as_loud_as(pcm: bytes, other: bytes) -> bytes:
    """Return 16-bit mono speech made as loud as other speech of the same rate, unless that is silent."""
    heard, wanted = (_speech_level(levels(each)) for each in (pcm, other))
    gain = max(-_MOST_GAIN, min(wanted - heard, _MOST_GAIN)) if wanted else 0.0
    return audioop.mul(pcm, 2, 10 ** (gain / 20))


def _speech_level(heard: Sequence[float]) -> float:
    return sorted(heard)[int(_SPEECH * len(heard))] if heard else 0.0


def above_noise(speech: Sequence[float], heard: Sequence[float]) -> float:
    """Return by how many dB speech is louder than the noise; 0 if nothing was heard."""
    # Silence stands in for lost packets, and is no noise.
    noises = sorted(level for level in heard if level)
    if not speech or not noises:
        return 0.0
    return _speech_level(speech) - noises[int(_NOISE * len(noises))]


def noise_alone(heard: Sequence[float]) -> float:
    """Return the most that `above_noise` returns for noise without speech.

    The noise of a kitchen varies; a fan is as loud all the time.
    """
    noises = sorted(level for level in heard if level)
    if not noises:
        return _RESTLESS
    spread = noises[int(_QUIETER * len(noises))] - noises[int(_NOISE * len(noises))]
    return min(_STEADY + spread, _RESTLESS)


def deviation(heard: Sequence[float]) -> float:
    """Return the standard deviation of levels, without those of lost packets."""
    levels_heard = [level for level in heard if level]
    return pstdev(levels_heard) if levels_heard else 0.0


def likeness(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the similarity, at most 1, of the sound that two devices have heard since a moment."""
    first, second = _perceived(one), _perceived(other)
    pairs = [(first[max(0, later) :], second[max(0, -later) :]) for later in range(-_LATER, _LATER + 1)]
    return max((_correlation(*pair) + _correlation(*map(_rises, pair))) / 2 for pair in pairs)


def _perceived(heard: Sequence[float]) -> list[float]:
    """Return loudness as people perceive it: in dB, noise would count as much as speech."""
    loudness = [10 ** (level / 40) for level in heard]
    return [sum(loudness[start : start + _SMOOTH]) for start in range(len(loudness) - _SMOOTH + 1)]


def _rises(loudness: Sequence[float]) -> list[float]:
    return [after - before for before, after in zip(loudness, loudness[_RISE:], strict=False)]


def _correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Pearson's coefficient of the common length of both; 0 if one does not vary."""
    try:
        return correlation(one[: len(other)], other[: len(one)])
    except StatisticsError:
        return 0.0
