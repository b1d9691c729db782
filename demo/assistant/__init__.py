"""An integration for the demo's Home Assistant: an assistant that asks back.

Home Assistant knows it as the custom integration `demo_assistant`.
"""

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant

_PLATFORMS = [Platform.CONVERSATION]


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Set the assistant up."""
    await hass.config_entries.async_forward_entry_setups(entry, _PLATFORMS)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Remove the assistant."""
    return await hass.config_entries.async_unload_platforms(entry, _PLATFORMS)
