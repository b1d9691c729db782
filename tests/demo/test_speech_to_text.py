"""The demo understands its sentences, as they arrive from a device, and nothing else."""

from itertools import product
import re

import pytest

from custom_components.xiaozhi.protocol.audio.codec import OpusDecoder
from custom_components.xiaozhi.protocol.audio.timeline import silence
from demo.speech_to_text import GRAMMAR, SAMPLE_RATE, Recognizer
from simulator.audio.espeak import synthesize
from simulator.audio.opus import FRAME_SAMPLES, OpusEncoder

# Somebody who speaks at once; and the silence from which the integration knows that they have finished.
LEAD, TAIL = silence(200), silence(600)
OTHER_SENTENCES = [
    "open the garage door",
    "please tell me a story about a rabbit",
    "turn the radio on",
]


@pytest.fixture(scope="module")
def recognizer() -> Recognizer:
    """Speech recognition; its model takes a moment to load."""
    return Recognizer()


def all_sentences() -> list[str]:
    """Every sentence of the grammar."""
    rules = dict(re.findall(r"<(\w+)>\s*=\s*(.*?);", GRAMMAR.read_text(), re.DOTALL))

    def expand(expression: str) -> list[str]:
        return [
            " ".join(words)
            for alternative in expression.split("|")
            for words in product(
                *(expand(rules[token[1:-1]]) if token[0] == "<" else [token] for token in alternative.split())
            )
        ]

    return expand(rules["sentence"])


def from_device(text: str) -> bytes:
    """Send speech through the device's encoder, with its 1-byte packets for silence, and ours."""
    recorded = LEAD + synthesize(text, voice="en-us+f2", speed=150, sample_rate=SAMPLE_RATE)[0] + TAIL
    recorded += bytes(-len(recorded) % (2 * FRAME_SAMPLES))
    encoder, decoder = OpusEncoder(), OpusDecoder(60)
    frames = (
        recorded[start : start + 2 * FRAME_SAMPLES] for start in range(0, len(recorded), 2 * FRAME_SAMPLES)
    )
    packets = [encoder.encode(frame) for frame in frames]
    assert 1 in map(len, packets), "the encoder made no 1-byte packet"
    return b"".join(decoder.decode(packet) for packet in packets)


@pytest.mark.parametrize(
    "every", [pytest.param(1, marks=pytest.mark.weekly), 15], ids=["all sentences", "some"]
)
async def test_sentences_are_understood_as_the_device_sends_them(recognizer: Recognizer, every: int) -> None:
    sentences = all_sentences()
    assert {"turn on the kitchen light", "what time is it", "stop"} <= set(sentences)
    sentences = sentences[::every]
    heard = {sentence: await recognizer.transcribe(from_device(sentence)) for sentence in sentences}
    assert heard == {sentence: sentence for sentence in sentences}


async def test_other_speech_is_not_taken_for_a_command(recognizer: Recognizer) -> None:
    """A light must not go on because somebody talks."""
    heard = {sentence: await recognizer.transcribe(from_device(sentence)) for sentence in OTHER_SENTENCES}
    assert heard == dict.fromkeys(OTHER_SENTENCES, "")
