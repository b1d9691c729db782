"""Diagnostics, without private data."""

from typing import Any, Final

from homeassistant.components.diagnostics import async_redact_data
from homeassistant.const import (
    CONF_CLIENT_ID,
    CONF_HOST,
    CONF_MAC,
    CONF_PASSWORD,
    CONF_TOKEN,
    CONF_USERNAME,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr

from .const import CONF_ADDRESS, CONF_FIRMWARE_RELEASES
from .device.device import Device
from .gateway import Gateway, XiaozhiConfigEntry, find_device, gateway_of

_PRIVATE: Final = {
    CONF_ADDRESS,
    CONF_CLIENT_ID,
    CONF_FIRMWARE_RELEASES,
    CONF_HOST,
    CONF_MAC,
    CONF_PASSWORD,
    CONF_TOKEN,
    CONF_USERNAME,
    "carrier",
    "ip",
    "origin",
    "session",
    "ssid",
}


async def async_get_config_entry_diagnostics(
    hass: HomeAssistant, entry: XiaozhiConfigEntry
) -> dict[str, Any]:
    """Return the settings and, while the gateway runs, the counters of its listeners and every device."""
    settings = async_redact_data(dict(entry.data), _PRIVATE)
    # Diagnostics are wanted most when the gateway cannot start.
    if (gateway := gateway_of(entry)) is None:
        return {"running": False, "settings": settings}
    return {
        "running": True,
        "settings": settings,
        "listeners": gateway.listeners.counters(),
        "waiting_devices": len(gateway.discovery.devices),
        "devices": [_describe(gateway, device) for device in gateway.devices.values()],
        "access_points": [point.describe() for point in gateway.access_points.all],
    }


async def async_get_device_diagnostics(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, device: dr.AnyDeviceEntry
) -> dict[str, Any]:
    """Return the diagnostics of one device or access point; empty while the gateway does not run."""
    if (gateway := gateway_of(entry)) is not None:
        if (known := find_device(hass, device.id)) is not None:
            return _describe(gateway, known)
        for point in gateway.access_points.all:
            if point.info["identifiers"] & device.identifiers:
                return point.describe()
    return {}


def _describe(gateway: Gateway, device: Device) -> dict[str, Any]:
    record = device.describe()
    record["early_transcripts"] = gateway.hearing.describe(device.mac)
    # Names suffice: descriptions and schemas belong to the firmware.
    record["tools"] = [
        {"tool": tool.name, "user_only": tool.user_only, "arguments": sorted(tool.properties)}
        for tool in device.tools.values()
    ]
    # Answers and arguments may hold private data.
    for known in ("answers", "calls"):
        record[known] = sorted(record[known])
    described: dict[str, Any] = async_redact_data(record, _PRIVATE)
    return described
