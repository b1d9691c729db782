"""Devices waiting to be paired, each with a code and a discovery card."""

from datetime import datetime, timedelta
from typing import Any, Final

from homeassistant.config_entries import SOURCE_INTEGRATION_DISCOVERY, ConfigEntry
from homeassistant.const import CONF_CLIENT_ID, CONF_MAC
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import discovery_flow, issue_registry as ir
from homeassistant.helpers.event import async_track_time_interval

from ..const import DOMAIN
from ..device.device import Device
from ..device.paired_device import name_on_page
from ..links.admission import same
from ..protocol.checkin import CheckIn
from ..protocol.checkin_reply import pairing_section
from ..protocol.messages import JsonObject
from ..settings import device_subentries
from ..texts.issues import async_raise_issue
from .pairing_codes import PairingRegistry, PendingDevice

MAX_CARDS: Final = 64
MAX_CARDS_FROM_ADDRESS: Final = 16
# Between two looks for devices that have gone.
_EXPIRY_INTERVAL: Final = timedelta(minutes=1)


class DeviceDiscovery:
    """The devices waiting to be paired with a gateway."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        self._hass = hass
        self._entry = entry
        self.registry = PairingRegistry()
        self._issues: dict[str, Any] = {}
        """Subentries with a repair issue, and the Client-Id that each had then."""
        entry.async_on_unload(
            async_track_time_interval(hass, self._expire, _EXPIRY_INTERVAL, cancel_on_shutdown=True)
        )

    @callback
    def answer_check_in(self, checkin: CheckIn, remote: str) -> JsonObject:
        """Take the check-in of a device that is not paired, show its card, and return a reply with its code.

        `remote` is its IP address.
        """
        device, dropped = self.registry.check_in(
            checkin.mac, checkin.client_id, checkin.board or "", remote, self._hass.loop.time()
        )
        for mac in dropped:
            self._abort_cards(mac)
        self._announce(device)
        message = f"Home Assistant\n{device.code}"
        return pairing_section(code=device.code, challenge=device.challenge, message=message)

    @callback
    def recognized(self, device: Device) -> None:
        """Note the check-in of a paired device: another one with its MAC was a stranger."""
        if device.subentry_id in self._issues:
            self._clear_issue(device.subentry_id)

    @callback
    def async_remove_paired(self) -> None:
        """Remove the devices that are paired by now, and the issues that are solved."""
        subentries = device_subentries(self._entry)
        for device in self.registry.devices:
            paired = subentries.get(device.mac)
            if paired is not None and same(str(paired.data.get(CONF_CLIENT_ID)), device.client_id):
                self.registry.remove(device.mac, device.client_id)
                self._abort_cards(device.mac)
        for subentry_id, client_id in tuple(self._issues.items()):
            subentry = self._entry.subentries.get(subentry_id)
            if subentry is None or subentry.data.get(CONF_CLIENT_ID) != client_id:
                self._clear_issue(subentry_id)

    async def async_stop(self) -> None:
        """Remove all waiting devices, cards and issues."""
        for device in self.registry.devices:
            self.registry.remove(device.mac, device.client_id)
            self._abort_cards(device.mac)
        for subentry_id in tuple(self._issues):
            self._clear_issue(subentry_id)

    @callback
    def _announce(self, device: PendingDevice) -> None:
        if (subentry := device_subentries(self._entry).get(device.mac)) is not None:
            # It was reset, or another one uses its MAC.
            self._issues[subentry.subentry_id] = subentry.data.get(CONF_CLIENT_ID)
            issue = _issue_id(subentry.subentry_id)
            name = name_on_page(self._hass, self._entry, subentry)
            async_raise_issue(self._hass, issue, "identity_changed", name=name, device=device.label)
        if not self._has_room_for_card(device):
            return
        discovery_flow.async_create_flow(
            self._hass, DOMAIN, context={"source": SOURCE_INTEGRATION_DISCOVERY}, data={CONF_MAC: device.mac}
        )

    @callback
    def _has_room_for_card(self, device: PendingDevice) -> bool:
        """Whether it has a card or may get one. Without one, its code is typed at *Add device*."""
        progress = self._hass.config_entries.flow.async_progress_by_handler(
            DOMAIN, include_uninitialized=True, match_context={"source": SOURCE_INTEGRATION_DISCOVERY}
        )
        carded = [flow["context"].get("unique_id") for flow in progress]
        beside = sum(other.mac in carded for other in self.registry.devices if other.remote == device.remote)
        return device.mac in carded or (len(carded) < MAX_CARDS and beside < MAX_CARDS_FROM_ADDRESS)

    @callback
    def _clear_issue(self, subentry_id: str) -> None:
        del self._issues[subentry_id]
        ir.async_delete_issue(self._hass, DOMAIN, _issue_id(subentry_id))

    @callback
    def _abort_cards(self, mac: str) -> None:
        flows = self._hass.config_entries.flow
        for flow in flows.async_progress_by_handler(
            DOMAIN,
            include_uninitialized=True,
            match_context={"source": SOURCE_INTEGRATION_DISCOVERY, "unique_id": mac},
        ):
            flows.async_abort(flow["flow_id"])

    @callback
    def _expire(self, _now: datetime) -> None:
        for mac in self.registry.expire(self._hass.loop.time()):
            self._abort_cards(mac)
        for mac, subentry in device_subentries(self._entry).items():
            if subentry.subentry_id in self._issues and self.registry.get(mac) is None:
                self._clear_issue(subentry.subentry_id)


def _issue_id(subentry_id: str) -> str:
    return f"identity_changed_{subentry_id}"
