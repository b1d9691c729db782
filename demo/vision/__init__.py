"""An integration for the demo's Home Assistant: a model that describes pictures, without any network.

Home Assistant knows it as the custom integration `demo_vision`.
"""

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant

_PLATFORMS = [Platform.AI_TASK]


async def async_setup_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Set the model up."""
    await hass.config_entries.async_forward_entry_setups(entry, _PLATFORMS)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: ConfigEntry) -> bool:
    """Remove the model."""
    return await hass.config_entries.async_unload_platforms(entry, _PLATFORMS)
