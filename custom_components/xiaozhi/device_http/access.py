"""Shared by all views for devices: access control, and closing the connection."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import update_wrapper
from ipaddress import ip_address
import logging
from typing import Any, Concatenate, Final

from aiohttp import web
from aiohttp.hdrs import ACCEPT, METH_GET
from homeassistant.const import EVENT_HOMEASSISTANT_STOP
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.http import KEY_HASS
from homeassistant.helpers.network import is_cloud_connection
from homeassistant.util.hass_dict import HassKey
from homeassistant.util.network import is_local

from ..const import DOMAIN
from ..texts.translated import async_text
from ..timeouts import timeouts_of

_LOGGER = logging.getLogger(__name__)

_MAX_WAITING: Final = 64
_MAX_WAITING_FROM_ADDRESS: Final = 8


class HangUps:
    """Lets callers close their connections first, in bounded numbers."""

    def __init__(self, seconds: float) -> None:
        """Wait `seconds` for each caller at most."""
        self.seconds = seconds
        self._waiting: Counter[str] = Counter()
        self._stopped = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Number of connections that callers have yet to close."""
        return self._waiting.total()

    @callback
    def stop(self) -> None:
        """End all waiting, now and later: the web server is about to stop."""
        self._stopped.set()

    async def wait(self, request: web.Request, response: web.StreamResponse) -> None:
        """Send a whole response, and return when aiohttp may close the connection.

        aiohttp, as Home Assistant configures it, cancels this call when the caller hangs up.
        """
        remote = request.remote or ""
        if request.keep_alive or not self._has_room(remote):
            return
        self._waiting[remote] += 1
        try:
            with suppress(TimeoutError, ConnectionError):
                await response.prepare(request)
                await response.write_eof()
                if request.transport is not None and not request.transport.is_closing():
                    await asyncio.wait_for(self._stopped.wait(), self.seconds)
        finally:
            self._waiting[remote] -= 1
            # Unary plus drops the addresses that count zero.
            self._waiting = +self._waiting

    def _has_room(self, remote: str) -> bool:
        return self.waiting < _MAX_WAITING and self._waiting[remote] < _MAX_WAITING_FROM_ADDRESS


_HANG_UPS: Final[HassKey[HangUps]] = HassKey(f"{DOMAIN}_hang_ups")


@callback
def async_prepare_calls(hass: HomeAssistant) -> None:
    """Prepare what `for_devices` needs."""
    hang_ups = hass.data[_HANG_UPS] = HangUps(timeouts_of(hass).calls.hang_up)
    hass.bus.async_listen_once(EVENT_HOMEASSISTANT_STOP, callback(lambda _event: hang_ups.stop()))


def for_devices[ViewT, **P, ResponseT: web.StreamResponse](
    method: Callable[Concatenate[ViewT, web.Request, P], Awaitable[ResponseT]],
) -> Callable[Concatenate[ViewT, web.Request, P], Coroutine[Any, Any, web.StreamResponse]]:
    """Decorate a view's method: only callers in the home network are answered, and they may hang up first."""

    async def answer(
        view: ViewT, request: web.Request, /, *args: P.args, **path: P.kwargs
    ) -> web.StreamResponse:
        # Outside of the `try` below: who is refused here is not a device, and need not hang up first.
        try:
            check_remote(request)
        except web.HTTPForbidden as err:
            if not _is_of_person(request):
                raise
            return await _refusal(request, err)
        response: web.StreamResponse
        try:
            response = await method(view, request, *args, **path)
        except web.HTTPException as err:
            response = await _refusal(request, err)
        await request.app[KEY_HASS].data[_HANG_UPS].wait(request, response)
        return response

    update_wrapper(answer, method)
    return answer


async def _refusal(request: web.Request, err: web.HTTPException) -> web.Response:
    """Return the answer to a caller that is refused. Only a person with a browser reads it as a sentence."""
    text = err.text
    if _is_of_person(request):
        text = await async_text(request.app[KEY_HASS], "page_for_devices")
    return web.Response(text=text, status=err.status)


def _is_of_person(request: web.Request) -> bool:
    """Whether a person with a browser has typed or followed the address. Devices do not ask for pages."""
    return request.method == METH_GET and "text/html" in request.headers.get(ACCEPT, "")


def check_remote(request: web.Request) -> None:
    """Check that a caller is in the home network, as for a local webhook, and is not a web page.

    Raises `web.HTTPForbidden`. A browser names the page that makes a request; devices and people who type an
    address send no such header.
    """
    if is_outside(request):
        _LOGGER.debug(
            "Call of %s from %s refused: not in the local network", path_of(request), request.remote
        )
        raise web.HTTPForbidden(text="Only for devices in the local network")
    check_origin(request)


def is_outside(request: web.Request) -> bool:
    """Whether a caller is not in the home network, or calls through Home Assistant Cloud."""
    try:
        local = is_local(ip_address(request.remote or ""))
    except ValueError:
        return True
    return not local or is_cloud_connection(request.app[KEY_HASS])


def check_origin(request: web.Request) -> None:
    """Check that no web page makes a request. Raises `web.HTTPForbidden`."""
    if "Origin" in request.headers:
        _LOGGER.debug("Call of %s from %s refused: made by a web page", path_of(request), request.remote)
        raise web.HTTPForbidden(text="Not for web pages")


def required[PartT](part: PartT | None) -> PartT:
    """Return a part of the running gateway, which is None without one. Raises `HTTPServiceUnavailable`."""
    if part is None:
        raise web.HTTPServiceUnavailable(text="The XiaoZhi gateway is not set up or not running")
    return part


def path_of(request: web.Request) -> str:
    """Return the route of a call for logs. Its placeholders hide tokens and other text from the caller."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "an unknown path"
