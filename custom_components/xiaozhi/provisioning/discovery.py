"""What a check-in leads to: the link for a paired device; a code and a discovery card for any other."""

from enum import Enum, auto
import logging
from typing import TYPE_CHECKING

from homeassistant.config_entries import SOURCE_INTEGRATION_DISCOVERY, ConfigSubentry
from homeassistant.const import CONF_CLIENT_ID, CONF_MAC
from homeassistant.core import CALLBACK_TYPE, HassJob, HomeAssistant, callback
from homeassistant.helpers import discovery_flow, issue_registry as ir
from homeassistant.helpers.event import async_call_later
from homeassistant.util import dt as dt_util

from ..const import DOMAIN, SUBENTRY_DEVICE
from ..protocol.checkin import CheckIn
from ..protocol.checkin_reply import PairingReply, Reply, ServerTime
from ..secret import same
from .pairing import PairingRegistry, PendingDevice, Verdict

if TYPE_CHECKING:
    from ..gateway import XiaozhiConfigEntry

_LOGGER = logging.getLogger(__name__)


class Activation(Enum):
    """How far the pairing of a device is that asks."""

    ACCEPTED = auto()
    WAITING = auto()
    UNKNOWN = auto()


class DeviceDiscovery:
    """The devices that have checked in at a gateway and wait to be paired."""

    def __init__(self, hass: HomeAssistant, entry: XiaozhiConfigEntry) -> None:
        """Prepare for check-ins at the gateway of `entry`."""
        self._hass = hass
        self._entry = entry
        self._registry = PairingRegistry()
        self._suspects: dict[str, str] = {}
        """Subentries with a repair issue, and the Client-Id that each had when it was raised."""
        self._cancel_expiry: CALLBACK_TYPE | None = None
        self._stop_listening: CALLBACK_TYPE | None = None

    @property
    def devices(self) -> tuple[PendingDevice, ...]:
        """Return who is waiting."""
        return self._registry.devices

    def get(self, mac: str) -> PendingDevice | None:
        """Return a waiting device with this MAC."""
        return self._registry.get(mac)

    def verify(self, typed: str, mac: str | None = None) -> Verdict:
        """Check a typed code against the device with this MAC, or against everybody who waits."""
        return self._registry.verify(typed, self._hass.loop.time(), mac)

    @callback
    def check_in(self, checkin: CheckIn, remote: str, host: str, origin: str) -> Reply:
        """Answer a check-in.

        `remote` is the address of the device, `host` the name or address under which it reached us, and
        `origin` the whole beginning of the URL with scheme and port.
        """
        server_time = ServerTime.at(dt_util.now())
        if self._is_paired(checkin.mac, checkin.client_id):
            gateway = self._entry.runtime_data
            gateway.checked_in(checkin)
            return gateway.link_reply(checkin.mac, host, origin, server_time)
        device, dropped = self._registry.check_in(
            checkin.mac, checkin.client_id, checkin.board or "", remote, self._hass.loop.time()
        )
        for mac in dropped:
            self._abort_cards(mac)
        self._watch()
        self._announce(device)
        return PairingReply(
            code=device.code,
            challenge=device.challenge,
            message=f"Home Assistant\n{device.code}",
            server_time=server_time,
        )

    @callback
    def activation(self, mac: str, client_id: str) -> Activation:
        """Say whether a device that shows a code may check in again for its link."""
        if self._is_paired(mac, client_id):
            return Activation.ACCEPTED
        return Activation.WAITING if self._registry.get(mac, client_id) else Activation.UNKNOWN

    async def async_stop(self) -> None:
        """Forget everybody who waits, with their cards and issues."""
        self._unwatch()
        for device in self._registry.devices:
            self._registry.remove(device.mac, device.client_id)
            self._abort_cards(device.mac)
        for subentry_id in tuple(self._suspects):
            self._clear(subentry_id)

    def _is_paired(self, mac: str, client_id: str) -> bool:
        paired = self._entry.runtime_data.devices.get(mac)
        return paired is not None and same(paired.settings.client_id, client_id)

    @callback
    def _announce(self, device: PendingDevice) -> None:
        if (subentry := find_subentry(self._entry, device.mac)) is not None:
            self._suspect(device, subentry)
        if self._hass.config_entries.async_entry_for_domain_unique_id(DOMAIN, device.mac):
            _LOGGER.debug("Device %s shows a code, but is ignored", device.mac)
            return
        discovery_flow.async_create_flow(
            self._hass,
            DOMAIN,
            context={"source": SOURCE_INTEGRATION_DISCOVERY},
            data={CONF_MAC: device.mac},
        )

    @callback
    def _suspect(self, device: PendingDevice, subentry: ConfigSubentry) -> None:
        """Raise a repair issue: the device was reset, or something poses as it."""
        self._suspects[subentry.subentry_id] = subentry.data[CONF_CLIENT_ID]
        ir.async_create_issue(
            self._hass,
            DOMAIN,
            _issue_id(subentry.subentry_id),
            is_fixable=False,
            severity=ir.IssueSeverity.WARNING,
            translation_key="identity_changed",
            translation_placeholders={"name": subentry.title, "device": device.label},
        )

    @callback
    def _clear(self, subentry_id: str) -> None:
        del self._suspects[subentry_id]
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
    def _watch(self) -> None:
        """See to it that whoever stops calling loses its card, and whoever is paired does, too."""
        if self._stop_listening is None:
            self._stop_listening = self._entry.add_update_listener(self._async_entry_updated)
        if self._cancel_expiry is None and (expiry := self._registry.next_expiry) is not None:
            self._cancel_expiry = async_call_later(
                self._hass,
                max(0.0, expiry - self._hass.loop.time()),
                HassJob(self._expire, "xiaozhi pairing expiry", cancel_on_shutdown=True),
            )

    @callback
    def _unwatch(self) -> None:
        if self._cancel_expiry is not None:
            self._cancel_expiry()
            self._cancel_expiry = None
        if self._stop_listening is not None:
            self._stop_listening()
            self._stop_listening = None

    @callback
    def _expire(self, _now: object) -> None:
        self._cancel_expiry = None
        for mac in self._registry.expire(self._hass.loop.time()):
            self._abort_cards(mac)
        self._watch()

    async def _async_entry_updated(self, hass: HomeAssistant, entry: XiaozhiConfigEntry) -> None:
        for device in self._registry.devices:
            if self._is_paired(device.mac, device.client_id):
                self._registry.remove(device.mac, device.client_id)
                self._abort_cards(device.mac)
        for subentry_id, client_id in tuple(self._suspects.items()):
            subentry = entry.subentries.get(subentry_id)
            if subentry is None or subentry.data[CONF_CLIENT_ID] != client_id:
                self._clear(subentry_id)


def find_subentry(entry: XiaozhiConfigEntry, mac: str) -> ConfigSubentry | None:
    """Return the subentry of a paired device."""
    subentries = entry.get_subentries_of_type(SUBENTRY_DEVICE)
    return next((subentry for subentry in subentries if subentry.unique_id == mac), None)


def _issue_id(subentry_id: str) -> str:
    return f"identity_changed_{subentry_id}"
