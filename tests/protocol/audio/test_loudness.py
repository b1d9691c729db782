"""What is told of a noise by its levels."""

from math import log10
from random import Random

import pytest

from custom_components.xiaozhi.protocol.audio.loudness import (
    above_noise,
    as_loud_as,
    levels,
    noise_alone,
)
from tests.protocol.audio.sounds import level, tone

RATE = 16000


def noise(seconds: float, *, restless: bool) -> bytes:
    """Return white noise, as loud all the time or by as much as 12 dB louder and quieter."""
    chance = Random(1)
    pcm = bytearray()
    for _ in range(round(seconds * 50)):
        loud = 500 * 10 ** (chance.uniform(-6, 6) / 20 if restless else 0)
        for _ in range(RATE // 50):
            pcm += round(chance.gauss(0, loud)).to_bytes(2, "little", signed=True)
    return bytes(pcm)


@pytest.mark.parametrize("restless", [False, True])
def test_noise_alone_is_not_taken_for_speech_nor_speech_for_noise(restless: bool) -> None:
    heard = levels(noise(3, restless=restless))
    spread = noise_alone(heard)
    assert (spread > 4) is restless
    if not restless:
        # Of steady noise, a tenth of the levels stands no higher.
        assert above_noise(heard, heard) < spread < 2.5
    assert noise_alone([]) == noise_alone([0.0]) == 6


@pytest.mark.parametrize(("loud", "gain"), [(0, 0), (-12, -12), (9, 9), (40, 20), (-28, -20)])
def test_speech_is_made_as_loud_as_other_speech_within_bounds(loud: float, gain: float) -> None:
    speech = tone(0.5, RATE, amplitude=300) + bytes(RATE)
    other = tone(1, RATE, amplitude=round(300 * 10 ** (loud / 20)))
    changed = level(as_loud_as(speech, other)) / level(speech)
    assert 20 * log10(changed) == pytest.approx(gain, abs=0.5)
    assert as_loud_as(speech, b"") == as_loud_as(speech, bytes(RATE)) == speech
    assert as_loud_as(b"", other) == b""
