"""The demo understands its sentences, as they arrive from a device, and nothing else."""

from itertools import product
import re

import numpy as np
import pytest
from wyoming.asr import Transcribe, Transcript
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.info import Describe, Info

from custom_components.xiaozhi.protocol.audio.codec import OpusDecoder
from custom_components.xiaozhi.protocol.audio.timeline import silence
from demo.speech_to_text import GRAMMAR, SAMPLE_RATE, Recognizer
from simulator.audio.espeak import synthesize
from simulator.audio.opus import FRAME_SAMPLES, OpusEncoder

# Somebody who speaks at once; and the silence from which the integration knows that they have finished.
LEAD, TAIL = silence(200), silence(600)
OTHER_SENTENCES = [
    "how are you today",
    "the weather is nice",
    "open the garage door",
    "please tell me a story about a rabbit",
    "turn the radio on",
    "thank you very much",
    "seventeen green bottles are hanging on the wall",
]


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


def say(text: str) -> bytes:
    """Return 16 kHz PCM of a text, as the simulated person says it."""
    return synthesize(text, voice="en-us+f2", speed=150, sample_rate=SAMPLE_RATE)[0]


def from_device(pcm: bytes) -> bytes:
    """Send speech through the device's encoder, with its 1-byte packets for silence, and ours."""
    recorded = LEAD + pcm + TAIL
    recorded += bytes(-len(recorded) % (2 * FRAME_SAMPLES))
    encoder, decoder = OpusEncoder(), OpusDecoder(SAMPLE_RATE, 60)
    frames = (
        recorded[start : start + 2 * FRAME_SAMPLES] for start in range(0, len(recorded), 2 * FRAME_SAMPLES)
    )
    packets = [encoder.encode(frame) for frame in frames]
    assert 1 in map(len, packets), "the encoder made no 1-byte packet"
    return b"".join(decoder.decode(packet) for packet in packets)


def noise(kind: str) -> bytes:
    """Return two seconds without speech."""
    samples = np.arange(2 * SAMPLE_RATE)
    random = np.random.default_rng(1)
    wave = {
        "silence": np.zeros(len(samples)),
        "hiss": random.normal(0, 300, len(samples)),
        "roar": random.normal(0, 4000, len(samples)),
        "hum": 3000 * np.sin(2 * np.pi * 120 * samples / SAMPLE_RATE),
    }[kind]
    return wave.astype("<i2").tobytes()


def test_the_grammar_has_the_sentences_that_the_readme_promises() -> None:
    """The demo's own sentence is among them, and nothing is left unexpanded."""
    sentences = all_sentences()
    assert {"turn on the kitchen light", "what time is it", "stop"} <= set(sentences)
    assert not any(mark in sentence for sentence in sentences for mark in "<>|")


@pytest.mark.parametrize("sentence", all_sentences())
async def test_every_sentence_is_understood_as_the_device_sends_it(
    sentence: str, recognizer: Recognizer
) -> None:
    """Opus with 1-byte packets for silence changes nothing."""
    assert await recognizer.transcribe(from_device(say(sentence))) == sentence


@pytest.mark.parametrize("sentence", ["turn on the kitchen light", "set a timer for fifteen seconds", "stop"])
async def test_a_sentence_is_understood_as_it_was_spoken(sentence: str, recognizer: Recognizer) -> None:
    """Without Opus in between, of which the test above has every sentence."""
    assert sentence in all_sentences()
    assert await recognizer.transcribe(LEAD + say(sentence) + TAIL) == sentence


@pytest.mark.parametrize("sentence", OTHER_SENTENCES)
async def test_other_speech_is_not_taken_for_a_command(sentence: str, recognizer: Recognizer) -> None:
    """A light must not go on because somebody talks."""
    assert await recognizer.transcribe(from_device(say(sentence))) == ""


@pytest.mark.parametrize("kind", ["silence", "hiss", "roar", "hum"])
async def test_what_is_not_speech_gives_no_text(kind: str, recognizer: Recognizer) -> None:
    """Not even a short word."""
    assert await recognizer.transcribe(noise(kind)) == ""


@pytest.mark.parametrize("pcm", [b"", b"\1", bytes(2), bytes(200)])
async def test_next_to_no_audio_gives_no_text(pcm: bytes, recognizer: Recognizer) -> None:
    """As when the user interrupts at once."""
    assert await recognizer.transcribe(pcm) == ""


async def test_the_server_says_what_it_is_and_answers_over_its_socket(speech_to_text: AsyncTcpClient) -> None:
    """Two commands on one connection, which do not mix."""
    await speech_to_text.write_event(Describe().event())
    event = await speech_to_text.read_event()
    assert event
    assert Info.from_event(event).asr[0].models[0].languages == ["en"]

    for sentence in ("turn off the kitchen light", "what time is it"):
        await speech_to_text.write_event(Transcribe(language="en").event())
        await speech_to_text.write_event(AudioStart(rate=SAMPLE_RATE, width=2, channels=1).event())
        pcm = from_device(say(sentence))
        for start in range(0, len(pcm), 1024):
            chunk = AudioChunk(rate=SAMPLE_RATE, width=2, channels=1, audio=pcm[start : start + 1024])
            await speech_to_text.write_event(chunk.event())
        await speech_to_text.write_event(AudioStop().event())
        event = await speech_to_text.read_event()
        assert event
        assert Transcript.from_event(event).text == sentence
