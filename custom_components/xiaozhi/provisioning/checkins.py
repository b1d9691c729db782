"""Replies to check-ins: the link settings for a paired device, a pairing code for any other."""

import asyncio
from http import HTTPStatus
from typing import Any, Final

from aiohttp import web
from homeassistant.config_entries import SAVE_DELAY, ConfigEntry
from homeassistant.const import CONF_TOKEN

from ..device.bounds import Bound
from ..device.device import Device
from ..links.admission import PairedDevices
from ..links.ports import Ports
from ..protocol.checkin import CheckIn
from ..protocol.messages import JsonObject
from ..settings import device_subentries
from .discovery import DeviceDiscovery

# Home Assistant writes a changed entry after `SAVE_DELAY`.
_SAVED_SECONDS: Final = SAVE_DELAY + 0.5


class CheckIns:
    """Answers the check-ins of the devices of a gateway."""

    def __init__(
        self, entry: ConfigEntry[Any], paired: PairedDevices, discovery: DeviceDiscovery, ports: Ports
    ) -> None:
        self._paired = paired
        self._discovery = discovery
        self._ports = ports
        self._saved = {
            mac: subentry.data.get(CONF_TOKEN) for mac, subentry in device_subentries(entry).items()
        }
        """The tokens on the disk, by MAC."""

    async def answer(self, checkin: CheckIn, *, remote: str, origin: str) -> JsonObject:
        """Return the reply to a check-in from an IP address, which was sent to a scheme, host and port.

        Raises `HTTPTooManyRequests`.
        """
        if (device := await self._find(checkin)) is None:
            return self._discovery.answer_check_in(checkin, remote)
        if not device.bounds.take(Bound.CONNECTIONS):
            raise web.HTTPTooManyRequests(text="Too many check-ins")
        self._discovery.recognized(device)
        # Also a device that is to use the WebSocket: on the broker, messages to it are lost.
        self._ports.expect(device.mac)
        return device.answer_check_in(checkin, remote=remote, origin=origin)

    async def activation(self, checkin: CheckIn) -> HTTPStatus:
        """Answer a device that asks whether its code was typed: yes, not yet, or it must check in first."""
        if await self._find(checkin) is not None:
            return HTTPStatus.OK
        waiting = self._discovery.registry.get(checkin.mac, checkin.client_id)
        return HTTPStatus.NOT_FOUND if waiting is None else HTTPStatus.ACCEPTED

    async def _find(self, checkin: CheckIn) -> Device | None:
        """Return the paired device that calls, once its pairing is on the disk.

        If a crash undid it later, the device would show no code any more, or have an unknown token.
        """
        while (device := self._paired.find(checkin.mac, checkin.client_id)) is not None:
            token = device.settings.token
            if self._saved.get(device.mac) == token:
                break
            await asyncio.sleep(_SAVED_SECONDS)
            self._saved[device.mac] = token
        return device
