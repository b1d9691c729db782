"""What the screen shows of an answer, and how its voice is taken from the engine."""

from collections.abc import AsyncGenerator
import io
from typing import Any
import wave

import av
from homeassistant.components.tts import TTSAudioRequest, TTSAudioResponse
import pytest

from custom_components.xiaozhi.voice.speech_format import OTHER_FORMATS
from simulator import State, converse
from tests.integration.boxes import COMMAND, Boot, Speech
from tests.integration.speech import SAMPLE_RATE, tone


def as_mp3(wav: bytes) -> bytes:
    """Return a WAV as an MP3."""
    output = io.BytesIO()
    with av.open(io.BytesIO(wav)) as source, av.open(output, "w", format="mp3") as target:
        stream = target.add_stream("libmp3lame", rate=SAMPLE_RATE, layout="mono")
        for frame in source.decode(audio=0):
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    return output.getvalue()


def quiet_then(seconds: float) -> bytes:
    """Return a tone after as much silence, as a WAV."""
    output = io.BytesIO()
    with wave.open(output, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(SAMPLE_RATE)
        file.writeframes(bytes(2 * int(SAMPLE_RATE * seconds)) + tone(1)[44:])
    return output.getvalue()


@pytest.mark.parametrize("kind", ["mp3", "wav"])
async def test_no_engine_is_converted_and_the_silence_before_its_voice_is_not_played(
    speech: Speech, boot: Boot, command: bytes, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    asked: list[dict[str, Any]] = []

    async def speak(message: str, language: str, options: dict[str, Any]) -> tuple[str, bytes]:
        asked.append(options)
        wav = quiet_then(1.5)
        return kind, as_mp3(wav) if kind == "mp3" else wav

    converted: list[object] = []
    monkeypatch.setitem(OTHER_FORMATS, "scripted", kind)
    monkeypatch.setattr(speech.voice, "async_get_tts_audio", speak)
    monkeypatch.setattr("homeassistant.components.tts._async_convert_audio", converted.append)
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    talk = await converse(device, command)
    assert len(asked) == 1
    assert not converted
    assert 0.95 < talk.played_seconds < 1.25


async def test_an_answer_has_a_neutral_face_unless_its_text_says_otherwise(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    await speech.answer_with("It is noon.", "Oh no 😢", heard=[COMMAND] * 2)
    device = await boot()
    for word, face in (("hello", "neutral"), ("hello again", "crying")):
        assert (await converse(device, command, word=word)).emotions == ["thinking", face]


async def test_a_voice_that_fails_half_way_leaves_the_whole_text(
    speech: Speech, boot: Boot, command: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(request: TTSAudioRequest) -> TTSAudioResponse:
        async def speak() -> AsyncGenerator[bytes]:
            yield tone(0.5)
            async for _ in request.message_gen:
                pass
            raise OSError("out of order")

        return TTSAudioResponse("wav", speak())

    await speech.use(conversation_engine=speech.agent.entity_id, tts_engine=speech.streaming_voice.entity_id)
    monkeypatch.setattr(speech.streaming_voice, "async_stream_tts_audio", fail)
    speech.recognizer.lines = [COMMAND]
    said = "This is the first sentence of a long story. This is the second. This is the last."
    speech.agent.lines = [said]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 20)
    *text, error = device.screen.captions
    assert " ".join(text) == said
    assert error.startswith("The voice is not ready.")


async def test_a_long_text_without_a_voice_is_shown_in_parts(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    await speech.use(conversation_engine=speech.agent.entity_id, tts_engine=None)
    said = "There is a **lot** to read. " * 30
    speech.recognizer.lines = [COMMAND]
    speech.agent.lines = [said]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 20)
    captions = device.screen.captions
    assert all(len(caption) <= 300 for caption in captions)
    assert " ".join(captions) == said.replace("*", "").strip()
