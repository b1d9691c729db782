"""What stands in for lost packets is what was heard before them, for a moment."""

import pytest

from custom_components.xiaozhi.protocol.audio.concealment import Concealment
from custom_components.xiaozhi.protocol.audio.timeline import UPLINK_SAMPLE_RATE, silence
from tests.protocol.audio.sounds import hiss, level, pitch_level, tone

FRAME = len(silence(60))


def test_what_was_heard_last_fades_away_and_then_there_is_silence() -> None:
    """Three frames, each half as loud as the one before, at the same pitch."""
    concealment = Concealment(60)
    heard = tone(0.06, UPLINK_SAMPLE_RATE)
    concealment.heard(hiss(0.06, UPLINK_SAMPLE_RATE))
    concealment.heard(heard)
    made_up = concealment.frames(5)
    frames = [made_up[start : start + FRAME] for start in range(0, len(made_up), FRAME)]
    assert len(frames) == 5
    levels = [level(frame) / level(heard) for frame in frames]
    assert levels == pytest.approx([1 / 2, 1 / 4, 1 / 8, 0, 0], abs=0.001)
    assert pitch_level(frames[0], UPLINK_SAMPLE_RATE, 440) == pytest.approx(4000, rel=0.01)


def test_before_anything_was_heard_there_is_silence() -> None:
    assert Concealment(60).frames(2) == silence(120)


@pytest.mark.parametrize("milliseconds", [20, 60, 120])
def test_frames_have_the_announced_length_whatever_was_heard(milliseconds: int) -> None:
    """A packet may be longer or shorter than the device has announced."""
    concealment = Concealment(60)
    concealment.heard(tone(milliseconds / 1000, UPLINK_SAMPLE_RATE))
    assert len(concealment.frames(1)) == FRAME
    assert level(concealment.frames(1)[-320:]) > 1000
