"""The gateway: owns the listeners, lets paired devices in and routes their links."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
import logging
from typing import Any

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.exceptions import ConfigEntryNotReady
from homeassistant.helpers import device_registry as dr, issue_registry as ir
from homeassistant.helpers.event import async_track_time_interval

from .const import CONF_FIRMWARE_RELEASES, DOMAIN, MANUFACTURER, NO_MODEL_ISSUE, SUBENTRY_DEVICE
from .device.device import Device
from .device.store import DeviceStore
from .firmware.library import FirmwareFiles
from .listeners import Listeners, PortError, mqtt_client_id
from .protocol.checkin import CheckIn
from .protocol.checkin_reply import LinkReply, ServerTime
from .protocol.closing import close_all
from .protocol.firmware import SAFE_TEXT_BYTES
from .protocol.transport.link import Admission, Credentials, LinkKind
from .protocol.transport.mqtt.broker_client import BrokerError
from .provisioning.discovery import DeviceDiscovery
from .secret import same
from .settings import DeviceLink, GatewaySettings

_LOGGER = logging.getLogger(__name__)

_BROKER_ISSUE = "broker_unusable"
_FIRMWARE_INTERVAL = timedelta(minutes=10)

type XiaozhiConfigEntry = ConfigEntry[Gateway]
type DeviceListener = Callable[[Device], None]


class Gateway:
    """Runtime of the gateway entry."""

    def __init__(self, hass: HomeAssistant, entry: XiaozhiConfigEntry) -> None:
        """Prepare the gateway; `async_start` opens its ports."""
        self.hass = hass
        self.entry = entry
        self.devices: dict[str, Device] = {}
        self.discovery = DeviceDiscovery(hass, entry)
        self._store = DeviceStore(hass, entry.entry_id)
        self._listeners = Listeners(
            GatewaySettings.from_data(entry.data),
            entry.entry_id,
            admit=self._admit,
            admit_from_broker=self._admit_from_broker,
            devices=lambda: [mac for mac, device in self.devices.items() if device.answers_unasked],
            host_of=lambda mac: self.devices[mac].state.host if mac in self.devices else None,
            broker_changed=self._broker_changed,
        )
        self.firmware_files = FirmwareFiles(hass, entry.data.get(CONF_FIRMWARE_RELEASES))
        self._areas: dict[str, str] = {}
        self._device_listeners: list[DeviceListener] = []

    async def async_start(self) -> None:
        """Load what is known and open the ports. Raises `ConfigEntryNotReady` when a port is taken."""
        await self._store.async_load()
        self.async_sync_devices()
        try:
            await self._listeners.start()
        except PortError as err:
            raise ConfigEntryNotReady(
                translation_domain=DOMAIN,
                translation_key="port_in_use",
                translation_placeholders={"port": str(err.port), "reason": err.reason},
            ) from err
        look = self.firmware_files.async_look
        self.entry.async_create_background_task(self.hass, look(), "xiaozhi look for firmware")
        self.entry.async_on_unload(
            async_track_time_interval(self.hass, look, _FIRMWARE_INTERVAL, cancel_on_shutdown=True)
        )

    async def async_stop(self) -> None:
        """Close the ports and all links, and save what is known, whatever fails."""
        await close_all(
            self.discovery.async_stop(), *(device.async_close() for device in self.devices.values())
        )
        await self._listeners.stop()
        self.firmware_files.forget()
        for issue in (_BROKER_ISSUE, NO_MODEL_ISSUE):
            ir.async_delete_issue(self.hass, DOMAIN, issue)
        await self._store.async_save()

    @callback
    def async_sync_devices(self) -> None:
        """Follow the entry: add, change and remove devices without disturbing the others."""
        self._listeners.settings = GatewaySettings.from_data(self.entry.data)
        subentries = {
            subentry.unique_id: subentry
            for subentry in self.entry.get_subentries_of_type(SUBENTRY_DEVICE)
            if subentry.unique_id
        }
        for mac in self.devices.keys() - subentries.keys():
            device = self.devices.pop(mac)
            device.create_task(device.async_close(), "close link")
        for mac, subentry in subentries.items():
            known = self.devices.get(mac)
            if known is not None and known.subentry_id != subentry.subentry_id:
                # Removed and paired again between two calls: not the same device to Home Assistant.
                known.create_task(known.async_close(), "close link")
                known = None
            if known is not None:
                known.apply(subentry)
                self._register(known)
                continue
            device = Device(self.hass, self.entry, subentry, self._store)
            self.devices[mac] = device
            self._register(device)
            for listener in tuple(self._device_listeners):
                listener(device)
        self._store.async_keep(set(subentries))

    @callback
    def listen_for_devices(self, listener: DeviceListener) -> CALLBACK_TYPE:
        """Call `listener` for every device, now and later; returns what ends that."""
        for device in tuple(self.devices.values()):
            listener(device)
        self._device_listeners.append(listener)
        return lambda: self._device_listeners.remove(listener)

    @callback
    def remember_area(self, mac: str, area_id: str | None) -> None:
        """Put the device into an area as soon as Home Assistant knows it."""
        if area_id is not None:
            self._areas[mac] = area_id

    @callback
    def link_reply(self, mac: str, host: str, origin: str, server_time: ServerTime) -> LinkReply:
        """Return the link settings for a paired device that reached us under `host`, at `origin`."""
        device = self.devices[mac]
        kind = self._listeners.kind_for(device.settings, device.state.firmware_version)
        device.replied(kind, host, self._listeners.web_origin(origin))
        if kind is LinkKind.MQTT:
            self._listeners.expect(mac)
        reply = self._listeners.reply(device.settings, kind, host, server_time)
        return replace(reply, firmware=device.firmware_offer())

    @callback
    def would_change_link(self, mac: str, link: DeviceLink) -> bool:
        """Whether a device, if its owner wants this link, is to use another kind than it knows of."""
        device = self.devices[mac]
        kind = self._listeners.kind_for(replace(device.settings, link=link), device.state.firmware_version)
        return device.state.link not in {None, kind}

    @property
    def listener_counters(self) -> dict[str, Any]:
        """What the listeners turned away, for diagnostics."""
        return self._listeners.counters()

    @callback
    def checked_in(self, checkin: CheckIn) -> None:
        """Note the check-in of a paired device."""
        device = self.devices[checkin.mac]
        device.checked_in(checkin)
        self._register(device)

    @callback
    def _admit(self, credentials: Credentials, kind: LinkKind) -> Admission | None:
        device = self.devices.get(credentials.mac)
        if device is None or not same(credentials.token, device.settings.token):
            _LOGGER.debug("Connection from %s refused: unknown device or wrong token", credentials.remote)
            return None
        settings = device.settings
        client_id = mqtt_client_id(settings.mac) if kind is LinkKind.MQTT else settings.client_id
        if not same(credentials.client_id, client_id):
            _LOGGER.debug("Connection from %s refused: not the device that was paired", credentials.remote)
            return None
        return _admission(device)

    @callback
    def _admit_from_broker(self, mac: str) -> Admission | None:
        device = self.devices.get(mac)
        return None if device is None else _admission(device)

    @callback
    def _broker_changed(self, problem: BrokerError | None) -> None:
        if problem is None:
            _LOGGER.info("Connected to the MQTT broker")
            ir.async_delete_issue(self.hass, DOMAIN, _BROKER_ISSUE)
            return
        _LOGGER.info("The MQTT broker cannot be used: %s", problem)
        ir.async_create_issue(
            self.hass,
            DOMAIN,
            _BROKER_ISSUE,
            is_fixable=False,
            severity=ir.IssueSeverity.ERROR,
            translation_key=f"broker_{problem.problem}",
        )

    @callback
    def _register(self, device: Device) -> None:
        registry = dr.async_get(self.hass)
        entry = registry.async_get_or_create(
            config_entry_id=self.entry.entry_id,
            config_subentry_id=device.subentry_id,
            identifiers={(DOMAIN, device.mac)},
            connections={(dr.CONNECTION_NETWORK_MAC, device.mac)},
            manufacturer=MANUFACTURER,
            model=device.state.board,
            name=device.name,
            sw_version=device.state.firmware,
        )
        if (area_id := self._areas.pop(device.mac, None)) is not None:
            registry.async_update_device(entry.id, area_id=area_id)


def _admission(device: Device) -> Admission:
    firmware = device.state.firmware_version
    return Admission(
        attach=device.attach,
        pings_safe=firmware is not None and firmware.pings_safe,
        text_limit=None if firmware is not None and firmware.takes_long_texts else SAFE_TEXT_BYTES,
    )
