"""Arbitration between devices that hear the same person: the nearest answers.

All of them listen meanwhile. The others are let go before their words are acted on.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, auto
from itertools import combinations
from typing import Final

from ..device.state import ENOUGH_SILENT_WAKINGS
from ..protocol.audio.loudness import Loudness, above_noise, deviation, likeness, noise_alone

# Boards without a voice engine, which never report their wake word.
_SILENT_CHIPS: Final = frozenset({"esp32", "esp32c3", "esp32c5", "esp32c6"})
# Devices that hear the same word begin to listen within so many seconds of each other.
_SAME_MOMENT: Final = 0.5
# Seconds in which Home Assistant counts equal wake words as one. A device that is too late to be compared is
# let go.
_SAME_WORD: Final = 2.0
# Home Assistant would take a device's own repetition for a second device. Longer than its two seconds, which
# it counts from a moment later.
_REPETITION: Final = 3.0
# For the sound of the wake word, which may arrive after the message, and the first sound after it.
_FIRST_SOUND: Final = 0.2
# Each device asks for comparisons, and each of two devices takes most of a millisecond.
_PAUSE: Final = 0.2
# Boards that do not report a wake word play a sound for it at first, which they hear themselves.
_POP_UP: Final = 0.4
# The numbers that follow were chosen with 200 houses like those of `benchmarks/nearest.py`, whose own 100 had
# no part in that. In these the nearest board that does not report its wake word answers alone in 90, and both
# of two people are answered in 92; with white noise in 88 and 91.
# So many levels of speech show whether two devices hear the same, or these if it is understood sooner. With
# 100, the nearest answered alone in 184 of the 200 instead of 187. Two people speak as alike as below in 12 %
# of pieces of 125 levels, in 28 % of 30, and in 55 % of 20.
_SURE: Final = 125
_AT_LEAST: Final = 30
# Speech is the same if it is that much alike for devices that hear it so many dB above their noise. Less is
# expected of one that hears mostly noise (without that 80 and 78), and one that hears nothing else is not
# compared (85 and 94).
_ALIKE: Final = 0.75
_CLEAR: Final = 22.0
# Echoes and noise fill the pauses of speech: so many times the deviation of its levels counts, too (without
# that 87 and 92; of the 200, 184 instead of 187).
_DEVIATIONS: Final = 3.0
# A device that was woken so many times within so many seconds, and nobody has said anything after that, is
# out of order, or made to keep others from being woken.
_IN_VAIN: Final = 3
_DISTRUSTED: Final = 600

_ASKED, _USUAL, _IN_VAIN_BEFORE = 1, 0, -1


class Claim(Enum):
    """Decision on a turn that may have begun with a wake word."""

    NEW = auto()
    """The device listens, unless Home Assistant knows of another satellite that does."""
    AGAIN = auto()
    """The same, but Home Assistant knows of this word already: from this device or a rival of it."""
    ELSEWHERE = auto()
    """Another device of ours answers."""


def hears_silently(chip: str | None, wake_words: Collection[str], silent_wakings: int) -> bool:
    """Whether a device is known to hear its wake word without reporting it.

    It has reported `wake_words`, and begun to listen by itself without one as many times.
    """
    return not wake_words and (chip in _SILENT_CHIPS or silent_wakings >= ENOUGH_SILENT_WAKINGS)


@dataclass(eq=False, slots=True)
class _Start:
    mac: str
    wake_word: str | None
    """None if its button was pressed, or the device hears silently, which looks the same."""
    at: float
    loudness: Loudness
    lost: asyncio.Future[None]
    """Done when the device is let go."""
    precedence: int
    """Precedence: of a device that has asked a question, then of any, then of one woken in vain."""
    answers: bool = False
    over: bool = False
    """Whether the turn is over."""

    @property
    def listens(self) -> bool:
        return not self.over and not self.lost.done()

    def is_repeated(self, mac: str, wake_word: str | None, now: float) -> bool:
        """Return whether Home Assistant takes a wake word for this one: from the same device, or at once."""
        is_same = self.wake_word == wake_word is not None
        return is_same and (self.mac == mac or now - self.at < _SAME_WORD)

    def refuses(self, mac: str, now: float) -> bool:
        """Return whether another device that hears the same word now, too late to be compared, is let go."""
        is_late = self.mac != mac and now - self.at > _SAME_MOMENT
        return is_late and self.precedence >= _USUAL and (self.answers or self.listens)

    def competes_with(self, other: _Start) -> bool:
        """Return whether both may have heard the same person, and both still listen."""
        return (
            abs(other.at - self.at) <= _SAME_MOMENT
            and (self.wake_word == other.wake_word or None in {self.wake_word, other.wake_word})
            and self.listens
            and other.listens
        )


class WakeWordArbitration:
    """The devices of a gateway that have just begun to listen. Times are seconds of one monotonic clock."""

    def __init__(self, on_distrusted: Callable[[str], None] = lambda _mac: None) -> None:
        """Call `on_distrusted` with the MAC of a device that is to win over no other for some time."""
        self._starts: list[_Start] = []
        self._in_vain: dict[str, deque[float]] = {}
        """Times at which each device was woken since it last understood something."""
        self._distrusted = set[str]()
        self._compared = float("-inf")
        self._on_distrusted = on_distrusted

    def claim(
        self,
        mac: str,
        wake_word: str | None,
        now: float,
        loudness: Loudness,
        lost: asyncio.Future[None],
        *,
        silent: bool = False,
        asked: bool = False,
    ) -> Claim:
        """Decide whether a device that begins to hear this may listen; `lost` is done when it no longer may.

        Without a wake word its button was pressed, and that is all, unless it `hears_silently`. One that has
        `asked` a question goes before others.
        """
        self._starts = [start for start in self._starts if now - start.at < _REPETITION]
        if wake_word is None and not silent:
            return Claim.NEW
        earlier = [start for start in self._starts if start.is_repeated(mac, wake_word, now)]
        if not asked and any(start.refuses(mac, now) for start in earlier):
            return Claim.ELSEWHERE
        precedence = self._precedence(mac, now, asked=asked)
        new = _Start(mac, wake_word, now, loudness, lost, precedence)
        self._starts = [*(start for start in self._starts if start.mac != mac), new]
        return Claim.AGAIN if earlier else Claim.NEW

    def _precedence(self, mac: str, now: float, *, asked: bool) -> int:
        """Count a waking of a device; return its precedence, low after too many in vain."""
        woken = self._in_vain.setdefault(mac, deque(maxlen=_IN_VAIN))
        distrusted = len(woken) == _IN_VAIN and now - woken[0] < _DISTRUSTED
        woken.append(now)
        if not distrusted:
            self._distrusted.discard(mac)
        elif mac not in self._distrusted:
            self._distrusted.add(mac)
            self._on_distrusted(mac)
        if asked:
            return _ASKED
        return _IN_VAIN_BEFORE if distrusted else _USUAL

    def withdraw(self, mac: str) -> None:
        """Let go of the rivals of a device that Home Assistant has refused, and forget them."""
        for refused in [start for start in self._starts if start.mac == mac]:
            same = (start for start in self._starts if start.wake_word == refused.wake_word)
            for start in {refused, *(start for start in same if refused.competes_with(start))}:
                self._let_go(start)

    def competing(self, mac: str) -> list[Loudness]:
        """Return the loudness of a device and of its remaining rivals, if any."""
        return [start.loudness for pair in self._pairs() for start in pair if mac in {s.mac for s in pair}]

    def compare(self, now: float, understood: str | None = None) -> None:
        """Let go of each device whose rival is known to hear better.

        A device that has `understood` the speech is compared at once.
        """
        if understood is None:
            if now - self._compared < _PAUSE:
                return
            self._compared = now
        for one, other in self._pairs():
            at_once = understood in {one.mac, other.mac}
            farther = _farther(one, other, now, at_once=at_once) if one.competes_with(other) else None
            if farther is not None:
                self._let_go(farther)

    def answer(self, mac: str, now: float) -> None:
        """Note that a device has understood the speech. It answers unless it is let go now."""
        self.compare(now, mac)
        self._in_vain.pop(mac, None)
        for start in self._starts:
            start.answers |= start.mac == mac

    def turn_over(self, lost: asyncio.Future[None]) -> None:
        """Note that the turn for which a device claimed the word is over."""
        for start in self._starts:
            start.over |= start.lost is lost

    def _pairs(self) -> list[tuple[_Start, _Start]]:
        return [pair for pair in combinations(self._starts, 2) if pair[0].competes_with(pair[1])]

    def _let_go(self, start: _Start) -> None:
        self._starts.remove(start)
        if start.at in (woken := self._in_vain.get(start.mac, deque())):
            woken.remove(start.at)
        if not start.lost.done():
            start.lost.set_result(None)


def _farther(one: _Start, other: _Start, now: float, *, at_once: bool) -> _Start | None:
    """Return the device of two that is not to answer; None if both may, or that is unknown."""
    if one.precedence != other.precedence:
        return min(one, other, key=lambda start: start.precedence)
    both = (one.loudness, other.loudness)
    if None in {one.wake_word, other.wake_word}:
        levels = _levels_of_same_speech(both, _AT_LEAST if at_once else _SURE)
    else:
        levels = None if now - other.at < _FIRST_SOUND else _levels_of_word(both)
    if levels is None or (one.answers and other.answers):
        return None
    return one if (one.answers, levels[0]) < (other.answers, levels[1]) else other


def _levels_of_word(both: tuple[Loudness, Loudness]) -> list[float] | None:
    """Return how far a wake word is above noise for two devices; None if its sound is incomplete."""
    if any(loudness.packets for loudness in both):
        return None
    words = [[*loudness.wake_word, *loudness.turn] for loudness in both]
    return [above_noise(heard, heard) for heard in words]


def _levels_of_same_speech(both: tuple[Loudness, Loudness], enough: int) -> list[float] | None:
    """Return the levels of the same speech for two devices; None for other speech, or without `enough`."""
    since = max(loudness.began for loudness in both) + _POP_UP
    spoken = [loudness.since(since) for loudness in both]
    if min(map(len, spoken)) < enough:
        return None
    # Somebody may speak all the time since then: the noise is known from before, too.
    above = [above_noise(speech, loudness.turn) for speech, loudness in zip(spoken, both, strict=True)]
    noises = [noise_alone(loudness.turn) for loudness in both]
    clear = min(
        (min(level, _CLEAR) - noise) / (_CLEAR - noise) for level, noise in zip(above, noises, strict=True)
    )
    if clear < 0 or likeness(*spoken) < _ALIKE * clear:
        return None
    return [level + _DEVIATIONS * deviation(speech) for level, speech in zip(above, spoken, strict=True)]
