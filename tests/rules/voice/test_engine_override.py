"""An engine that stands in for another offers what that one does, but appears in no list of engines."""

from custom_components.xiaozhi.voice.engine_override import OverridingEngine
from tests.integration.speech import ScriptedSpeechToText


def test_it_offers_what_the_engine_does() -> None:
    engine = ScriptedSpeechToText()
    overriding = OverridingEngine(engine, engine.async_process_audio_stream)
    assert overriding.audio_processing == engine.audio_processing
    assert overriding.supported_languages == []
