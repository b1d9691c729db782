"""The devices that an action is for: named, or by an entity of theirs, or all in an area, floor or label."""

from typing import Final

from homeassistant.components.assist_satellite import DOMAIN as SATELLITE_DOMAIN
from homeassistant.const import CONF_OPTIONS, CONF_TARGET
from homeassistant.core import HomeAssistant, ServiceCall, callback
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import config_validation as cv, entity_registry as er
from homeassistant.helpers.target import TargetSelection, async_extract_referenced_entity_ids
import voluptuous as vol

from ..const import DOMAIN
from ..device.device import Device
from ..errors import InputError
from ..gateway import find_device

TARGET_SCHEMA: Final = vol.Schema(
    {vol.Required(CONF_TARGET): cv.TARGET_FIELDS, vol.Optional(CONF_OPTIONS, default={}): {}}
)
"""Schema of a device trigger or condition without options."""


@callback
def target_devices(call: ServiceCall) -> tuple[list[Device], ServiceValidationError | None]:
    """Return the devices of an action, each once, and the error in its target, if any."""
    return devices_in(call.hass, TargetSelection(call.data))


@callback
def devices_in(
    hass: HomeAssistant, target: TargetSelection
) -> tuple[list[Device], ServiceValidationError | None]:
    """Return the devices of a target, each once, and its error, if any.

    A named device or entity must exist and be one of ours; an error does not affect the others. An area, a
    floor or a label may hold other devices, too.
    """
    found: dict[str, Device] = {}
    refusal: ServiceValidationError | None = None
    selected = async_extract_referenced_entity_ids(hass, target, primary_entities_only=False)
    for device_id in sorted(target.device_ids):
        if find_device(hass, device_id) is None:
            refusal = InputError("unknown_device", device_id=device_id)
    named = {entity_id: _device_id(hass, entity_id) for entity_id in sorted(selected.referenced)}
    for entity_id, known in named.items():
        if known is None:
            refusal = InputError("unknown_entity", entity_id=entity_id)
    # An entity may be in another room than its device.
    in_rooms = {_device_id(hass, entity_id) for entity_id in selected.indirectly_referenced}
    device_ids = {*selected.referenced_devices, *named.values(), *in_rooms}
    for device_id in sorted(filter(None, device_ids)):
        if (device := find_device(hass, device_id)) is not None:
            found[device.mac] = device
    if not found and refusal is None:
        refusal = InputError("no_device_in_target")
    return list(found.values()), refusal


@callback
def target_device(call: ServiceCall) -> Device:
    """Return the one device that an action is for. Raises `ServiceValidationError`."""
    devices, refusal = target_devices(call)
    if refusal is not None:
        raise refusal
    if len(devices) > 1:
        raise InputError("one_device_at_a_time", names=", ".join(sorted(device.name for device in devices)))
    return devices[0]


@callback
def own_satellites(hass: HomeAssistant, entity_ids: set[str]) -> set[str]:
    """Return those satellites that are ours."""
    return {
        entity_id
        for entity_id in entity_ids
        if entity_id.startswith(f"{SATELLITE_DOMAIN}.") and _device_id(hass, entity_id) is not None
    }


def _device_id(hass: HomeAssistant, entity_id: str) -> str | None:
    entry = er.async_get(hass).async_get(entity_id)
    return entry.device_id if entry is not None and entry.platform == DOMAIN else None


def require_tool(device: Device, tool: str) -> None:
    """Raise `InputError` if the device does not have a tool.

    Until a device has listed its tools, they are unknown: the call itself then fails with the reason.
    """
    if device.tools and tool not in device.tools:
        raise InputError("not_offered", name=device.name, tool=device.commands.words_for(tool))
