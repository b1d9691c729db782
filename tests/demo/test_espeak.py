"""Speech from text, whoever wants it."""

import subprocess
import sys

import pytest

from demo.processes import ROOT
from simulator.audio.espeak import SpeechError, resample, synthesize


def test_speech_comes_at_the_rate_that_is_asked_for() -> None:
    """And lasts as long at every rate."""
    pcm, rate = synthesize("turn on the kitchen light")
    assert rate == 22050
    for other in (16000, 24000):
        resampled, given = synthesize("turn on the kitchen light", sample_rate=other)
        assert given == other
        assert len(resampled) / 2 / other == pytest.approx(len(pcm) / 2 / rate, abs=0.02)


def test_faster_speech_is_shorter() -> None:
    """Words per minute."""
    slow, _ = synthesize("turn on the kitchen light", speed=120)
    fast, _ = synthesize("turn on the kitchen light", speed=240)
    assert len(fast) < 0.7 * len(slow)


def test_an_unknown_voice_is_an_error() -> None:
    """Instead of speech by another one."""
    with pytest.raises(SpeechError, match="no voice 'klingon-opera'"):
        synthesize("hello", voice="klingon-opera")


def test_resampling_keeps_the_length() -> None:
    """One second stays one second."""
    assert len(resample(bytes(2 * 22050), 22050, 16000)) / 2 == pytest.approx(16000, abs=32)


def test_a_checkout_far_down_in_folders_can_speak(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The library cannot read a long path to its data, so it gets a short one, which is gone afterwards."""
    folder = tmp_path_factory.mktemp("short")
    script = "import simulator.audio.espeak as e; e._MAX_DATA_PATH = 0; print(len(e.synthesize('hello')[0]))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={"TMPDIR": str(folder)},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert int(done.stdout) > 10_000
    assert list(folder.iterdir()) == []
