"""The XiaoZhi integration: Home Assistant as the backend of XiaoZhi voice devices."""

from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any, Final

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, issue_registry as ir
from homeassistant.helpers.storage import Store
from homeassistant.helpers.typing import ConfigType

from .announcements.stream_view import StreamView
from .const import DOMAIN, ENTRY_VERSION
from .device.guest import async_forget
from .device.store import DeviceStore
from .device_http.access import DeviceView
from .device_http.file_view import FileView
from .gateway import Gateway, XiaozhiConfigEntry, running_gateway
from .guests import GUESTS
from .links.problems import async_check_libraries
from .provisioning.checkins import ActivationView, CheckInView
from .services import async_setup_services
from .settings import GatewaySettings
from .texts.issues import async_raise_issue
from .tools.migration import async_migrate_entities

CONFIG_SCHEMA: Final = cv.config_entry_only_config_schema(DOMAIN)

PLATFORMS: Final = [
    Platform.ASSIST_SATELLITE,
    Platform.BINARY_SENSOR,
    Platform.BUTTON,
    Platform.CALENDAR,
    Platform.EVENT,
    Platform.IMAGE,
    Platform.LIGHT,
    Platform.MEDIA_PLAYER,
    Platform.NOTIFY,
    Platform.NUMBER,
    Platform.SELECT,
    Platform.SENSOR,
    Platform.SWITCH,
    Platform.UPDATE,
]


_VIEWS: Final[Mapping[type[DeviceView[Any]], str]] = {
    **dict.fromkeys((FileView, StreamView), "transfers"),
    **dict.fromkeys((CheckInView, ActivationView), "check_ins"),
}
"""Each view with the part of the gateway that it is about."""


def _find(hass: HomeAssistant, part: str) -> Any:
    gateway = running_gateway(hass)
    return getattr(gateway, part, None) if part else gateway


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Register views and actions once; without a running gateway they answer with an error."""
    if any(entry.version > ENTRY_VERSION for entry in hass.config_entries.async_entries(DOMAIN)):
        # Home Assistant refuses to start it, and says no more than that a migration has failed.
        async_raise_issue(hass, "newer_version", severity=ir.IssueSeverity.ERROR)
    of_guests = (guest.views.items() for guest in GUESTS)
    for view, part in chain(_VIEWS.items(), *of_guests):
        hass.http.register_view(view(partial(_find, hass, part)))
    await async_setup_services(hass, GUESTS)
    return True


async def async_setup_entry(hass: HomeAssistant, entry: XiaozhiConfigEntry) -> bool:
    """Start the gateway."""
    used = ["websockets"] if GatewaySettings.from_entry(entry).broker is None else ["aiomqtt", "websockets"]
    await async_check_libraries(hass, used)
    gateway = Gateway(hass, entry, GUESTS)
    entry.async_on_unload(gateway.async_stop)
    entry.runtime_data = gateway
    await gateway.async_start()
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
    async with gateway.adding_entities:
        # Those of all devices wait before us, and are there now.
        return True


async def async_migrate_entry(hass: HomeAssistant, entry: XiaozhiConfigEntry) -> bool:
    """Bring an entry of an older version up to date. Home Assistant itself refuses one of a newer version."""
    if entry.version < ENTRY_VERSION:
        async_migrate_entities(hass, entry)
    hass.config_entries.async_update_entry(entry, version=ENTRY_VERSION)
    return True


async def async_unload_entry(hass: HomeAssistant, entry: XiaozhiConfigEntry) -> bool:
    """Stop the gateway."""
    return await hass.config_entries.async_unload_platforms(entry, PLATFORMS)


async def async_remove_entry(hass: HomeAssistant, entry: XiaozhiConfigEntry) -> None:
    """Delete what is stored."""
    await DeviceStore(hass, entry.entry_id).async_remove()
    await async_forget(hass, GUESTS)
    for kind in (kind for guest in GUESTS for kind in guest.gateway_parts):
        await kind.async_removed(hass)
    # Of versions before 0.5.0.
    await Store[Any](hass, 1, f"{DOMAIN}.speech_detector").async_remove()
