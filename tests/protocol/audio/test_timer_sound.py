"""The sound of a timer that has ended, and the tone before a recording."""

from array import array

import pytest

from custom_components.xiaozhi.protocol.audio.timer_sound import TIMER_SOUND_SECONDS, timer_sound, tone


@pytest.mark.parametrize("sample_rate", [16000, 24000])
def test_it_strikes_twice_fades_and_can_be_repeated(sample_rate: int) -> None:
    samples = array("h", timer_sound(sample_rate))
    assert len(samples) == TIMER_SOUND_SECONDS * sample_rate

    def loudest(start: float, end: float) -> int:
        return max(map(abs, samples[round(start * sample_rate) : round(end * sample_rate)]))

    assert 8000 < loudest(0, 0.1) < 32767
    assert loudest(0.25, 0.34) < loudest(0.35, 0.45)
    assert loudest(1.45, 1.5) < 200
    assert abs(samples[0]) < 200


def test_the_tone_begins_and_ends_softly() -> None:
    samples = array("h", tone(24000))
    assert len(samples) == 4800
    assert max(map(abs, samples)) > 15000
    assert max(map(abs, (*samples[:20], *samples[-20:]))) < 250
