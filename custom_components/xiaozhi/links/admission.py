"""Admission of paired devices by MAC, Client-Id and token, which is the password on MQTT."""

from collections.abc import Iterable, Mapping
from hmac import compare_digest
import logging

from homeassistant.core import callback

from ..device.bounds import CONNECTIONS
from ..device.device import Device
from ..device.link_settings import client_id_of
from ..protocol.firmware_version import SAFE_TEXT_BYTES
from ..protocol.transport.link import Admission, Credentials, LinkKind
from ..settings import GatewaySettings

_LOGGER = logging.getLogger(__name__)


def same(one: str, other: str) -> bool:
    """Compare two texts in constant time; headers may hold bytes that are not UTF-8."""
    return compare_digest(one.encode(errors="surrogatepass"), other.encode(errors="surrogatepass"))


class PairedDevices:
    """Finds paired devices by their credentials."""

    def __init__(self, settings: GatewaySettings, devices: Mapping[str, Device]) -> None:
        """Look among `devices`, by MAC, which come and go."""
        self._settings = settings
        self._devices = devices

    def find(self, mac: str, client_id: str) -> Device | None:
        """Return the device with this MAC, if the Client-Id is its own as well."""
        device = self._devices.get(mac)
        return device if device is not None and same(device.settings.client_id, client_id) else None

    @callback
    def admit(self, credentials: Credentials, kind: LinkKind) -> Admission | None:
        """Admit a device that presents its token and client id."""
        device = self._devices.get(credentials.mac)
        if device is None or not same(credentials.token, device.settings.token):
            _LOGGER.debug("Connection from %s refused: unknown device or wrong token", credentials.remote)
            return None
        client_id = device.settings.client_id
        if kind is LinkKind.MQTT:
            client_id = client_id_of(self._settings, device.mac)
        if not same(credentials.client_id, client_id):
            _LOGGER.debug("Connection from %s refused: not the device that was paired", credentials.remote)
            return None
        if not device.bounds.take(CONNECTIONS):
            _LOGGER.debug("Connection from %s refused: it comes and goes without end", credentials.remote)
            return None
        return _admission(device)

    @callback
    def admit_from_broker(self, mac: str) -> Admission | None:
        """Admit a device. The broker decides who may write to its topic."""
        device = self._devices.get(mac)
        return None if device is None else _admission(device)

    def probed_macs(self) -> Iterable[str]:
        """Return the MACs of the devices that can answer before a hello."""
        return [mac for mac, device in self._devices.items() if device.state.answers_unasked]

    def address_for(self, mac: str) -> str | None:
        """Return the address that the owner has set, or else the host that a device last called."""
        device = self._devices.get(mac)
        return self._settings.address or (None if device is None else device.state.host)


def _admission(device: Device) -> Admission:
    firmware = device.state.firmware_version
    return Admission(
        attach=device.attach,
        pings_safe=firmware is not None and firmware.pings_safe,
        text_limit=None if firmware is not None and firmware.takes_long_texts else SAFE_TEXT_BYTES,
    )
