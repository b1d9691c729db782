"""Views of check-in and activation on Home Assistant's web server."""

import asyncio
from http import HTTPStatus
from ipaddress import ip_address
import logging
import re
from typing import Any, Final

from aiohttp import web
from homeassistant.config_entries import SAVE_DELAY, ConfigEntry
from homeassistant.const import CONTENT_TYPE_JSON
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.http import KEY_HASS, HomeAssistantView
from homeassistant.util import dt as dt_util
from homeassistant.util.network import is_ipv4_address, is_loopback
from yarl import URL

from ..bodies import receive_body
from ..const import OTA_PATH
from ..device_views import async_prepare_calls, called_gateway, for_devices, path_of
from ..gateway import Gateway
from ..protocol.checkin import MAX_BODY_BYTES, CheckIn, CheckInError, parse_checkin
from ..protocol.checkin_reply import encode_reply
from ..texts import async_text
from ..timeouts import timeouts_of
from .answers import Activation, Caller, answer_activation, answer_check_in

_LOGGER = logging.getLogger(__name__)

# Home Assistant writes a changed entry after `SAVE_DELAY`.
_SAVED_SECONDS: Final = SAVE_DELAY + 0.5
# A device stores at most 255 characters of a WebSocket's URL, with scheme, port and path.
_HOST: Final = re.compile(r"[0-9A-Za-z](?:[0-9A-Za-z._-]{0,198}[0-9A-Za-z])?")
_NUMERIC: Final = re.compile(r"[0-9.]+")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# The device takes any status 200 for success, whatever the body says. Never 401: Home Assistant would ban the
# IP address. Never an empty body: the device would wait 30 s for it.
_ACTIVATION: Final = {
    Activation.ACCEPTED: (HTTPStatus.OK, "accepted"),
    Activation.WAITING: (HTTPStatus.ACCEPTED, "waiting for the code"),
    Activation.UNKNOWN: (HTTPStatus.NOT_FOUND, "check in first"),
}


@callback
def async_register_views(hass: HomeAssistant) -> None:
    """Register the views. They cannot be unregistered."""
    async_prepare_calls(hass)
    for slash in ("", "/"):
        hass.http.register_view(CheckInView(f"{OTA_PATH}{slash}"))
        hass.http.register_view(ActivationView(f"{OTA_PATH}/activate{slash}"))


class CheckInView(HomeAssistantView):
    """Where a device checks in at every start. Its owner types this address into the device."""

    name = "api:xiaozhi:ota"
    requires_auth = False

    def __init__(self, url: str) -> None:
        self.url = url

    @for_devices
    async def get(self, request: web.Request) -> web.Response:
        """Explain this address to a person with a browser; devices never send GET."""
        return web.Response(text=await async_text(request.app[KEY_HASS], "check_in_address"))

    @for_devices
    async def post(self, request: web.Request) -> web.Response:
        """Answer a check-in with a code or link settings."""
        gateway, checkin = await _accept(request)
        host = request.host.rpartition(":")[0] or request.host
        if not is_usable_host(host):
            raise web.HTTPBadRequest(text="Host header without a name or an IPv4 address")
        caller = Caller(remote=request.remote or "", host=host, origin=f"{request.scheme}://{request.host}")
        reply = answer_check_in(gateway, checkin, caller)
        return web.Response(body=encode_reply(reply), content_type=CONTENT_TYPE_JSON)


class ActivationView(HomeAssistantView):
    """Where a device that shows a code asks whether the code was typed.

    The firmware (main/ota.cc) appends `/activate` to the check-in address, or `activate` when that ends with
    a slash. A device with a serial number also sends a signed challenge, which only its vendor could verify.
    """

    name = "api:xiaozhi:ota:activate"
    requires_auth = False

    def __init__(self, url: str) -> None:
        self.url = url

    @for_devices
    async def post(self, request: web.Request) -> web.Response:
        """Answer 200 once the device is paired, 202 until then."""
        gateway, checkin = await _accept(request)
        activation = answer_activation(gateway, checkin)
        if activation is Activation.ACCEPTED:
            await asyncio.sleep(_seconds_until_saved(gateway.entry))
        status, text = _ACTIVATION[activation]
        return self.json({"message": text}, status)


def _seconds_until_saved(entry: ConfigEntry[Any]) -> float:
    """Return how long Home Assistant may still take to save a changed entry, such as a new pairing.

    If a device were accepted sooner and a crash undid its pairing, it would show no code any more.
    """
    since = (dt_util.utcnow() - entry.modified_at).total_seconds()
    return min(max(0.0, _SAVED_SECONDS - since), _SAVED_SECONDS)


def is_usable_host(host: str) -> bool:
    """Whether a device can connect to this name or IPv4 address. The firmware has no IPv6."""
    return bool(_HOST.fullmatch(host)) and (not _NUMERIC.fullmatch(host) or is_ipv4_address(host))


@callback
def check_in_url(hass: HomeAssistant, address: str | None) -> str | None:
    """Return the check-in address for devices at home; None when Home Assistant does not know its own.

    `address` is the host that the owner has set. The scheme is http unless Home Assistant serves https only,
    for which devices require a publicly trusted certificate.
    """
    api = hass.config.api
    if api is None:
        return None
    scheme, host, port = "https" if api.use_ssl else "http", api.local_ip, api.port
    internal = URL(hass.config.internal_url or "")
    # Only an IP address: whether a device resolves names that end in .local depends on its build.
    if internal.scheme == "http" and internal.host and is_ipv4_address(internal.host):
        scheme, host, port = internal.scheme, internal.host, internal.port or port
    host = address or host
    # Devices cannot use a loopback address, nor an IP address with https: no certificate fits it.
    if not address and (not is_ipv4_address(host) or is_loopback(ip_address(host)) or scheme == "https"):
        return None
    suffix = "" if port == _DEFAULT_PORTS[scheme] else f":{port}"
    return f"{scheme}://{host}{suffix}{OTA_PATH}"


async def _accept(request: web.Request) -> tuple[Gateway, CheckIn]:
    """Return the gateway and the parsed check-in. Raises aiohttp's HTTP errors for other callers."""
    gateway = called_gateway(request)
    body = await receive_body(request, MAX_BODY_BYTES, timeouts_of(gateway.hass).calls.body)
    try:
        return gateway, parse_checkin(request.headers, body)
    except CheckInError as err:
        _LOGGER.debug("Call of %s from %s refused: %s", path_of(request), request.remote, err)
        raise web.HTTPBadRequest(text=f"Not a XiaoZhi device: {err}") from err
