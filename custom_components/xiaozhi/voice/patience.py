"""Patience with people who pause in the middle of a sentence, learned from their pauses.

Of each turn, a device's record keeps the longest pause after which somebody went on, in hundredths of a
second: 0 for none. Of a turn that seems to have been cut off it keeps the pause that did so, as a negative
number: the full pause is unknown. `benchmarks/patience.py` shows the gain.
"""

from collections.abc import Sequence
from typing import Final

from .end_of_turn import FIXED_PAUSE, QUICK_AND_PATIENT

SPEAKS_ON: Final = 2.0
"""Seconds within which somebody who speaks again was cut off: of the end of their turn, or of the answer."""

_TURNS: Final = 100
# Fewer turns are not enough.
_FEWEST: Final = 20
# Share of the turns that may have a longer pause than the device waits for, less the margin. Of the pauses
# themselves instead of the turns, people who hardly pause would have too few after 200 turns.
_LONGER: Final = 0.02
_MARGIN: Final = 0.15
_MOST: Final = 1.3
# A cut lets the device wait so many seconds longer, less with each turn, and no longer after so many.
_AFTER_CUT: Final = 0.15
_CALM: Final = 30


def patience(pauses: Sequence[int]) -> float:
    """Return the seconds of silence that end a sentence that may be incomplete."""
    seconds = QUICK_AND_PATIENT.silence
    if len(pauses) >= _FEWEST:
        longest = sorted(map(abs, pauses), reverse=True)
        seconds = max(FIXED_PAUSE, longest[int(_LONGER * len(longest))] / 100 + _MARGIN)
    ages = (age for age, pause in enumerate(reversed(pauses[-_CALM:])) if pause < 0)
    return min(_MOST, seconds + sum(_AFTER_CUT * (1 - age / _CALM) for age in ages))


def after_turn(pauses: tuple[int, ...], longest: float) -> tuple[int, ...]:
    """Add a turn, whose longest pause lasted so many seconds."""
    return (*pauses, round(100 * longest))[-_TURNS:]


def after_cut(pauses: tuple[int, ...]) -> tuple[int, ...]:
    """Return the pauses after the last turn has turned out to be cut off."""
    *before, _ = pauses
    return (*before, -round(100 * patience(before)))


def describe(pauses: tuple[int, ...]) -> dict[str, float]:
    """Return the patience in seconds, and the percentage of the turns that were cut off, if there are any."""
    if not pauses:
        return {}
    cut_off = sum(pause < 0 for pause in pauses)
    return {"patience": round(patience(pauses), 2), "cut_off": round(100 * cut_off / len(pauses))}
