"""The registry's entries of a device's tools: their limit, and the removal of those that are long gone."""

from collections.abc import Mapping
from datetime import datetime, timedelta
import logging
from typing import Final

from homeassistant.const import Platform
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from ..const import DOMAIN
from ..tools.mapping import KEY_PREFIXES, MAX_ENTITIES, TOOL_PREFIX
from ..tools.tool_entities import ToolEntity
from .device import Device

_LOGGER = logging.getLogger(__name__)

# In the options of an entity in the registry.
_GONE_SINCE: Final = "gone_since"
_KEPT_WHEN_GONE: Final = timedelta(days=30)


def prepare_entries(device: Device, platform: Platform | None, wanted: Mapping[str, ToolEntity]) -> None:
    """Prepare the registry for the entities of a platform that the tools of a device make now."""
    if (refused := refused_keys(device)) and device.tools.note_refused():
        _LOGGER.warning(
            "%s: %d tools get no entity: %d are the limit, and those that are gone count for 30 days. "
            "Unavailable entities that are deleted make room",
            device.name,
            len(refused),
            MAX_ENTITIES,
        )
    for entry in _registered(device):
        _prepare_entry(entry, platform, device, wanted)


def _registered(device: Device) -> list[er.RegistryEntry]:
    """Return the entities in the registry that the device's tools have made, also those that are gone."""
    prefixes = tuple(f"{device.mac}_{prefix}" for prefix in KEY_PREFIXES)
    if (device_id := device.registry_id) is None:
        return []
    registry = er.async_get(device.hass)
    entries = er.async_entries_for_device(registry, device_id, include_disabled_entities=True)
    return [entry for entry in entries if entry.platform == DOMAIN and entry.unique_id.startswith(prefixes)]


def refused_keys(device: Device) -> set[str]:
    """Return the keys of a device's new entities that are beyond the limit.

    A device whose list of tools keeps changing would fill the registry: those that are gone count, too, but
    there is room for as many of them.
    """
    known = {
        (entry.domain, entry.unique_id.removeprefix(f"{device.mac}_"))
        for entry in _registered(device)
        if not _is_long_gone(entry)
    }
    wanted = [
        (tool.platform, key)
        for key, tool in device.tools.entities.items()
        if tool.platform is not None and key.startswith(KEY_PREFIXES)
    ]
    new = [key for platform, key in wanted if (platform, key) not in known]
    room = min(MAX_ENTITIES - (len(wanted) - len(new)), 2 * MAX_ENTITIES - len(known))
    return {*new[max(0, room) :]}


def _gone_since(entry: er.RegistryEntry) -> datetime | None:
    options = entry.options.get(DOMAIN)
    noted = options.get(_GONE_SINCE) if options else None
    return dt_util.parse_datetime(noted) if isinstance(noted, str) else None


def _is_long_gone(entry: er.RegistryEntry) -> bool:
    gone_since = _gone_since(entry)
    return gone_since is not None and dt_util.utcnow() - gone_since > _KEPT_WHEN_GONE


def _note_gone(registry: er.EntityRegistry, entry: er.RegistryEntry, *, gone: bool) -> None:
    """Note that the tool of an entity is gone or back; remove the entity when that was long ago."""
    if gone and _is_long_gone(entry):
        registry.async_remove(entry.entity_id)
    elif gone is (_gone_since(entry) is None):
        noted = {_GONE_SINCE: dt_util.utcnow().isoformat()} if gone else None
        registry.async_update_entity_options(entry.entity_id, DOMAIN, noted)


def _prepare_entry(
    entry: er.RegistryEntry, platform: Platform | None, device: Device, wanted: Mapping[str, ToolEntity]
) -> None:
    """Remove a registered entity that tools no longer make; one of a gone tool stays for 30 days.

    One with a new key or on a new platform keeps the owner's changes.
    """
    registry = er.async_get(device.hass)
    key = entry.unique_id.removeprefix(f"{device.mac}_")
    # A button is only one of the entities of its tool now.
    if key in device.tools.entities and entry.domain != Platform.BUTTON:
        if key in wanted and platform is not None and platform != entry.domain:
            _move(registry, entry, platform)
        return
    if entry.domain != platform:
        return
    tool, _, path = key.removeprefix(TOOL_PREFIX).rpartition("#")
    named = tool if path and tool in device.tools else key.removeprefix(TOOL_PREFIX)
    _note_gone(registry, entry, gone=key not in wanted and named not in device.tools)
    if key in wanted or named not in device.tools:
        return
    # The answer is known only when the sensor is read, perhaps because its owner has enabled it.
    shape = device.state.tools.shapes.get(named, ())
    now = f"{key}#{shape[0].path}" if len(shape) == 1 else key
    renamed = f"{device.mac}_{now}"
    if now in wanted and registry.async_get_entity_id(entry.domain, DOMAIN, renamed) is None:
        registry.async_update_entity(entry.entity_id, new_unique_id=renamed)
    else:
        registry.async_remove(entry.entity_id)


def _move(registry: er.EntityRegistry, entry: er.RegistryEntry, domain: str) -> None:
    """Move a registered entity to another platform, with the owner's changes."""
    options = entry.options.items()
    registry.async_remove(entry.entity_id)
    moved = registry.async_get_or_create(
        domain,
        DOMAIN,
        entry.unique_id,
        suggested_object_id=entry.entity_id.partition(".")[2],
        disabled_by=entry.disabled_by,
        hidden_by=entry.hidden_by,
        device_id=entry.device_id,
        # Such as whether assistants see it, and its unit.
        get_initial_options=lambda: {domain if key == entry.domain else key: each for key, each in options},
    )
    names = ("name", "icon", "area_id", "labels", "aliases", "categories")
    kept = {key: getattr(entry, key) for key in names}
    registry.async_update_entity(moved.entity_id, **kept)
