"""Where speech begins, and where it goes on after a pause."""

import array
import math

import pytest

from custom_components.xiaozhi.protocol.audio.speech import SpeechShape

RATE = 24000


def sound(seconds: float, amplitude: int) -> bytes:
    samples = (
        round(amplitude * math.sin(2 * math.pi * 300 * index / RATE))
        for index in range(round(seconds * RATE))
    )
    return array.array("h", samples).tobytes()


def heard(shape: SpeechShape, pcm: bytes, piece: int) -> bytes:
    return b"".join(shape.take(pcm[start : start + piece]) for start in range(0, len(pcm), piece))


@pytest.mark.parametrize("piece", [100, 4096, 100_000])
@pytest.mark.parametrize("noise", [0, 40])
@pytest.mark.parametrize("silence", [0.2, 3.0])
def test_only_thirty_milliseconds_of_the_silence_before_speech_are_left(
    piece: int, noise: int, silence: float
) -> None:
    speech = sound(0.5, 9000)
    played = heard(SpeechShape(RATE), sound(silence, noise) + speech, piece)
    assert played.endswith(speech)
    assert (len(played) - len(speech)) / 2 / RATE == pytest.approx(0.03, abs=0.011)


def test_speech_that_begins_at_once_is_left_as_it_is() -> None:
    speech = sound(0.5, 9000)
    assert heard(SpeechShape(RATE), speech, 1000) == speech


def test_silence_alone_is_nothing_to_play() -> None:
    assert heard(SpeechShape(RATE), bytes(2 * RATE), 1000) == b""


@pytest.mark.parametrize("noise", [0, 90])
def test_it_tells_when_speech_goes_on_after_a_pause_and_takes_no_short_gap_for_one(noise: int) -> None:
    shape = SpeechShape(RATE)
    voice = sound(1, 9000)
    heard(shape, bytes(9600) + voice + sound(0.1, noise) + voice + sound(0.3, noise) + voice, 4096)
    assert shape.resumed == [pytest.approx(2.43, abs=0.03)]
