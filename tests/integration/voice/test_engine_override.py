"""An engine that stands in for another offers what that one does, but appears in no list of engines."""

import pytest

from custom_components.xiaozhi.voice.engine_override import OverridingEngine
from tests.integration.speech import ScriptedSpeechToText


@pytest.mark.parametrize(
    "what",
    [
        "supported_formats",
        "supported_codecs",
        "supported_bit_rates",
        "supported_sample_rates",
        "supported_channels",
        "audio_processing",
    ],
)
async def test_it_offers_what_the_engine_does(what: str) -> None:
    engine = ScriptedSpeechToText()
    overriding = OverridingEngine(engine, engine.async_process_audio_stream)
    assert getattr(overriding, what) == getattr(engine, what)
    assert overriding.supported_languages == []
