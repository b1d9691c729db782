"""Shared by all views for devices: access control, and closing the connection."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import update_wrapper
from ipaddress import ip_address
import logging
from typing import Any, Concatenate

from aiohttp import web
from homeassistant.helpers.http import KEY_HASS, HomeAssistantView
from homeassistant.helpers.network import is_cloud_connection
from homeassistant.util.network import is_local

from ..timeouts import CallTimeouts

_LOGGER = logging.getLogger(__name__)


def for_devices[ViewT, **P, ResponseT: web.StreamResponse](
    method: Callable[Concatenate[ViewT, web.Request, P], Awaitable[ResponseT]],
) -> Callable[Concatenate[ViewT, web.Request, P], Coroutine[Any, Any, web.StreamResponse]]:
    """Decorate a view's method: only callers in the home network are answered, and they may hang up first."""

    async def answer(
        view: ViewT, request: web.Request, /, *args: P.args, **path: P.kwargs
    ) -> web.StreamResponse:
        # Outside of the `try` below: a refused caller is not a device, and need not hang up first.
        check_remote(request)
        response: web.StreamResponse
        try:
            response = await method(view, request, *args, **path)
        except web.HTTPException as err:
            response = web.Response(text=err.text, status=err.status)
        await _wait_for_hang_up(request, response)
        return response

    update_wrapper(answer, method)
    return answer


async def _wait_for_hang_up(request: web.Request, response: web.StreamResponse) -> None:
    """Send a whole response, and return when aiohttp may close the connection: the caller should do so first.

    aiohttp, as Home Assistant configures it, cancels this call when the caller hangs up.
    """
    if request.keep_alive:
        return
    with suppress(ConnectionError):
        await response.prepare(request)
        await response.write_eof()
        if request.transport is not None and not request.transport.is_closing():
            await asyncio.sleep(CallTimeouts.hang_up)


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


class DeviceView[PartT](HomeAssistantView):
    """A view for devices, which have no account, on a part of the running gateway."""

    requires_auth = False

    def __init__(self, find: Callable[[], PartT | None]) -> None:
        """`find` returns the part; None while no gateway runs."""
        self._find = find

    @property
    def part(self) -> PartT:
        """The part. Raises `HTTPServiceUnavailable`."""
        if (part := self._find()) is None:
            raise web.HTTPServiceUnavailable(text="The XiaoZhi gateway is not set up or not running")
        return part


def path_of(request: web.Request) -> str:
    """Return the route of a call for logs. Its placeholders hide tokens and other text from the caller."""
    resource = request.match_info.route.resource
    return resource.canonical if resource is not None else "an unknown path"
