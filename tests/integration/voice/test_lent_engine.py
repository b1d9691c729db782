"""An engine that stands in for another offers what that one does, but appears in no list of engines."""

import pytest

from custom_components.xiaozhi.voice.lent_engine import LentEngine
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
def test_it_offers_what_the_engine_does(what: str) -> None:
    engine = ScriptedSpeechToText()
    lent = LentEngine(engine, engine.async_process_audio_stream)
    assert getattr(lent, what) == getattr(engine, what)
    assert lent.supported_languages == []
