"""What stands in for lost packets is what was heard before them, for a moment."""

import pytest

from custom_components.xiaozhi.protocol.audio.concealment import concealment
from custom_components.xiaozhi.protocol.audio.timeline import UPLINK_SAMPLE_RATE, silence
from tests.protocol.audio.sounds import level, tone

FRAME = len(silence(60))


@pytest.mark.parametrize("milliseconds", [20, 60, 120])
def test_frames_have_the_announced_length_whatever_was_heard(milliseconds: int) -> None:
    """A packet may be longer or shorter than the device has announced."""
    made_up = concealment(tone(milliseconds / 1000, UPLINK_SAMPLE_RATE), 1, 60)
    assert len(made_up) == FRAME
    assert level(made_up[-320:]) > 1000
