"""Which speech-to-text engines are asked for early transcripts."""

from typing import Final

from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.core import HomeAssistant, callback

from .engine_locations import EngineLocation, engine_integration, engine_location
from .engine_override import Engine

# They transcribe while they listen, and are done soon after the last word: a call of its own would have to
# begin at the first. By integration and a part of their names; of others, their `audio_processing` says so.
_WHILE_LISTENING: Final = (
    ("wyoming", "vosk"),
    ("wyoming", "speech-to-phrase"),
    ("wyoming", "rhasspy-speech"),
    ("cloud", ""),
    ("google_cloud", ""),
)


@callback
def transcribes_early(
    hass: HomeAssistant, pipeline: Pipeline, engine: Engine, *, chosen_by_owner: bool
) -> bool:
    """Whether an early call of a pipeline's engine saves time.

    Outside of the house each call may cost money, also one that is dropped: only if it is `chosen_by_owner`.
    """
    if not engine.audio_processing.requires_external_vad:
        return False
    integration = engine_integration(hass, pipeline.stt_engine)
    name = str(engine.name or "").casefold().replace(" ", "-")
    if any(platform == integration and part in name for platform, part in _WHILE_LISTENING):
        return False
    return chosen_by_owner or engine_location(hass, pipeline.stt_engine) is EngineLocation.LOCAL
