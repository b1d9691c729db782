"""Which device answers when several hear the same wake word."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

# Without a voice engine, which never report that they have heard their wake word.
_SILENT_CHIPS: Final = frozenset({"esp32", "esp32c3", "esp32c5", "esp32c6"})
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


def hears_silently(chip: str | None, wake_words: Collection[str]) -> bool:
    """Whether a device is known to hear its wake word without reporting it; it has reported `wake_words`."""
    return chip in _SILENT_CHIPS and not wake_words


@dataclass(frozen=True, slots=True)
class _Start:
    mac: str
    wake_word: str | None
    area: str | None
    at: float


class WakeWordArbitration:
    """The wake words that the devices of a gateway have heard. Times are seconds of one monotonic clock."""

    def __init__(self) -> None:
        self._starts: list[_Start] = []

    def claim(
        self, mac: str, wake_word: str | None, now: float, *, area: str | None = None, silent: bool = False
    ) -> Claim:
        """Decide whether a device that begins to listen answers; `area` is the room that it is in.

        Without a wake word its button was pressed, or it `hears_silently`: then it looks the same as a
        press, and counts as a wake word where another device in the same area hears one at that moment.
        """
        self._starts = [start for start in self._starts if now - start.at < _REPETITION]
        if wake_word is None and not silent:
            return Claim.NEW
        new = _Start(mac, wake_word, area, now)
        if any(_is_same(start, new) for start in self._starts):
            return Claim.ELSEWHERE
        again = any(start.mac == mac and start.wake_word == wake_word for start in self._starts)
        self.withdraw(mac)
        self._starts.append(new)
        return Claim.AGAIN if again else Claim.NEW

    def withdraw(self, mac: str) -> None:
        """Forget what a device has heard: it does not answer."""
        self._starts = [start for start in self._starts if start.mac != mac]


def _is_same(old: _Start, new: _Start) -> bool:
    """Whether a device has heard what another one has heard before."""
    if old.mac == new.mac:
        return False
    if old.wake_word is not None and new.wake_word is not None:
        return old.wake_word == new.wake_word and new.at - old.at < _SAME_WORD
    return old.area is not None and old.area == new.area and new.at - old.at < _SAME_MOMENT
