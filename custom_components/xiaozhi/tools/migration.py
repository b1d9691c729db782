"""Entities of older versions."""

from collections.abc import Iterator
from contextlib import suppress
import re
from typing import Any, Final

from homeassistant.config_entries import ConfigEntry
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.storage import Store

from ..const import DOMAIN
from .answer_values import members
from .mapping import TOOL_PREFIX

# Version 0.2 guessed by their words that tools open, lock or heat something.
_FORMER_PLATFORMS: Final = frozenset(
    {Platform.CLIMATE, Platform.COVER, Platform.FAN, Platform.HUMIDIFIER, Platform.LOCK, Platform.VALVE}
)
# Unique ids of the resources of devices with firmware of their own: the MAC, and a hash of the URI.
_RESOURCE_ID: Final = re.compile(r"[0-9a-f:]{17}_resource_[0-9a-f]{16}")
_STORE_VERSION: Final = 1


async def async_migrate_entities(hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
    """Bring the entities of version 0.2 up to date, before the platforms are set up.

    Those of some platforms and of resources are obsolete. The sensor of an answer with a single member had
    the name of the tool only; the stored answers show which these are.
    """
    registry = er.async_get(hass)
    for entity in er.async_entries_for_config_entry(registry, entry.entry_id):
        if entity.domain in _FORMER_PLATFORMS or _RESOURCE_ID.fullmatch(entity.unique_id):
            registry.async_remove(entity.entity_id)
    stored: object = None
    with suppress(HomeAssistantError):
        # The gateway reports a file that cannot be read.
        stored = await Store[Any](hass, _STORE_VERSION, f"{DOMAIN}.{entry.entry_id}").async_load()
    for mac, tool, answer in _answers(stored):
        if len(found := members(answer)) == 1:
            former = f"{mac}_{TOOL_PREFIX}{tool}"
            for platform in (Platform.BINARY_SENSOR, Platform.SENSOR):
                if entity_id := registry.async_get_entity_id(platform, DOMAIN, former):
                    registry.async_update_entity(entity_id, new_unique_id=f"{former}#{found[0].path}")


def _answers(stored: object) -> Iterator[tuple[str, str, object]]:
    """Yield MAC, tool and answer from the stored states of devices, without damaged ones."""
    for mac, state in stored.items() if isinstance(stored, dict) else ():
        match state:
            case {"answers": dict(answers)}:
                yield from ((mac, tool, answer) for tool, answer in answers.items())
