"""The part of the form of a device about phrases of the owner's that wake it."""

from collections.abc import Mapping
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.helpers.selector import (
    NumberSelector,
    NumberSelectorConfig,
    NumberSelectorMode,
    TextSelector,
    TextSelectorConfig,
)
import voluptuous as vol

from ..const import CONF_WAKE_PHRASES, CONF_WAKE_THRESHOLD
from ..device.device import Device
from ..firmware.wake_words import MAX_PHRASES, Phrase
from ..settings import DeviceSettings
from ..texts.translated import async_explain
from ..voice.wake_words import board_of


def phrases_schema(device: Device | None, settings: DeviceSettings) -> dict[vol.Marker, Any]:
    """Return the fields; empty if the device can have no phrases."""
    if device is None or board_of(device).objection_to_phrases is not None:
        return {}
    threshold = NumberSelectorConfig(min=0.05, max=0.95, step=0.05, mode=NumberSelectorMode.SLIDER)
    return {
        # No default: who takes all out wants none.
        vol.Optional(CONF_WAKE_PHRASES, default=[]): TextSelector(TextSelectorConfig(multiple=True)),
        vol.Optional(CONF_WAKE_THRESHOLD, default=settings.wake_threshold): NumberSelector(threshold),
    }


async def objection_to_phrases(hass: HomeAssistant, device: Device | None) -> str:
    """Return why the device can have no phrases; empty if it can, or is a program, which hears none."""
    if device is None or device.state.is_program or not (err := board_of(device).objection_to_phrases):
        return ""
    return await async_explain(hass, err)


def phrase_errors(user_input: Mapping[str, Any]) -> dict[str, str]:
    """Return the errors of what was filled in: phrases that no model understands, or not one model."""
    phrases = [Phrase.parse(text) for text in user_input.get(CONF_WAKE_PHRASES, ())]
    found = [phrase for phrase in phrases if phrase is not None]
    languages = {phrase.language for phrase in found}
    commands = {phrase.command for phrase in found}
    fits = len(languages) <= 1 and len(commands) == len(phrases) <= MAX_PHRASES
    return {} if fits else {CONF_WAKE_PHRASES: "phrases_bad"}
