"""Entities that an older version made."""

from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback


@callback
def async_migrate_entities(hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
    """Give the entities of version 0.2 and before the unique ids that they have now, and remove the others.

    Called before the platforms are set up. What an owner has changed of an entity stays with its entry.
    """
