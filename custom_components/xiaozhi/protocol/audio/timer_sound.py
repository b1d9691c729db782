"""Sounds of our own: of a timer that has ended, two strokes of a bell, and the tone before a recording."""

from array import array
from functools import cache
import math
from typing import Final

TIMER_SOUND_SECONDS: Final = 1.5
# The partials of a small bell: frequency in Hz, loudness, and how fast it fades, in 1/s.
_PARTIALS: Final = ((880.0, 0.5, 5.0), (1760.0, 0.3, 8.0), (2637.0, 0.2, 12.0))
_LOUDEST: Final = 16000
_TONE: Final = 880
_TONE_SECONDS: Final = 0.2


@cache
def timer_sound(sample_rate: int) -> bytes:
    """Return 16-bit mono PCM of `sample_rate` Hz, which can be repeated.

    Takes tens of milliseconds the first time, so it is not for the event loop.
    """
    sound = array("h", bytes(2 * round(TIMER_SOUND_SECONDS * sample_rate)))
    for start in (0.0, 0.35):
        offset = round(start * sample_rate)
        for index in range(len(sound) - offset):
            seconds = index / sample_rate
            strike = sum(
                loudness * math.exp(-fading * seconds) * math.sin(2 * math.pi * frequency * seconds)
                for frequency, loudness, fading in _PARTIALS
            )
            sound[offset + index] += round(_LOUDEST * strike)
    return sound.tobytes()


def tone(sample_rate: int) -> bytes:
    """Return 16-bit mono PCM of `sample_rate` Hz: a tone that begins and ends softly."""
    length = round(_TONE_SECONDS * sample_rate)
    samples = (
        _LOUDEST * math.sin(math.pi * index / length) * math.sin(2 * math.pi * _TONE * index / sample_rate)
        for index in range(length)
    )
    return array("h", map(round, samples)).tobytes()
