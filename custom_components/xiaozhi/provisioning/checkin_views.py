"""Views of check-in and activation on Home Assistant's web server."""

import logging

from aiohttp import web
from homeassistant.const import CONTENT_TYPE_JSON
from homeassistant.util import dt as dt_util

from ..const import OTA_PATH
from ..device_http.access import DeviceView, check_origin, for_devices, path_of
from ..device_http.bodies import receive_body
from ..protocol.checkin import MAX_BODY_BYTES, CheckIn, CheckInError, parse_checkin
from ..protocol.checkin_reply import encode_reply
from ..timeouts import CallTimeouts
from .address_page import async_address_page
from .checkins import CheckIns

_LOGGER = logging.getLogger(__name__)


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
