"""Check-ins: their views, and replies: link settings for a paired device, a pairing code for any other."""

import asyncio
from http import HTTPStatus
import logging
from typing import Any, Final

from aiohttp import web
from homeassistant.config_entries import SAVE_DELAY, ConfigEntry
from homeassistant.const import CONF_TOKEN, CONTENT_TYPE_JSON
from homeassistant.util import dt as dt_util

from ..const import OTA_PATH
from ..device.bounds import CONNECTIONS
from ..device.device import Device
from ..device_http.access import DeviceView, check_origin, for_devices, path_of
from ..device_http.bodies import receive_body
from ..links.admission import PairedDevices
from ..links.ports import Ports
from ..protocol.checkin import MAX_BODY_BYTES, CheckIn, CheckInError, parse_checkin
from ..protocol.checkin_reply import encode_reply
from ..protocol.messages import JsonObject
from ..settings import device_subentries
from ..timeouts import CallTimeouts
from .address_page import async_address_page
from .discovery import DeviceDiscovery

_LOGGER = logging.getLogger(__name__)

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
        if not device.bounds.take(CONNECTIONS):
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


class CheckInView(DeviceView[CheckIns]):
    """View at which a device checks in at every start. Its owner types this address into the device."""

    url = OTA_PATH
    extra_urls = [f"{OTA_PATH}/"]  # noqa: RUF012 - as Home Assistant declares it
    name = "api:xiaozhi:ota"

    async def get(self, request: web.Request) -> web.Response:
        """Show a person with a browser whether this address works; devices never send GET."""
        check_origin(request)
        return await async_address_page(request)

    @for_devices
    async def post(self, request: web.Request) -> web.Response:
        """Answer a check-in with a code or link settings."""
        check_ins = self.part
        checkin = await _accept(request)
        origin = f"{request.scheme}://{request.host}"
        reply = await check_ins.answer(checkin, remote=request.remote or "", origin=origin)
        return web.Response(body=encode_reply(reply, dt_util.now()), content_type=CONTENT_TYPE_JSON)


class ActivationView(DeviceView[CheckIns]):
    """View at which a device that shows a code asks whether the code was typed.

    The firmware (main/ota.cc) appends `/activate` to the check-in address, or `activate` when that ends with
    a slash. A device with a serial number also sends a signed challenge, which only its vendor could verify.
    """

    url = f"{OTA_PATH}/activate"
    extra_urls = [f"{OTA_PATH}/activate/"]  # noqa: RUF012 - as Home Assistant declares it
    name = "api:xiaozhi:ota:activate"

    @for_devices
    async def post(self, request: web.Request) -> web.Response:
        """Answer 200 once the device is paired, 202 until then."""
        check_ins = self.part
        status = await check_ins.activation(await _accept(request))
        # The device looks at the status only, but would wait 30 s for an empty body.
        return self.json({"message": status.phrase}, status)


async def _accept(request: web.Request) -> CheckIn:
    """Return the parsed check-in. Raises aiohttp's HTTP errors for other callers."""
    body = await receive_body(request, MAX_BODY_BYTES, CallTimeouts.body)
    try:
        return parse_checkin(request.headers, body)
    except CheckInError as err:
        _LOGGER.debug("Call of %s from %s refused: %s", path_of(request), request.remote, err)
        raise web.HTTPBadRequest(text=f"Not a XiaoZhi device: {err}") from err
