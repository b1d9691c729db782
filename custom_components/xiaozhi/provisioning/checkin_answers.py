"""Replies to check-ins: the link settings for a paired device, a pairing code for any other."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from homeassistant.config_entries import SAVE_DELAY, ConfigEntry
from homeassistant.const import CONF_TOKEN

from ..device.device import Device
from ..links.admission import PairedDevices
from ..links.server_for_device import kind_of_link, link_reply, web_origin
from ..protocol.checkin import CheckIn
from ..protocol.checkin_reply import pairing_section
from ..protocol.firmware_version import FirmwareVersion
from ..protocol.messages import JsonObject
from ..protocol.transport.link import LinkKind
from ..settings import GatewaySettings, device_subentries
from .discovery import DeviceDiscovery

# Home Assistant writes a changed entry after `SAVE_DELAY`.
_SAVED_SECONDS: Final = SAVE_DELAY + 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Source and destination of a check-in."""

    remote: str
    """IP address of the device."""
    host: str
    """Name or IPv4 address that the device called."""
    origin: str
    """Beginning of the URL that it called: scheme, host and port."""


class CheckIns:
    """Answers the check-ins of the devices of a gateway."""

    def __init__(
        self,
        entry: ConfigEntry[Any],
        settings: GatewaySettings,
        paired: PairedDevices,
        discovery: DeviceDiscovery,
        expect: Callable[[str], None],
    ) -> None:
        """Answer for the gateway of `entry`. `expect` gets the MAC of each device that will use MQTT."""
        self._settings = settings
        self._paired = paired
        self._discovery = discovery
        self._expect = expect
        self._saved = {
            mac: subentry.data.get(CONF_TOKEN) for mac, subentry in device_subentries(entry).items()
        }
        """The tokens on the disk, by MAC."""

    async def answer(self, checkin: CheckIn, caller: Caller) -> JsonObject:
        """Return the reply to a check-in."""
        if (device := await self._find(checkin)) is None:
            pending = self._discovery.add(checkin, caller.remote)
            message = f"Home Assistant\n{pending.code}"
            return pairing_section(code=pending.code, challenge=pending.challenge, message=message)
        settings = self._settings
        firmware = FirmwareVersion.parse(checkin.firmware_version or device.state.firmware)
        kind = kind_of_link(settings, device.settings, firmware)
        if kind is LinkKind.MQTT:
            self._expect(device.mac)
        offer = device.answer_check_in(checkin, kind, caller.host, web_origin(settings, caller.origin))
        return link_reply(settings, device.settings, kind, caller.host) | (offer or {})

    async def activation(self, checkin: CheckIn) -> HTTPStatus:
        """Answer a device that asks whether its code was typed: yes, not yet, or it must check in first."""
        if await self._find(checkin) is not None:
            return HTTPStatus.OK
        waiting = self._discovery.registry.get(checkin.mac, checkin.client_id)
        return HTTPStatus.NOT_FOUND if waiting is None else HTTPStatus.ACCEPTED

    async def _find(self, checkin: CheckIn) -> Device | None:
        """Return the paired device that calls, once its pairing is on the disk.

        If a crash undid it later, the device would show no code any more, or have a token that is forgotten.
        """
        device = self._paired.find(checkin.mac, checkin.client_id)
        if device is None or self._saved.get(device.mac) == (token := device.settings.token):
            return device
        await asyncio.sleep(_SAVED_SECONDS)
        self._saved[device.mac] = token
        return self._paired.find(checkin.mac, checkin.client_id)
