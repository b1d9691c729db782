"""The gateway: owns the ports and the devices."""

from collections.abc import Callable, Iterable
from datetime import timedelta

from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, issue_registry as ir
from homeassistant.helpers.event import async_track_time_interval

from .announcements.announcer import Announcer
from .announcements.available_players import AvailablePlayers
from .const import DOMAIN
from .device.device import Device
from .device.store import DeviceStore
from .device_http.transfers import Transfers
from .guests.alarms.alarm import Alarm
from .guests.alarms.device_clock import DeviceClock
from .guests.cloud.access_points import AccessPoints
from .guests.firmware.available_firmware import FirmwareFiles
from .guests.messages.kept_messages import KeptMessages, async_forget_messages
from .guests.pictures.picture_file import async_forget_other_pictures, async_forget_pictures
from .guests.pictures.vision import async_delete_model_issue
from .guests.wake_words.device_wake_words import WakeWords
from .guests.wake_words.pack_recovery import PackRecovery, async_forget_lost_pack
from .links.admission import PairedDevices
from .links.ports import Ports
from .links.problems import BROKER_ISSUE
from .provisioning.checkins import CheckIns
from .provisioning.discovery import DeviceDiscovery
from .settings import GatewaySettings, device_subentries, gateway_entry
from .util.event_loop import close_all
from .voice.alarm_sentences import async_keep_sentences
from .voice.voice import Voice

_FIRMWARE_INTERVAL = timedelta(minutes=10)
# Home Assistant waits ten seconds for the whole stop, and the next gateway needs the ports.
_STOP_SECONDS = 9.5
# For the announcements, and then for the links, before the ports take five seconds at most.
_CLOSE_SECONDS = 3

type XiaozhiConfigEntry = ConfigEntry[Gateway]


@callback
def gateway_of(entry: XiaozhiConfigEntry) -> Gateway | None:
    """Return the gateway of an entry; None while it does not run."""
    return entry.runtime_data if entry.state is ConfigEntryState.LOADED else None


@callback
def running_gateway(hass: HomeAssistant) -> Gateway | None:
    """Return the gateway; None while it does not run."""
    entry = gateway_entry(hass)
    return None if entry is None else gateway_of(entry)


@callback
def find_device(hass: HomeAssistant, device_id: str) -> Device | None:
    """Return a device by its id in the device registry, or None."""
    registered = dr.async_get(hass).async_get(device_id)
    gateway = running_gateway(hass)
    if registered is None or gateway is None:
        return None
    # Some integrations give theirs more parts than two.
    ours = (gateway.devices.get(each[-1]) for each in registered.identifiers if each[0] == DOMAIN)
    return next((device for device in ours if device is not None), None)


class Gateway:
    """Runtime of the gateway entry."""

    def __init__(self, hass: HomeAssistant, entry: XiaozhiConfigEntry) -> None:
        self.hass = hass
        self.entry = entry
        self.settings = GatewaySettings.from_entry(entry)
        self.devices: dict[str, Device] = {}
        """By MAC."""
        self.discovery = DeviceDiscovery(hass, entry)
        self.transfers = Transfers()
        self.players = AvailablePlayers(hass, self.devices)
        self.access_points = AccessPoints(hass, entry)
        paired = PairedDevices(self.settings, self.devices)
        self.ports = Ports(hass, entry, self.settings, paired)
        self.check_ins = CheckIns(entry, paired, self.discovery, self.ports)
        self.firmware_files = FirmwareFiles(hass, self.settings.firmware_releases)
        self.voice = Voice(hass, entry, self.devices)
        self.store = DeviceStore(hass, entry.entry_id, Alarm.from_dict)
        self._announcers: dict[str, Announcer] = {}
        self._clocks: dict[str, DeviceClock] = {}
        self._messages: dict[str, KeptMessages] = {}
        self._areas: dict[str, str] = {}
        self._device_listeners: list[Callable[[Device], None]] = []

    async def async_start(self) -> None:
        """Load the stored state and open the ports. Raises `ConfigEntryNotReady` if one fails."""
        await self.store.async_load()
        # From here on: devices can be added and deleted while the ports open, and the platforms are set up.
        self.entry.async_on_unload(self.entry.add_update_listener(_follow))
        self.async_entry_updated()
        await async_forget_messages(self.hass, keep=self.devices)
        await async_forget_other_pictures(self.hass, keep=self.devices)
        await self.ports.start()
        self.access_points.async_start()
        self.voice.async_start()
        self.entry.async_on_unload(self.players.start())
        wanted = self.settings.understands_alarms
        self.entry.async_on_unload(await async_keep_sentences(self.hass, self.devices, is_wanted=wanted))
        refresh = self.firmware_files.async_refresh
        self.entry.async_create_background_task(self.hass, refresh(), "xiaozhi refresh firmware")
        self.entry.async_on_unload(
            async_track_time_interval(self.hass, refresh, _FIRMWARE_INTERVAL, cancel_on_shutdown=True)
        )

    async def async_stop(self) -> None:
        """Close the ports and all links, and save the state of the devices, whatever fails."""
        for clock in self._clocks.values():
            clock.stop()
        for messages in self._messages.values():
            messages.stop()
        await close_all(
            self._close_links(),
            self.discovery.async_stop(),
            self.access_points.async_stop(),
            patience=_STOP_SECONDS,
        )
        await self.store.async_close()
        # Nothing runs that could raise them again.
        for mac in self.devices:
            async_forget_lost_pack(self.hass, mac)
        self.firmware_files.async_stop()
        self.voice.async_stop()
        ir.async_delete_issue(self.hass, DOMAIN, BROKER_ISSUE)
        async_delete_model_issue(self.hass)

    def wake_words(self, device: Device) -> WakeWords:
        """Return the wake words of a device."""
        return WakeWords(self.hass, device, self.firmware_files)

    async def _close_links(self) -> None:
        await _close(self._announcers.values(), self.devices.values())
        await self.ports.stop()

    def announcer(self, device: Device) -> Announcer:
        """Return the announcer of a device."""
        return self._announcers[device.mac]

    def clock(self, device: Device) -> DeviceClock:
        """Return the timers and alarms of a device."""
        return self._clocks[device.mac]

    def messages(self, device: Device) -> KeptMessages:
        """Return the voice messages that a device keeps."""
        return self._messages[device.mac]

    @callback
    def async_entry_updated(self) -> None:
        """Follow the entry: add, change and remove devices without disturbing the others."""
        subentries = device_subentries(self.entry)
        for mac in self.devices.keys() - subentries.keys():
            gone, announcer = self.devices.pop(mac), self._announcers.pop(mac)
            clock = self._clocks.pop(mac)
            clock.stop()
            clock.report_deleted()
            self._messages.pop(mac).stop()
            async_forget_lost_pack(self.hass, mac)
            gone.create_task(_close([announcer], [gone]), "close link")
            gone.create_task(async_forget_messages(self.hass, keep={*self.devices}), "forget messages")
            # Also of entities that are disabled.
            gone.create_task(async_forget_pictures(self.hass, mac), "forget pictures")
        for mac, subentry in subentries.items():
            if (known := self.devices.get(mac)) is not None:
                known.apply(subentry)
                self._register(known)
                continue
            self.devices[mac] = device = Device(
                self.hass, self.entry, subentry, self.store, self.settings, self.transfers
            )
            self._announcers[mac] = announcer = Announcer(device)
            self._register(device)
            self._clocks[mac] = clock = DeviceClock(device, announcer)
            clock.start()
            self._messages[mac] = messages = KeptMessages(device, announcer)
            messages.start()
            PackRecovery(self.hass, device, self.wake_words(device)).start()
            for listener in tuple(self._device_listeners):
                listener(device)
        self.access_points.async_entry_updated()
        self.store.async_keep(set(subentries))
        self.discovery.async_remove_paired()
        self.players.check_chosen()

    @callback
    def listen_for_devices(self, listener: Callable[[Device], None]) -> CALLBACK_TYPE:
        """Call `listener` for every device, now and later. Returns a function that ends this."""
        for device in tuple(self.devices.values()):
            listener(device)
        self._device_listeners.append(listener)
        return lambda: self._device_listeners.remove(listener)

    @callback
    def remember_area(self, mac: str, area_id: str | None) -> None:
        """Put a device into an area as soon as it is in the device registry."""
        if area_id is not None:
            self._areas[mac] = area_id

    @callback
    def _register(self, device: Device) -> None:
        registered = device.register()
        if (area_id := self._areas.pop(device.mac, None)) is not None:
            dr.async_get(self.hass).async_update_device(registered.id, area_id=area_id)


async def _follow(_hass: HomeAssistant, entry: XiaozhiConfigEntry) -> None:
    entry.runtime_data.async_entry_updated()


async def _close(announcers: Iterable[Announcer], devices: Iterable[Device]) -> None:
    # While the links still exist: the volume that an announcement has changed is restored.
    await close_all(*(announcer.async_close() for announcer in announcers), patience=_CLOSE_SECONDS)
    await close_all(*(device.async_close() for device in devices), patience=_CLOSE_SECONDS)
