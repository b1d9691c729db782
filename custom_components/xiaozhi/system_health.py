"""The gateway under *System information*."""

from collections import Counter
from typing import Any

from homeassistant.components.system_health import SystemHealthRegistration
from homeassistant.core import HomeAssistant, callback
from homeassistant.loader import async_get_integration

from .const import CONF_ADDRESS, DOMAIN
from .gateway import running_gateway
from .provisioning.check_in_address import describe_address
from .settings import OfferedLink
from .voice.pipelines import EngineLocation, engine_locations

_MANAGE = f"/config/integrations/integration/{DOMAIN}"


@callback
def async_register(hass: HomeAssistant, register: SystemHealthRegistration) -> None:
    """Register what is shown."""
    register.async_register_info(_async_info, _MANAGE)


async def _async_info(hass: HomeAssistant) -> dict[str, Any]:
    integration = await async_get_integration(hass, DOMAIN)
    info: dict[str, Any] = {"version": str(integration.version)}
    gateway = running_gateway(hass)
    info["running"] = gateway is not None
    if gateway is None:
        return info
    settings = gateway.settings
    ports = [f"{settings.websocket_port}/tcp"]
    if settings.link is OfferedLink.MQTT:
        ports.append(f"{settings.mqtt_port}/tcp")
    if settings.link is not OfferedLink.WEBSOCKET:
        ports.append(f"{settings.udp_port}/udp")
    address = describe_address(hass, gateway.entry.data.get(CONF_ADDRESS))
    devices = list(gateway.devices.values())
    firmware = Counter(device.state.firmware or "?" for device in devices)
    speech = {place for device in devices for place in engine_locations(hass, device).values()}
    for part in gateway.parts.values():
        info |= part.system_health()
    return info | {
        "link": settings.link.value,
        "ports": ", ".join(ports),
        "address": address["known"] and address["problem"] is None,
        "devices": f"{sum(device.state.linked for device in devices)}/{len(devices)}",
        "firmware": ", ".join(f"{version} ({count})" for version, count in sorted(firmware.items())) or "-",
        "detector": gateway.voice.detectors.available,
        "pipelines": EngineLocation.MISSING not in speech,
        "cloud": EngineLocation.CLOUD in speech,
    }
