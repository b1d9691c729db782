"""Finds the position of a voice in a text by its pauses; `docs/measurements.md` has the figures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import log
from typing import Final

from .caption_text import Clause

# Guesses that are followed, because a pause may belong to the clause before or after the likeliest one.
_GUESSES: Final = 4
# Costs (negative logarithms of probabilities): no pause after a clause, none after a sentence, and one that
# belongs to neither, as when the voice breathes.
_NO_PAUSE: Final = 0.5
_NO_PAUSE_AFTER_SENTENCE: Final = 4.0
_OTHER_PAUSE: Final = 3.0
# Variance of the logarithm of a clause's length by a known pace, and what an unknown one adds to it at first.
_VARIANCE: Final = 0.02
_PACE_VARIANCE: Final = 0.5
# No clause is sought beyond the text that is said at this multiple of the expected pace.
_MOST: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class _Guess:
    """A guess that the voice began a clause after the last pause."""

    clause: int = 0
    time: float = 0.0
    usual: float = 1.0
    """Seconds of the text before it at a usual pace, and a second of prejudice."""
    actual: float = 1.0
    """Seconds that it took."""
    cost: float = 0.0

    @property
    def pace(self) -> float:
        return self.actual / self.usual


class Alignment:
    """Follows the likeliest ways in which the pauses of a voice belong to the ends of clauses."""

    def __init__(self, clauses: Sequence[Clause]) -> None:
        """Follow a voice that says these clauses, to which more may be added."""
        self._clauses = clauses
        self._guesses = [_Guess()]

    def start_of(self, clause: int, patience: float) -> float:
        """Return the time at which a clause begins, `patience` later if no pause has shown that yet."""
        guess = self._guesses[0]
        if clause <= guess.clause:
            return guess.time
        since = guess.pace * sum(said.seconds for said in self._clauses[guess.clause : clause])
        return guess.time + since + patience

    def resumed(self, time: float) -> None:
        """Note that the voice goes on after a pause at `time`, in seconds since its beginning."""
        guesses: dict[int, _Guess] = {}
        extended = [new for guess in self._guesses for new in self._extended(guess, time)]
        for guess in sorted(extended, key=lambda guess: guess.cost):
            guesses.setdefault(guess.clause, guess)
        self._guesses = list(guesses.values())[:_GUESSES]

    def _extended(self, guess: _Guess, time: float) -> Iterator[_Guess]:
        yield replace(guess, cost=guess.cost + _OTHER_PAUSE)
        said = time - guess.time
        if said <= 0:
            return
        usual, skipped = 0.0, 0.0
        for index in range(guess.clause + 1, len(self._clauses)):
            usual += self._clauses[index - 1].seconds
            if usual * guess.pace > _MOST * said:
                return
            variance = _VARIANCE + _PACE_VARIANCE / (guess.usual * guess.usual)
            if usual > 0:
                unlikely = log(usual * guess.pace / said) ** 2 / (2 * variance)
                yield _Guess(
                    clause=index,
                    time=time,
                    usual=guess.usual + usual,
                    actual=guess.actual + said,
                    cost=guess.cost + skipped + unlikely,
                )
            skipped += _NO_PAUSE_AFTER_SENTENCE if self._clauses[index].caption else _NO_PAUSE
