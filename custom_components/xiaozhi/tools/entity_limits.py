"""Bounds on the entities made from one device's tools in Home Assistant's registry.

A device whose list of tools keeps changing would fill the registry. Entities are counted in the registry
itself, so that the bounds survive a restart.
"""

from collections.abc import Iterable
from datetime import timedelta
import logging
from typing import Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..device.device import Device
from .mapping import KEY_PREFIXES, MAX_ENTITIES
from .pool import TOOL_PREFIX

__all__ = ["async_admit", "async_forget_merged", "async_remove_surplus"]

_LOGGER = logging.getLogger(__name__)

# As many as a device can have at once: a firmware update may change all of them.
_MAX_NEW: Final = MAX_ENTITIES
_NEW_FOR: Final = timedelta(days=1)
# Current ones, and as many former ones: their tools may come back.
_MAX_KNOWN: Final = 2 * MAX_ENTITIES


@callback
def async_admit(hass: HomeAssistant, device: Device, platform: str, keys: Iterable[str]) -> set[str]:
    """Return which of the entities `keys` may be added: known ones always. Reports the others."""
    registry = er.async_get(hass)
    prefixes = _prefixes(device)
    admitted: set[str] = set()
    new: list[str] = []
    for key in keys:
        unique_id = f"{device.mac}_{key}"
        known = registry.async_get_entity_id(platform, DOMAIN, unique_id) is not None or (
            (platform, DOMAIN, unique_id) in registry.deleted_entities
        )
        if known or not unique_id.startswith(prefixes):
            admitted.add(key)
        else:
            new.append(key)
    room = max(0, _MAX_NEW - _count_recent(registry, device)) if new else 0
    admitted.update(new[:room])
    withheld = len(new[room:])
    _report(hass, device, platform, withheld)
    return admitted


@callback
def async_remove_surplus(hass: HomeAssistant, device: Device) -> None:
    """Remove surplus entities whose tools are gone, the newest first.

    Entities that the owner has changed stay. Home Assistant remembers the others for a month: if their tools
    come back, so do they, with their ids.
    """
    registry = er.async_get(hass)
    known = _present(registry, device)
    if len(known) <= _MAX_KNOWN:
        return
    made = {f"{device.mac}_{key}" for key in device.tools.entities}
    gone = [entry for entry in known if entry.unique_id not in made and not _is_customised(entry)]
    gone.sort(key=lambda entry: entry.created_at, reverse=True)
    for entry in gone[: len(known) - _MAX_KNOWN]:
        # With a config entry, Home Assistant would remember them for as long as the entry exists.
        registry.async_update_entity(entry.entity_id, config_entry_id=None, config_subentry_id=None)
        registry.async_remove(entry.entity_id)


@callback
def async_forget_merged(hass: HomeAssistant, device: Device, platform: str) -> None:
    """Remove the entities of tools that are part of others now, except those that the owner has changed.

    Home Assistant remembers them for a month, with their ids.
    """
    registry = er.async_get(hass)
    entities = device.tools.entities
    for entry in _present(registry, device):
        key = entry.unique_id.removeprefix(f"{device.mac}_")
        made = entities.get(key)
        is_listed = key.removeprefix(TOOL_PREFIX) in device.tools or made is not None
        if (
            entry.domain == platform
            and is_listed
            and (made is None or made.platform != platform)
            and not _is_customised(entry)
        ):
            registry.async_remove(entry.entity_id)


def _count_recent(registry: er.EntityRegistry, device: Device) -> int:
    """Return how many entities a device's tools have added within a day, including removed ones."""
    begin = dt_util.utcnow() - _NEW_FOR
    prefixes = _prefixes(device)
    # The registry has no index of removed entities by device.
    removed = [
        entry.created_at
        for (_, integration, unique_id), entry in registry.deleted_entities.items()
        if integration == DOMAIN and unique_id.startswith(prefixes)
    ]
    present = [entry.created_at for entry in _present(registry, device)]
    return sum(created > begin for created in (*present, *removed))


def _present(registry: er.EntityRegistry, device: Device) -> list[er.RegistryEntry]:
    """Return a device's entities made from tools, including disabled ones."""
    if (device_id := device.registry_id) is None:
        return []
    prefixes = _prefixes(device)
    return [
        entry
        for entry in er.async_entries_for_device(registry, device_id, include_disabled_entities=True)
        if entry.platform == DOMAIN and entry.unique_id.startswith(prefixes)
    ]


def _prefixes(device: Device) -> tuple[str, ...]:
    return tuple(f"{device.mac}_{prefix}" for prefix in KEY_PREFIXES)


def _is_customised(entry: er.RegistryEntry) -> bool:
    return bool(
        entry.name
        or entry.icon
        or entry.area_id
        or entry.labels
        or entry.categories
        or entry.device_class
        or entry.hidden_by is er.RegistryEntryHider.USER
        or entry.disabled_by is er.RegistryEntryDisabler.USER
        or entry.aliases != [er.COMPUTED_NAME]
    )


@callback
def _report(hass: HomeAssistant, device: Device, platform: str, withheld: int) -> None:
    before = sum(device.tools.withheld.values())
    device.tools.withheld[platform] = withheld
    issue = f"too_many_entities_{device.subentry_id}"
    if not any(device.tools.withheld.values()):
        ir.async_delete_issue(hass, DOMAIN, issue)
    elif not before:
        _LOGGER.warning(
            "%s has listed more than %d new tools in a day. No more entities are made from them today",
            device.name,
            _MAX_NEW,
        )
        ir.async_create_issue(
            hass,
            DOMAIN,
            issue,
            is_fixable=False,
            severity=ir.IssueSeverity.WARNING,
            translation_key="too_many_entities",
            translation_placeholders={"name": device.name, "limit": str(_MAX_NEW)},
        )
