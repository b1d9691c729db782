"""The demo's voice speaks, at once and audibly."""

import numpy as np
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped

from demo.speech_to_text import Recognizer
from simulator.audio.espeak import resample


async def read(client: AsyncTcpClient) -> Event:
    event = await client.read_event()
    assert event, "the server hung up"
    return event


async def speech_of(client: AsyncTcpClient) -> tuple[bytes, int]:
    """Read one whole answer: PCM and its rate."""
    rate = AudioStart.from_event(await read(client)).rate
    pcm = b""
    while not AudioStop.is_type((event := await read(client)).type):
        pcm += AudioChunk.from_event(event).audio
    return pcm, rate


def loudness(pcm: bytes) -> float:
    """Root mean square of 16 bit samples."""
    return float(np.sqrt(np.mean(np.frombuffer(pcm, "<i2").astype(float) ** 2)))


async def test_a_text_becomes_audible_speech(text_to_speech: AsyncTcpClient, recognizer: Recognizer) -> None:
    """So clear that the demo's own recognition understands it."""
    await text_to_speech.write_event(Synthesize(text="Turn off the living room light.").event())
    pcm, rate = await speech_of(text_to_speech)
    assert rate == 22050
    assert 1.0 < len(pcm) / 2 / rate < 3.0
    assert loudness(pcm) > 1000
    assert await recognizer.transcribe(bytes(24000) + resample(pcm, rate, 16000) + bytes(16000)) == (
        "turn off the living room light"
    )


async def test_a_sentence_is_spoken_while_the_text_still_comes(text_to_speech: AsyncTcpClient) -> None:
    """The first comes before the second is complete; the whole text at the end is not spoken again."""
    first, second = "It is 3.5 degrees outside. ", "Take a coat."
    await text_to_speech.write_event(SynthesizeStart().event())
    await text_to_speech.write_event(SynthesizeChunk(text=first + second[:4]).event())
    assert AudioStart.is_type((await read(text_to_speech)).type)
    pcm = AudioChunk.from_event(await read(text_to_speech)).audio
    await text_to_speech.write_event(SynthesizeChunk(text=second[4:]).event())
    await text_to_speech.write_event(Synthesize(text=first + second).event())
    await text_to_speech.write_event(SynthesizeStop().event())
    while not AudioStop.is_type((event := await read(text_to_speech)).type):
        pcm += AudioChunk.from_event(event).audio
    assert SynthesizeStopped.is_type((await read(text_to_speech)).type)

    await text_to_speech.write_event(Synthesize(text=first + second).event())
    at_once, rate = await speech_of(text_to_speech)
    assert abs(len(pcm) - len(at_once)) / 2 / rate < 0.2


async def test_an_empty_text_is_silence_and_no_error(text_to_speech: AsyncTcpClient) -> None:
    """As when a conversation agent answers nothing."""
    await text_to_speech.write_event(Synthesize(text=" ").event())
    pcm, _ = await speech_of(text_to_speech)
    assert pcm == b""


async def test_the_voice_says_that_it_can_begin_early(text_to_speech: AsyncTcpClient) -> None:
    """Home Assistant then speaks the first sentence while a language model still writes."""
    await text_to_speech.write_event(Describe().event())
    program = Info.from_event(await read(text_to_speech)).tts[0]
    assert program.supports_synthesize_streaming
    assert program.voices[0].languages == ["en"]
