"""Paired devices in Home Assistant's device registry."""

from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr

from ..const import DOMAIN, MANUFACTURER
from .device import Device


@callback
def async_register(hass: HomeAssistant, entry: ConfigEntry[Any], device: Device) -> dr.DeviceEntry:
    """Add a device to the registry, or update its entry."""
    return dr.async_get(hass).async_get_or_create(
        config_entry_id=entry.entry_id,
        config_subentry_id=device.subentry_id,
        identifiers={(DOMAIN, device.mac)},
        connections={(dr.CONNECTION_NETWORK_MAC, device.mac)},
        manufacturer=MANUFACTURER,
        model=device.state.board,
        name=device.name,
        sw_version=device.state.firmware,
    )


def macs_of(registered: dr.AnyDeviceEntry) -> set[str]:
    """Return the MACs of a device in the registry; none for a device of another integration."""
    return {identifier for domain, identifier in registered.identifiers if domain == DOMAIN}
