"""The format to ask a speech engine for, so that Home Assistant converts nothing.

A conversion starts an ffmpeg process, which takes longer than all the rest between transcript and voice.
There is none if what is asked for is what the engine gives anyway. Without a wish Home Assistant converts
everything to MP3.
"""

from typing import Final

from homeassistant.components import tts
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er

OTHER_FORMATS: Final = {
    "amazon_polly": "mp3",
    "baidu": "mp3",
    "edge_tts": "mp3",
    "elevenlabs": "mp3",
    "fish_audio": "mp3",
    "google_cloud": "mp3",
    "google_translate": "mp3",
    "microsoft": "mp3",
    "voicerss": "mp3",
    "yandextts": "mp3",
}
"""Formats of engines that give no WAV, by integration. One that is missing here costs the conversion."""


def speech_options(hass: HomeAssistant, engine: str | None) -> dict[str, str]:
    """Return the options for a text-to-speech engine, an entity or the name of an integration."""
    entry = er.async_get(hass).async_get(engine) if engine else None
    integration = entry.platform if entry else engine
    return {tts.ATTR_PREFERRED_FORMAT: OTHER_FORMATS.get(integration or "", "wav")}
