"""The gateway: owns the ports and the devices."""

import asyncio
from collections.abc import Callable, Collection
from itertools import chain
from typing import cast

from homeassistant.config_entries import ConfigEntry, ConfigEntryState
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, issue_registry as ir
from homeassistant.util.ulid import ulid_now

from .announcements.announcer import Announcer
from .const import DOMAIN
from .device.device import Device
from .device.guest import DevicePart, GatewayPart, Guest, async_forget
from .device.store import DeviceStore
from .device_http.transfers import Transfers
from .links.admission import PairedDevices
from .links.ports import Ports
from .links.problems import BROKER_ISSUE
from .provisioning.checkins import CheckIns
from .provisioning.discovery import DeviceDiscovery
from .settings import GatewaySettings, device_subentries, gateway_entry
from .texts.notifications import async_notify
from .util.event_loop import close_all
from .util.text import plain_name
from .voice.voice import Voice

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

    def __init__(self, hass: HomeAssistant, entry: XiaozhiConfigEntry, guests: Collection[Guest]) -> None:
        self.hass = hass
        self.guests = guests
        self.entry = entry
        self.settings = GatewaySettings.from_entry(entry)
        self.devices: dict[str, Device] = {}
        """By MAC."""
        self.discovery = DeviceDiscovery(hass, entry)
        self.transfers = Transfers()
        paired = PairedDevices(self.settings, self.devices)
        self.ports = Ports(hass, entry, self.settings, paired)
        self.check_ins = CheckIns(entry, paired, self.discovery, self.ports)
        self.voice = Voice(hass, entry, self.devices)
        self.store = DeviceStore(hass, entry.entry_id, [kind for guest in guests for kind in guest.owned])
        self.parts = {kind: kind(hass, entry) for guest in guests for kind in guest.gateway_parts}
        self.adding_entities = asyncio.Lock()
        """Held while a few entities are added at a start: each takes half a millisecond."""
        self._areas: dict[str, str] = {}
        self._device_listeners: list[Callable[[Device], None]] = []

    async def async_start(self) -> None:
        """Load the stored state and open the ports. Raises `ConfigEntryNotReady` if one fails."""
        await self.store.async_load()
        # From here on: devices can be added and deleted while the ports open, and the platforms are set up.
        self.entry.async_on_unload(self.entry.add_update_listener(_follow))
        self.async_entry_updated()
        await async_forget(self.hass, self.guests, keep=self.devices)
        await self.ports.start()
        self.voice.async_start()
        for part in self.parts.values():
            await part.async_start()

    async def async_stop(self) -> None:
        """Close the ports and all links, and save the state of the devices, whatever fails."""
        for device in self.devices.values():
            for part in device.parts.values():
                part.end()
        await close_all(
            self._close_links(),
            self.discovery.async_stop(),
            *(part.async_stop() for part in self.parts.values()),
            patience=_STOP_SECONDS,
        )
        await self.store.async_close()
        self.voice.async_stop()
        ir.async_delete_issue(self.hass, DOMAIN, BROKER_ISSUE)

    def part[PartT: GatewayPart](self, kind: type[PartT]) -> PartT:
        """Return the part of this class."""
        return cast("PartT", self.parts[kind])

    async def _close_links(self) -> None:
        await _close(self.devices.values())
        await self.ports.stop()

    @callback
    def async_entry_updated(self) -> None:
        """Follow the entry: add, change and remove devices without disturbing the others."""
        subentries = device_subentries(self.entry)
        for mac in self.devices.keys() - subentries.keys():
            gone = self.devices.pop(mac)
            for part in gone.parts.values():
                part.end()
            gone.create_task(_report_loss(gone), "report what is deleted")
            gone.create_task(_close([gone]), "close link")
            gone.create_task(async_forget(self.hass, self.guests, keep={*self.devices}), "forget its files")
        for mac, subentry in subentries.items():
            if (known := self.devices.get(mac)) is not None:
                known.apply(subentry)
                self._register(known)
                continue
            self.devices[mac] = device = Device(
                self.hass, self.entry, subentry, self.store, self.settings, self.transfers, self.parts
            )
            self._register(device)
            of_guests = (kind for guest in self.guests for kind in guest.parts)
            for kind in chain[type[DevicePart]]([Announcer], of_guests):
                device.parts[kind] = kind(device)
            for part in device.parts.values():
                part.start()
            for listener in tuple(self._device_listeners):
                listener(device)
        for part in self.parts.values():
            part.async_entry_updated()
        self.store.async_keep(set(subentries))
        self.discovery.async_remove_paired()

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


async def _report_loss(device: Device) -> None:
    """Notify the owner of what was deleted with a device."""
    parts = device.parts.values()
    if lost := ", ".join([each for part in parts for each in await part.described_loss()]):
        placeholders = {"name": plain_name(device.name), "deleted": lost}
        key = "deleted_with_device"
        await async_notify(device.hass, key, f"{key}_{device.mac}_{ulid_now()}", **placeholders)


async def _close(devices: Collection[Device]) -> None:
    # While the links still exist: the volume that an announcement has changed is restored.
    parts = [part for device in devices for part in device.parts.values()]
    await close_all(*(part.async_close() for part in parts), patience=_CLOSE_SECONDS)
    await close_all(*(device.async_close() for device in devices), patience=_CLOSE_SECONDS)
