"""Recordings of people who speak, made ready to be played: with silence around them, and hesitation.

A folder holds sound files, in itself or in `commands/`, and may hold `bounds.json`, which says for each file
where its speech `start`s and `end`s, and its longest quiet `gap`, in seconds. Without it, loudness tells.
"""

from dataclasses import dataclass
from itertools import pairwise
import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from simulator.audio.opus import UPLINK_RATE
from simulator.audio.sound import read_wav

type Samples = np.ndarray[tuple[int], np.dtype[np.float64]]

_BEFORE: Final = 0.3
AFTER: Final = 6.0
"""Seconds of background after speech; an end that is found later counts as never found."""
CUT_SECONDS: Final = 0.05
"""Speech that ends so many seconds before its end or earlier was cut off."""

_FRAME: Final = UPLINK_RATE // 100
_FRAME_SECONDS: Final = 0.01
# Speech is louder than both, by so many dB.
_ABOVE_FLOOR: Final = 12
_BELOW_PEAK: Final = 35
# Shorter bursts are clicks.
_SHORTEST: Final = 0.04
_BACKGROUND_SECONDS: Final = 0.3
# The sound of the first word begins before it is loud.
_MARGIN: Final = 0.05
_TYPES: Final = (".flac", ".wav")


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Where the speech of a recording is, in seconds."""

    start: float
    end: float
    gap: tuple[float, float]
    """The longest quiet stretch between; empty if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recording and its bounds."""

    name: str
    samples: Samples
    bounds: Bounds

    def played(self, pause: float = 0) -> tuple[bytes, float]:
        """Return 16 kHz mono 16-bit PCM to be played to a device, and when its speech ends, in seconds.

        It has 0.3 s of the recording's own background before the speech and 6 s after it. The longest gap is
        lengthened by `pause` seconds: people who hesitate.
        """
        bounds, background = self.bounds, self._background()
        first, last = _samples(bounds.start - _BEFORE), _samples(bounds.end)
        before = self.samples[max(0, first) : last]
        after = self.samples[last:][: _samples(AFTER)]
        if pause:
            middle = _samples(sum(bounds.gap) / 2) - max(0, first)
            hesitation = _filled(background, _samples(pause))
            before = np.concatenate([before[:middle], hesitation, before[middle:]])
        before = np.concatenate([_filled(background, max(0, -first)), before])
        after = np.concatenate([after, _filled(background, _samples(AFTER) - len(after))])
        return to_pcm(np.concatenate([before, after])), len(before) / UPLINK_RATE

    def whole(self) -> bytes:
        """Return all of it as PCM, and 6 s of its own background."""
        return to_pcm(np.concatenate([self.samples, _filled(self._background(), _samples(AFTER))]))

    def _background(self) -> Samples:
        """Return the quietest third of a second outside of speech."""
        head = self.samples[: max(0, _samples(self.bounds.start - _MARGIN))]
        tail = self.samples[_samples(self.bounds.end + _MARGIN) :]
        size = _samples(_BACKGROUND_SECONDS)
        pieces = [
            part[start : start + size]
            for part in (head, tail)
            for start in range(0, len(part) - size + 1, size // 3)
        ]
        return min(pieces, key=_level) if pieces else np.zeros(size)


def read_recordings(folder: Path) -> list[Recording]:
    """Read the recordings of a folder. Raises `ValueError` if there are none."""
    told: dict[str, Any] = {}
    if (file := folder / "bounds.json").exists():
        told = json.loads(file.read_text())
    files = [*folder.iterdir(), *(folder / "commands").glob("*")]
    sounds = sorted(path for path in files if path.suffix in _TYPES and (not told or path.name in told))
    if not sounds:
        raise ValueError(f"there are no recordings in {folder}")
    recordings = []
    for path in sounds:
        samples = read_sound(path)
        bounds = _told(told[path.name]) if told else find_bounds(samples)
        recordings.append(Recording(name=path.name, samples=samples, bounds=bounds))
    return recordings


def read_sound(path: Path) -> Samples:
    """Read a sound file as mono samples of 16 kHz."""
    return np.frombuffer(read_wav(path), np.int16).astype(np.float64)


def to_pcm(samples: Samples) -> bytes:
    """Return samples as 16-bit PCM."""
    return np.clip(np.round(samples), -32768, 32767).astype("<i2").tobytes()


def find_bounds(samples: Samples) -> Bounds:
    """Find the speech in a recording without noise. Raises `ValueError` if there is none."""
    whole = samples[: len(samples) // _FRAME * _FRAME].reshape(-1, _FRAME)
    loudness = 10 * np.log10(np.mean(whole**2, axis=1) + 1e-9)
    loud = (loudness > np.percentile(loudness, 10) + _ABOVE_FLOOR) & (loudness > loudness.max() - _BELOW_PEAK)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], loud.astype(np.int8), [0]]))).reshape(-1, 2)
    bursts = [(start, end) for start, end in edges if (end - start) * _FRAME_SECONDS >= _SHORTEST]
    if not bursts:
        raise ValueError("nobody speaks in this recording")
    gaps = [(end, start) for (_, end), (start, _) in pairwise(bursts)]
    quiet, loud_again = max(gaps, key=lambda gap: gap[1] - gap[0], default=(bursts[0][0], bursts[0][0]))
    return Bounds(
        start=float(bursts[0][0]) * _FRAME_SECONDS,
        end=float(bursts[-1][1]) * _FRAME_SECONDS,
        gap=(float(quiet) * _FRAME_SECONDS, float(loud_again) * _FRAME_SECONDS),
    )


def _told(bounds: dict[str, Any]) -> Bounds:
    start = float(bounds["start"])
    quiet, loud_again = bounds.get("gap") or (start, start)
    return Bounds(start=start, end=float(bounds["end"]), gap=(float(quiet), float(loud_again)))


def _samples(seconds: float) -> int:
    return round(seconds * UPLINK_RATE)


def _level(samples: Samples) -> float:
    return float(np.sqrt(np.mean(samples**2))) + 1e-9


def _filled(background: Samples, size: int) -> Samples:
    """Repeat a background to and fro, so that it has no clicks."""
    there_and_back = np.concatenate([background, background[::-1]])
    return np.resize(there_and_back, size)
