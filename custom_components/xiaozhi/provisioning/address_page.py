"""The page that a person sees at the check-in address: whether it works, what is wrong, what to do next."""

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """Facts about the address under which a person called."""

    status: HTTPStatus = HTTPStatus.OK
    title: str
    mark: str
    problem: str | None = None
    """Key of a text."""
    reason: str = ""
    """Why the gateway does not run, in Home Assistant's words."""
    url: str | None = None
    """The address to type into devices."""
    gateway: GatewaySettings | None = None
    """Settings of the gateway if it runs."""


async def async_address_page(request: web.Request) -> web.Response:
    """Answer a person with a browser; devices never send GET."""
    hass = request.app[KEY_HASS]
    finding = _find(hass, request)
    paragraphs = []
    if finding.problem is not None:
        remote = request.remote or "–"
        text = await async_text(hass, finding.problem, reason=finding.reason, remote=remote)
        paragraphs.append(f"<p>{escape(text)}</p>")
    if finding.url is not None:
        intro = await async_text(hass, "page_type_this")
        steps = await async_text(hass, "page_steps", portal_url=PORTAL_URL)
        items = "".join(f"<li>{escape(step)}</li>" for step in steps.splitlines()).replace(PORTAL_URL, _LINK)
        paragraphs.append(f"<p>{escape(intro)}</p><code>{escape(finding.url)}</code><ol>{items}</ol>")
        paragraphs.append(f"<p>{escape(await async_text(hass, 'page_next'))}</p>")
    headers = dict(_HEADERS)
    if (gateway := finding.gateway) is not None:
        headers[GATEWAY_HEADER] = gateway.name
        if gateway.address is not None:
            connects_to = await async_text(hass, "address_for_devices", address=gateway.address)
            paragraphs.append(f"<p>{escape(connects_to)}</p>")
    page = _PAGE.format(
        language=escape(hass.config.language),
        mark=finding.mark,
        title=escape(await async_text(hass, finding.title)),
        body="\n".join(paragraphs),
    )
    return web.Response(
        text=page, status=finding.status, content_type="text/html", charset="utf-8", headers=headers
    )


def _find(hass: HomeAssistant, request: web.Request) -> _Finding:
    if is_outside(request):
        # A request from outside learns nothing about the house.
        return _failure("page_outside", HTTPStatus.FORBIDDEN)
    entry = gateway_entry(hass)
    if entry is None:
        return _failure("page_not_set_up")
    if entry.state is not ConfigEntryState.LOADED:
        return _failure("page_not_running", reason=entry.reason or "")
    host = request.host.rpartition(":")[0] or request.host
    gateway = GatewaySettings.from_entry(entry)
    address = gateway.address
    problem: str | None = None
    if X_FORWARDED_FOR in request.headers:
        problem = "page_proxy"
    # The owner was warned of the address that is set, and knows better.
    elif host != address and (unfit := host_problem(host)) is not None:
        problem = _HOST_TEXTS[unfit]
    elif request.scheme == "https":
        problem = "page_https"
    if problem is None:
        called = f"{request.scheme}://{request.host}{OTA_PATH}"
        return _Finding(title="page_works", mark="✓", url=called, gateway=gateway)
    url = check_in_url(hass, address)
    return _Finding(title="page_doubtful", mark="⚠", problem=problem, url=url, gateway=gateway)


def _failure(problem: str, status: HTTPStatus = HTTPStatus.SERVICE_UNAVAILABLE, reason: str = "") -> _Finding:
    return _Finding(status=status, title="page_fails", mark="✗", problem=problem, reason=reason)
