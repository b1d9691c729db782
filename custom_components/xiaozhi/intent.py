"""Intents, which only guests have."""

from homeassistant.core import HomeAssistant

from .device.guest import async_files
from .guests import GUESTS


async def async_setup_intents(hass: HomeAssistant) -> None:
    """Register the intents."""
    for file in await async_files(hass, GUESTS, "intent"):
        await file.async_setup_intents(hass)
