"""The page for people at the check-in address: its state, problems and the next step."""

from functools import partial
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Final

from aiohttp import web
from aiohttp.hdrs import ACCEPT_LANGUAGE, X_FORWARDED_FOR
from homeassistant.config_entries import ConfigEntryState
from homeassistant.helpers.http import KEY_HASS

from ..const import OTA_PATH
from ..device_http.access import is_outside
from ..settings import GatewaySettings, gateway_entry
from ..texts.translated import async_text, language_of_texts
from .check_in_address import GATEWAY_HEADER, PORTAL_URL, HostProblem, check_in_url, host_problem

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
_PAGE: Final = Path(__file__).with_suffix(".html").read_text(encoding="utf-8")
"""Home Assistant imports integrations outside of its event loop."""


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
        # A narrow page breaks it after a slash, and not within a word.
        address = escape(url).replace("/", "/<wbr>")
        paragraphs.append(f"{intro}<code>{address}</code><ol>{items}</ol>")
        paragraphs.append(_paragraph(await say("page_next")))
    if gateway.address is not None:
        paragraphs.append(_paragraph(await say("address_for_devices", address=gateway.address)))
    return await _page(request, title, paragraphs, HTTPStatus.OK, {GATEWAY_HEADER: gateway.name})


def _language(request: web.Request) -> str:
    """Return the first language of the browser with translations, or else that of Home Assistant."""
    for part in request.headers.get(ACCEPT_LANGUAGE, "").split(",", _MOST_LANGUAGES)[:_MOST_LANGUAGES]:
        tag = part.partition(";")[0].strip().lower()
        # English also replaces languages without translations.
        if tag.startswith("en") or (tag != "*" and language_of_texts(tag) != "en"):
            return tag
    return request.app[KEY_HASS].config.language


def _problem(request: web.Request, gateway: GatewaySettings) -> str | None:
    """Return the key of the reason why devices may not reach the called address."""
    host = request.host.rpartition(":")[0] or request.host
    if X_FORWARDED_FOR in request.headers:
        return "page_proxy"
    # The owner was warned about the configured address.
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
