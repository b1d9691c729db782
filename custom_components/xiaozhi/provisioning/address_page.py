"""The page that a person sees at the check-in address: whether it works, what is wrong, what to do next."""

from functools import partial
from html import escape
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.hdrs import ACCEPT_LANGUAGE, X_FORWARDED_FOR
from homeassistant.config_entries import ConfigEntryState
from homeassistant.helpers.http import KEY_HASS

from ..const import OTA_PATH
from ..device_http.access import is_outside
from ..settings import GatewaySettings, gateway_entry
from ..texts.translated import async_text, language_of_texts
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
_MARKS: Final = {
    "page_works": ("✓", "#1b8a4b"),
    "page_doubtful": ("!", "#b26a00"),
    "page_fails": ("✗", "#c62828"),
}
"""A sign and its colour, by title."""
_LINK: Final = f'<a href="{PORTAL_URL}" target="_blank">{PORTAL_URL}</a>'
# Nobody prefers more languages than this.
_MOST_LANGUAGES: Final = 8
_PAGE: Final = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>XiaoZhi</title>
<style>
:root {{ --blue: light-dark(#2f5bd7, #8fa8ff); --pale: light-dark(#eef2ff, #1b2440); }}
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 36rem; margin: 0 auto; padding: 1.5rem; }}
header {{ display: flex; align-items: center; gap: .75rem; color: var(--blue); font-weight: 600; }}
svg {{ width: 3.5rem; height: 3.5rem; }}
h1 {{ font-size: 1.4rem; line-height: 1.3; display: flex; gap: .75rem; }}
h1::before {{ content: "{mark}"; flex: none; width: 1.8rem; height: 1.8rem; border-radius: 50%;
  font-size: 1.1rem; line-height: 1.8rem; text-align: center; color: #fff; background: {colour}; }}
code {{ display: block; padding: .75rem; border: 1px solid var(--blue); border-radius: .75rem;
  font-size: 1.05rem; background: var(--pale); overflow-wrap: anywhere;
  -webkit-user-select: all; user-select: all; }}
a, li::marker {{ color: var(--blue); }}
li {{ margin-block: .75rem; }}
</style>
</head>
<body>
<header><svg viewBox="0 -20 512 512" fill="none" stroke-linecap="round" aria-hidden="true">
<path stroke="#2ec4b6" stroke-width="26" d="M58 196a96 96 0 0 0 0 120M454 196a96 96 0 0 1 0 120"/>
<path stroke="#3d6df2" stroke-width="22" d="M256 96V58"/><circle cx="256" cy="44" r="24" fill="#2ec4b6"/>
<rect x="96" y="92" width="320" height="360" rx="84" fill="#3d6df2"/>
<rect x="132" y="130" width="248" height="176" rx="56" fill="#12204a"/>
<path stroke="#f4f8ff" stroke-width="36" d="M206 196v30M306 196v30"/>
<path stroke="#f4f8ff" stroke-width="14" d="M226 266q30 24 60 0"/>
<path stroke="#c9d8ff" stroke-width="20" d="M176 378v10M216 358v50M256 344v78M296 358v50M336 378v10"/>
</svg>XiaoZhi · Home Assistant</header>
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
    say = partial(async_text, hass, language=_language(request))
    title, paragraphs = "page_works", []
    url: str | None = f"{request.scheme}://{request.host}{OTA_PATH}"
    if problem := _problem(request, gateway):
        title, url = "page_doubtful", check_in_url(hass, gateway.address)
        paragraphs.append(_paragraph(await say(problem, remote=request.remote or "–")))
    if url is not None:
        steps = await say("page_steps", portal_url=PORTAL_URL)
        items = "".join(f"<li>{escape(step)}</li>" for step in steps.splitlines()).replace(PORTAL_URL, _LINK)
        intro = _paragraph(await say("page_type_this"))
        paragraphs.append(f"{intro}<code>{_breakable(url)}</code><ol>{items}</ol>")
        paragraphs.append(_paragraph(await say("page_next")))
    if gateway.address is not None:
        paragraphs.append(_paragraph(await say("address_for_devices", address=gateway.address)))
    return await _page(request, title, paragraphs, HTTPStatus.OK, {GATEWAY_HEADER: gateway.name})


def _language(request: web.Request) -> str:
    """Return the first language of the browser that there are texts in, or else that of Home Assistant."""
    for part in request.headers.get(ACCEPT_LANGUAGE, "").split(",", _MOST_LANGUAGES)[:_MOST_LANGUAGES]:
        tag = part.partition(";")[0].strip().lower()
        # English also takes the place of languages that there are no texts in.
        if tag.startswith("en") or (tag != "*" and language_of_texts(tag) != "en"):
            return tag
    return request.app[KEY_HASS].config.language


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
    text = await async_text(hass, problem, _language(request), remote=request.remote or "–", **placeholders)
    return await _page(request, "page_fails", [_paragraph(text)], status, {})


def _breakable(url: str) -> str:
    """Return an address that a narrow page breaks after a slash, and not within a word."""
    return escape(url).replace("/", "/<wbr>")


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


async def _page(
    request: web.Request, title: str, paragraphs: list[str], status: HTTPStatus, headers: dict[str, str]
) -> web.Response:
    language = _language(request)
    mark, colour = _MARKS[title]
    page = _PAGE.format(
        language=language_of_texts(language),
        mark=mark,
        colour=colour,
        title=escape(await async_text(request.app[KEY_HASS], title, language)),
        body="\n".join(paragraphs),
    )
    return web.Response(
        text=page, status=status, content_type="text/html", charset="utf-8", headers={**_HEADERS, **headers}
    )
