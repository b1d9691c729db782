"""The XiaoZhi integration: Home Assistant as the backend of XiaoZhi voice devices."""

from collections.abc import Callable
from typing import Any, Final

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, issue_registry as ir
from homeassistant.helpers.storage import Store
from homeassistant.helpers.typing import ConfigType

from .announcements.room_sound import SoundView
from .announcements.stream_view import StreamView
from .const import DOMAIN, ENTRY_VERSION
from .device.store import DeviceStore
from .gateway import Gateway, XiaozhiConfigEntry, running_gateway
from .guests.mcp_extras import async_extend_device
from .guests.mcp_extras.read_action import async_setup_read_action
from .guests.messages.kept_messages import async_forget_messages
from .guests.pictures.picture_file import async_forget_pictures
from .guests.pictures.views import FileView, UploadView
from .guests.pictures.vision import VisionView
from .guests.wake_words.speech_models import async_forget_models
from .links.problems import async_check_libraries
from .provisioning.checkin_views import ActivationView, CheckInView
from .services import async_setup_services
from .settings import GatewaySettings, device_subentries
from .texts.issues import async_raise_issue
from .tools.migration import async_migrate_entities
from .voice.alarm_sentences import async_write_sentences

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


async def async_setup(hass: HomeAssistant, config: ConfigType) -> bool:
    """Register views and actions once; without a running gateway they answer with an error."""

    def running[PartT](part: Callable[[Gateway], PartT]) -> Callable[[], PartT | None]:
        def find() -> PartT | None:
            gateway = running_gateway(hass)
            return None if gateway is None else part(gateway)

        return find

    transfers = running(lambda gateway: gateway.transfers)
    if any(entry.version > ENTRY_VERSION for entry in hass.config_entries.async_entries(DOMAIN)):
        # Home Assistant refuses to start it, and says no more than that a migration has failed.
        async_raise_issue(hass, "newer_version", severity=ir.IssueSeverity.ERROR)
    for transfer_view in (FileView, StreamView, UploadView):
        hass.http.register_view(transfer_view(transfers))
    for check_in_view in (CheckInView, ActivationView):
        hass.http.register_view(check_in_view(running(lambda gateway: gateway.check_ins)))
    hass.http.register_view(VisionView(running(lambda gateway: gateway.devices)))
    hass.http.register_view(SoundView(transfers))
    async_setup_services(hass)
    async_setup_read_action(hass)
    return True


async def async_setup_entry(hass: HomeAssistant, entry: XiaozhiConfigEntry) -> bool:
    """Start the gateway."""
    used = ["websockets"] if GatewaySettings.from_entry(entry).broker is None else ["aiomqtt", "websockets"]
    await async_check_libraries(hass, used)
    gateway = Gateway(hass, entry)
    entry.async_on_unload(gateway.async_stop)
    gateway.listen_for_devices(async_extend_device)
    entry.runtime_data = gateway
    await gateway.async_start()
    await hass.config_entries.async_forward_entry_setups(entry, PLATFORMS)
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
    for mac in device_subentries(entry):
        await async_forget_pictures(hass, mac)
    await async_forget_models(hass)
    await async_forget_messages(hass)
    await async_write_sentences(hass, ())
    # Of versions before 0.5.0.
    await Store[Any](hass, 1, f"{DOMAIN}.speech_detector").async_remove()
