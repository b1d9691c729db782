"""Recordings as they are played to devices: where speech is in them, what is put around it and into it."""

import json
from pathlib import Path
import wave

import numpy as np
import pytest

from benchmarks.recordings import AFTER, find_bounds, read_recordings

RATE = 16000


def hum(seconds: float, loudness: float) -> np.ndarray:
    return loudness * np.sin(np.arange(round(seconds * RATE)) * 0.3)


def write(folder: Path, name: str = "hum.wav") -> None:
    """Write two words, 1.0 to 1.5 s and 1.7 to 2.2 s, in a quiet room of 3 s."""
    parts = [(1.0, 5), (0.5, 8000), (0.2, 5), (0.5, 8000), (0.8, 5)]
    sound = np.concatenate([hum(seconds, loudness) for seconds, loudness in parts])
    with wave.open(str(folder / name), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(sound.astype("<i2").tobytes())


def loud_seconds(pcm: bytes, end: float) -> tuple[float, float]:
    """Return the seconds before the first loud sample, and from the last one to `end`."""
    loud = np.flatnonzero(np.abs(np.frombuffer(pcm, "<i2")) > 1000)
    return loud[0] / RATE, end - loud[-1] / RATE


def test_speech_is_found_by_its_loudness(tmp_path: Path) -> None:
    write(tmp_path)
    (recording,) = read_recordings(tmp_path)
    bounds = recording.bounds
    assert (bounds.start, bounds.end) == pytest.approx((1.0, 2.2), abs=0.02)
    assert bounds.gap == pytest.approx((1.5, 1.7), abs=0.02)


def test_bounds_in_a_file_are_taken(tmp_path: Path) -> None:
    (tmp_path / "commands").mkdir()
    write(tmp_path / "commands")
    write(tmp_path / "commands", "without bounds.wav")
    told = {"hum.wav": {"start": 1.1, "end": 2.1, "gap": [1.4, 1.6]}}
    (tmp_path / "bounds.json").write_text(json.dumps(told))
    (recording,) = read_recordings(tmp_path)
    assert recording.bounds.end == 2.1


def test_silence_is_no_speech() -> None:
    with pytest.raises(ValueError, match="nobody speaks"):
        find_bounds(np.zeros(RATE))


def test_a_folder_without_recordings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no recordings"):
        read_recordings(tmp_path)


def test_a_recording_is_played_with_its_own_background_around_it(tmp_path: Path) -> None:
    write(tmp_path)
    (recording,) = read_recordings(tmp_path)
    pcm, end = recording.played()
    assert loud_seconds(pcm, end) == pytest.approx((0.3, 0), abs=0.02)
    assert len(pcm) / 2 / RATE == pytest.approx(end + AFTER, abs=0.01)


def test_a_hesitation_makes_the_gap_longer(tmp_path: Path) -> None:
    write(tmp_path)
    (recording,) = read_recordings(tmp_path)
    _, end = recording.played()
    pcm, later = recording.played(0.5)
    assert later == pytest.approx(end + 0.5)
    assert loud_seconds(pcm, later) == pytest.approx((0.3, 0), abs=0.02)
