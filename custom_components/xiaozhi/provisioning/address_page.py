"""The page that a person sees at the check-in address: whether it works, what is wrong, what to do next."""

from html import escape
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.hdrs import X_FORWARDED_FOR
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import HomeAssistant
from homeassistant.helpers.http import KEY_HASS

from ..const import OTA_PATH
from ..device_http.access import is_outside
from ..settings import GatewaySettings, gateway_entry
from ..texts.translated import async_text
from .address import GATEWAY_HEADER, PORTAL_URL, HostProblem, check_in_url, host_problem

_HOST_TEXTS: Final = {
    HostProblem.UNUSABLE: "page_host_unusable",
    HostProblem.HERE_ONLY: "page_host_here_only",
    HostProblem.LOCAL_NAME: "page_host_local_name",
}
# Neither scripts nor anything from elsewhere.
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "Cache-Control": "no-store",
}
_MARKS: Final = {"page_works": "✓", "page_doubtful": "⚠", "page_fails": "✗"}
"""By title."""
_LINK: Final = f'<a href="{PORTAL_URL}" target="_blank">{PORTAL_URL}</a>'
_PAGE: Final = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>XiaoZhi</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 0 auto; padding: 1.5rem; }}
h1 {{ font-size: 1.4rem; line-height: 1.3; }}
h1::before {{ content: "{mark}"; margin-inline-end: .5rem; }}
code {{ display: block; padding: .75rem; border: 1px solid; border-radius: .5rem; font-size: .95rem;
  overflow-wrap: anywhere; -webkit-user-select: all; user-select: all; }}
li {{ margin-block: .5rem; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


async def async_address_page(request: web.Request) -> web.Response:
    """Answer a person with a browser; devices never send GET."""
    hass = request.app[KEY_HASS]
    entry = gateway_entry(hass)
    if is_outside(request):
        # A request from outside learns nothing about the house.
        return await _failure(request, "page_outside", HTTPStatus.FORBIDDEN)
    if entry is None:
        return await _failure(request, "page_not_set_up")
    if entry.state is not ConfigEntryState.LOADED:
        return await _failure(request, "page_not_running", reason=entry.reason or "")
    gateway = GatewaySettings.from_entry(entry)
    title, paragraphs = "page_works", []
    url: str | None = f"{request.scheme}://{request.host}{OTA_PATH}"
    if problem := _problem(request, gateway):
        title, url = "page_doubtful", check_in_url(hass, gateway.address)
        paragraphs.append(_paragraph(await async_text(hass, problem, remote=request.remote or "–")))
    if url is not None:
        steps = await async_text(hass, "page_steps", portal_url=PORTAL_URL)
        items = "".join(f"<li>{escape(step)}</li>" for step in steps.splitlines()).replace(PORTAL_URL, _LINK)
        intro = _paragraph(await async_text(hass, "page_type_this"))
        paragraphs.append(f"{intro}<code>{escape(url)}</code><ol>{items}</ol>")
        paragraphs.append(_paragraph(await async_text(hass, "page_next")))
    if gateway.address is not None:
        paragraphs.append(_paragraph(await async_text(hass, "address_for_devices", address=gateway.address)))
    return await _page(hass, title, paragraphs, HTTPStatus.OK, {GATEWAY_HEADER: gateway.name})


def _problem(request: web.Request, gateway: GatewaySettings) -> str | None:
    """Return the key of a text that says why devices may not reach the address that was called."""
    host = request.host.rpartition(":")[0] or request.host
    if X_FORWARDED_FOR in request.headers:
        return "page_proxy"
    # The owner was warned of the address that is set, and knows better.
    if host != gateway.address and (unfit := host_problem(host)) is not None:
        return _HOST_TEXTS[unfit]
    return "page_https" if request.scheme == "https" else None


async def _failure(
    request: web.Request,
    problem: str,
    status: HTTPStatus = HTTPStatus.SERVICE_UNAVAILABLE,
    **placeholders: str,
) -> web.Response:
    hass = request.app[KEY_HASS]
    text = await async_text(hass, problem, remote=request.remote or "–", **placeholders)
    return await _page(hass, "page_fails", [_paragraph(text)], status, {})


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


async def _page(
    hass: HomeAssistant, title: str, paragraphs: list[str], status: HTTPStatus, headers: dict[str, str]
) -> web.Response:
    page = _PAGE.format(
        language=escape(hass.config.language),
        mark=_MARKS[title],
        title=escape(await async_text(hass, title)),
        body="\n".join(paragraphs),
    )
    return web.Response(
        text=page, status=status, content_type="text/html", charset="utf-8", headers={**_HEADERS, **headers}
    )
