"""Which voice pipeline a device talks to."""

from homeassistant.components.assist_pipeline import (
    OPTION_PREFERRED,
    Pipeline,
    PipelineNotFound,
    async_get_pipeline,
)
from homeassistant.components.assist_pipeline.select import get_chosen_pipeline
from homeassistant.core import HomeAssistant, callback

from ..const import DOMAIN
from ..device.device import Device


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
    return async_get_pipeline(hass, get_chosen_pipeline(hass, DOMAIN, device.mac))


@callback
def spoken_language(hass: HomeAssistant, device: Device) -> str:
    """Return the language that a device speaks."""
    pipeline = chosen_pipeline(hass, device)
    return pipeline.tts_language or pipeline.language
