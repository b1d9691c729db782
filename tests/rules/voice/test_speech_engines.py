"""What is known of speech engines: when they are called early, and the formats of those that speak."""

from collections.abc import AsyncGenerator, AsyncIterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import homeassistant.components
from homeassistant.components import stt
import pytest

from custom_components.xiaozhi.announcements.announcement_speech import OTHER_FORMATS
from custom_components.xiaozhi.voice import pipelines
from custom_components.xiaozhi.voice.pipelines import EngineLocation, transcribes_early
from custom_components.xiaozhi.voice.speech_to_text import Recognizer, speech_to_text
from custom_components.xiaozhi.voice.turn_errors import (
    NOT_UNDERSTOOD,
    RECOGNITION_FAILED,
    UNSUPPORTED_SPEECH,
    TurnError,
)
from tests.integration.speech import ScriptedSpeechToText


@pytest.mark.parametrize(
    ("integration", "name", "location", "early"),
    [
        ("wyoming", "faster-whisper", EngineLocation.LOCAL, "always"),
        ("wyoming", "vosk", EngineLocation.LOCAL, "never"),
        ("wyoming", "Speech to Phrase", EngineLocation.LOCAL, "never"),
        ("cloud", "Home Assistant Cloud", EngineLocation.CLOUD, "never"),
        ("openai_conversation", "OpenAI STT", EngineLocation.CLOUD, "if the owner has chosen it"),
        ("homemade", "sense-voice", EngineLocation.LOCAL, "always"),
        ("homemade", "anything", EngineLocation.UNKNOWN, "if the owner has chosen it"),
        ("homemade", "endless", EngineLocation.LOCAL, "never"),
    ],
)
def test_engines_are_known_by_their_integration_and_name(
    monkeypatch: pytest.MonkeyPatch, integration: str, name: str, location: EngineLocation, early: str
) -> None:
    monkeypatch.setattr(pipelines, "engine_integration", lambda *_: integration)
    monkeypatch.setattr(pipelines, "engine_location", lambda *_: location)
    processing = SimpleNamespace(requires_external_vad=name != "endless")
    hass: Any = None
    pipeline: Any = SimpleNamespace(stt_engine="stt.engine")
    engine: Any = SimpleNamespace(name=name, audio_processing=processing)
    answers = [transcribes_early(hass, pipeline, engine, chosen_by_owner=chosen) for chosen in (False, True)]
    assert answers == [early == "always", early != "never"]


class Faulty(ScriptedSpeechToText):
    """Fails in the way of its line."""

    entity_id = "stt.faulty"

    async def async_process_audio_stream_with_progress(
        self, metadata: stt.SpeechMetadata, stream: AsyncIterable[bytes]
    ) -> AsyncGenerator[stt.SpeechResult]:
        match self.lines.pop():
            case "raises":
                raise OSError
            case "ends without a transcript":
                return
            case line:
                state = stt.SpeechResultState.SUCCESS if line is not None else stt.SpeechResultState.ERROR
                yield stt.SpeechResult(line, state)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("raises", RECOGNITION_FAILED),
        ("ends without a transcript", RECOGNITION_FAILED),
        (None, RECOGNITION_FAILED),
        ("", NOT_UNDERSTOOD),
        ("a language that it does not have", UNSUPPORTED_SPEECH),
    ],
)
async def test_an_engine_that_fails_ends_the_turn_with_the_code_of_a_pipeline(
    line: str | None, code: str
) -> None:
    engine = Faulty()
    engine.lines = [line]
    pipeline: Any = SimpleNamespace(stt_language="de" if code == UNSUPPORTED_SPEECH else "en", language="en")
    recognizer = Recognizer(engine, pipeline)

    async def sound() -> AsyncGenerator[bytes]:
        yield bytes(640)

    with pytest.raises(TurnError) as failed:
        await speech_to_text(recognizer, recognizer.transcribe, sound(), lambda _: None)
    assert failed.value.code == code


def test_home_assistants_engines_that_give_only_mp3_are_known() -> None:
    (folder,) = map(Path, homeassistant.components.__path__)
    found = {
        file.parent.name
        for file in folder.glob("*/tts.py")
        if '"mp3"' in (source := file.read_text()) and '"wav"' not in source
    }
    # The demo plays a file of its own.
    assert found - {"demo"} <= OTHER_FORMATS.keys()
    assert len(found) > 2
