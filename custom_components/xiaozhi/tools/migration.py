"""Entities of older versions."""

import re
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er

# Version 0.2 guessed by their words that tools open, lock or heat something.
_FORMER_PLATFORMS: Final = frozenset(
    {Platform.CLIMATE, Platform.COVER, Platform.FAN, Platform.HUMIDIFIER, Platform.LOCK, Platform.VALVE}
)
# Unique ids of the resources of devices with firmware of their own: the MAC, and a hash of the URI.
_RESOURCE_ID: Final = re.compile(r"[0-9a-f:]{17}_resource_[0-9a-f]{16}")


@callback
def async_migrate_entities(hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
    """Remove the obsolete entities of version 0.2: those of some platforms, and of resources.

    Called before the platforms are set up. All other entities keep their ids until the tools of their device
    are known.
    """
    registry = er.async_get(hass)
    for entity in er.async_entries_for_config_entry(registry, entry.entry_id):
        if entity.domain in _FORMER_PLATFORMS or _RESOURCE_ID.fullmatch(entity.unique_id):
            registry.async_remove(entity.entity_id)
