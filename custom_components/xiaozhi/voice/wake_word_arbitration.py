"""Which device answers when several hear the same wake word."""

from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

# In which Home Assistant, too, takes the same wake word for one person.
_SAME_WORD: Final = 2.0
# Devices that hear the same word begin to listen within so many seconds of each other.
_SAME_MOMENT: Final = 1.0
# Home Assistant would take a device's own repetition for a second device. Longer than its two seconds, which
# it counts from a moment later.
_REPETITION: Final = 3.0


class Claim(Enum):
    """Decision about a turn that may have begun with a wake word."""

    NEW = auto()
    """The device answers, unless Home Assistant knows of another satellite that does."""
    AGAIN = auto()
    """The device answers: it is the one that answered the same word a moment ago."""
    ELSEWHERE = auto()
    """Another device of ours answers."""


@dataclass(frozen=True, slots=True)
class _Start:
    mac: str
    wake_word: str | None
    at: float


class WakeWords:
    """The wake words that the devices of a gateway have heard. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._starts: list[_Start] = []
        self._tellers: set[str] = set()

    def claim(self, mac: str, wake_word: str | None, now: float) -> Claim:
        """Take note that a device begins to listen; `wake_word` is None if it does not tell of any.

        Chips without a voice engine (ESP32, C3, C5, C6) never tell, so that a wake word cannot be told from a
        press of the button. One that has told of a word before means the button.
        """
        self._starts = [start for start in self._starts if now - start.at < _REPETITION]
        if wake_word is not None:
            self._tellers.add(mac)
        elif mac in self._tellers:
            return Claim.NEW
        if any(_is_same(start, mac, wake_word, now) for start in self._starts):
            return Claim.ELSEWHERE
        again = any(start.mac == mac and start.wake_word == wake_word for start in self._starts)
        self.withdraw(mac)
        self._starts.append(_Start(mac, wake_word, now))
        return Claim.AGAIN if again else Claim.NEW

    def withdraw(self, mac: str) -> None:
        """Forget what a device has heard: it does not answer."""
        self._starts = [start for start in self._starts if start.mac != mac]


def _is_same(start: _Start, mac: str, wake_word: str | None, now: float) -> bool:
    """Whether a device has heard what another one that began at `start` has heard."""
    if start.mac == mac:
        return False
    if start.wake_word is not None and wake_word is not None:
        return start.wake_word == wake_word and now - start.at < _SAME_WORD
    return now - start.at < _SAME_MOMENT
