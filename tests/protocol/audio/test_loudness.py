"""What is told of a noise by its levels."""

from random import Random

import pytest

from custom_components.xiaozhi.protocol.audio.loudness import above_noise, levels, noise_alone

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
