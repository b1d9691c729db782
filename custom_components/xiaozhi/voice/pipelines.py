"""The voice pipelines of devices, the places of their engines, and whether these are called early."""

from enum import StrEnum
from typing import Any, Final

from homeassistant.components.assist_pipeline import (
    OPTION_PREFERRED,
    Pipeline,
    PipelineNotFound,
    async_get_pipeline,
    async_get_pipelines,
)
from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.const import MATCH_ALL, Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.entity import entity_sources
from homeassistant.loader import IntegrationNotLoaded, async_get_loaded_integration

from ..announcements.announcement_speech import voice_language
from ..const import DOMAIN
from ..device.device import Device
from .speech_to_text import Engine

PIPELINE_SELECT: Final = "pipeline"
END_OF_SPEECH_SELECT: Final = "vad_sensitivity"
BY_WHAT_WAS_SAID: Final = "quick_and_patient"
"""The option of that select that is no pause of fixed length."""

# They transcribe while they listen, and are done soon after the last word: a call of its own would have to
# begin at the first. By integration and a part of their names; of others, their `audio_processing` says so.
_WHILE_LISTENING: Final = (
    ("wyoming", "vosk"),
    ("wyoming", "speech-to-phrase"),
    ("wyoming", "rhasspy-speech"),
    ("cloud", ""),
    ("google_cloud", ""),
)


class EngineLocation(StrEnum):
    """Place of an engine, as its integration states."""

    LOCAL = "local"
    CLOUD = "cloud"
    UNKNOWN = "unknown"
    """Its integration is not loaded, or does not state it."""
    MISSING = "missing"
    """The pipeline has no such engine."""


@callback
def chosen_pipeline(hass: HomeAssistant, device: Device, wake_word: str | None = None) -> Pipeline:
    """Return the pipeline that the owner has chosen for a wake word, or else for the device."""
    wanted = device.settings.wake_word_pipelines.get(wake_word) if wake_word is not None else None
    if wanted is not None:
        try:
            return async_get_pipeline(hass, None if wanted == OPTION_PREFERRED else wanted)
        except PipelineNotFound:
            # It was deleted since.
            pass
    # The select shows names. Without a state, such as that of a disabled one, the preferred one applies.
    select = assist_select(hass, device, PIPELINE_SELECT)
    name = state.state if select is not None and (state := hass.states.get(select)) else None
    chosen = next((pipeline for pipeline in async_get_pipelines(hass) if pipeline.name == name), None)
    return chosen or async_get_pipeline(hass)


@callback
def assist_select(hass: HomeAssistant, device: Device, key: str) -> str | None:
    """Return the entity id of a device's select for Assist."""
    return er.async_get(hass).async_get_entity_id(Platform.SELECT, DOMAIN, f"{device.mac}-{key}")


@callback
def spoken_language(hass: HomeAssistant, device: Device) -> str:
    """Return the language that a device speaks."""
    return voice_language(chosen_pipeline(hass, device))


def command_language(pipeline: Pipeline) -> str:
    """Return the language of the commands, as the pipeline does for an agent that speaks every language."""
    if pipeline.conversation_language == MATCH_ALL:
        return pipeline.stt_language or pipeline.tts_language or pipeline.language
    return pipeline.conversation_language


@callback
def engine_locations(hass: HomeAssistant, device: Device) -> dict[str, EngineLocation]:
    """Return the places of the engines of a device's pipeline."""
    engines = _engines(chosen_pipeline(hass, device))
    return {part: engine_location(hass, engine) for part, engine in engines.items()}


@callback
def describe_pipeline(hass: HomeAssistant, device: Device) -> dict[str, Any]:
    """Return a device's pipeline for diagnostics."""
    pipeline = chosen_pipeline(hass, device)
    parts = {
        part: {
            "engine": engine,
            "integration": engine_integration(hass, engine),
            "works": engine_location(hass, engine),
        }
        for part, engine in _engines(pipeline).items()
    }
    return {
        **parts,
        "language": pipeline.language,
        "speech_language": pipeline.tts_language,
        "recognition_language": pipeline.stt_language,
        "prefers_local_commands": pipeline.prefer_local_intents,
    }


def _engines(pipeline: Pipeline) -> dict[str, str | None]:
    return {
        "speech_to_text": pipeline.stt_engine,
        "assistant": pipeline.conversation_engine,
        "text_to_speech": pipeline.tts_engine,
    }


@callback
def engine_integration(hass: HomeAssistant, engine: str | None) -> str | None:
    """Return the integration of an engine, which is an entity or, in older ones, named after it."""
    if engine is None:
        return None
    source = entity_sources(hass).get(engine)
    return source["domain"] if source is not None else engine if "." not in engine else None


@callback
def engine_location(hass: HomeAssistant, engine: str | None) -> EngineLocation:
    """Return the place of an engine."""
    if engine is None:
        return EngineLocation.MISSING
    integration = engine_integration(hass, engine)
    if integration == CONVERSATION_DOMAIN:
        # Home Assistant's own assistant.
        return EngineLocation.LOCAL
    try:
        known = async_get_loaded_integration(hass, integration or "")
    except IntegrationNotLoaded:
        return EngineLocation.UNKNOWN
    if not known.iot_class:
        return EngineLocation.UNKNOWN
    return EngineLocation.CLOUD if known.iot_class.startswith("cloud") else EngineLocation.LOCAL


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
