"""Sources of media: the media library and its search, a speech engine, a web address."""

import logging
import os
from pathlib import Path
import re
from socket import SOCK_STREAM
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

import aiohttp
from homeassistant.components import media_source, tts
from homeassistant.components.media_player import (
    BrowseError,
    BrowseMedia,
    SearchMedia,
    SearchMediaQuery,
    async_process_play_media_url,
)
from homeassistant.components.media_source import Unresolvable
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.network import is_hass_url
from homeassistant.util.json import json_loads
from yarl import URL

from ...announcements.announcement_speech import speech_options
from ...device_http.bodies import BodyTooLargeError, read_body
from ...errors import UserError
from ...util.text import one_line
from .ffmpeg import file_input, web_input
from .ffmpeg_log import is_public

_LOGGER = logging.getLogger(__name__)

_MAX_NAME: Final = 100
# Web radio is often listed as a playlist, which ffmpeg cannot read unless it is HTTP Live Streaming.
# Some have an address such as `/listen?format=pls`.
_PLAYLIST: Final = re.compile(r"(?<![a-z0-9])(?:m3u8?|pls)(?![a-z0-9])", re.IGNORECASE)
_SOUND: Final = re.compile(r"\.(?:aac|flac|m4a|mp3|mp4|oga|ogg|opus|ts|wav|webm|wma)$", re.IGNORECASE)
_PLAYLIST_TYPES: Final = re.compile(r"mpegurl|scpls|text/|octet-stream")
_MAX_PLAYLISTS: Final = 3
_HLS: Final = "#EXT-X-"
_PLS_FILE: Final = re.compile(r"(?:file|ref)(\d{0,6})\s*=\s*\"?(.*?)\"?", re.IGNORECASE)
# In bytes.
_MAX_PLAYLIST: Final = 64 * 1024
# Files, whose names are no addresses.
_LIBRARY: Final = f"{media_source.URI_SCHEME}{media_source.DOMAIN}/"
_SPEECH: Final = f"{media_source.URI_SCHEME}{tts.DOMAIN}/"
# As `tts.generate_media_source_id` writes it, and for speech that is made already.
_OPTIONS: Final = "tts_options"
_MADE: Final = "-stream-/"
_MAX_FOUND: Final = 50
_SOUNDS: Final = frozenset({"music", "track", "podcast", "episode", "playlist", "application/ogg"})


async def find_media(
    hass: HomeAssistant, media_id: str, entity_id: str | None
) -> tuple[str, ...] | tts.ResultStream:
    """Return where media of the library or at a web address are, or speech. Raises `UserError`."""
    name = media_name(media_id)
    if "\0" in media_id:
        raise UserError("media_unsupported", media=name)
    if media_id.startswith(_SPEECH) and (
        (speech := _speech_for(hass, media_id.removeprefix(_SPEECH), name)) is not None
    ):
        return speech
    for _ in range(_MAX_PLAYLISTS):
        if not media_source.is_media_source_id(media_id):
            break
        try:
            found = await media_source.async_resolve_media(hass, media_id, entity_id)
        except Exception as err:
            # A source of media may raise anything, and so may Home Assistant for an unknown source.
            if not isinstance(err, (Unresolvable, BrowseError)):
                _LOGGER.warning("%s is not found: %s", name, type(err).__name__)
            raise UserError("media_unsupported", media=name) from err
        if found.path is None:
            media_id = found.url
            break
        if not _PLAYLIST.fullmatch(found.path.suffix.removeprefix(".")):
            return file_input(found.path)
        try:
            media_id = await hass.async_add_executor_job(_entry_of_file, media_id, found.path)
        except (OSError, ValueError) as err:
            raise _leads_nowhere(name, err) from err
    return await _web_media(hass, media_id, name)


def text_to_speak(media_id: str) -> str:
    """Return the text of a media id that is to be spoken by a speech engine; nothing for other media."""
    if not media_id.startswith(_SPEECH):
        return ""
    try:
        return URL(media_id.removeprefix(_SPEECH)).query.get("message", "")
    except ValueError:
        return ""


def media_name(address: str) -> str:
    """Return a short name of what is at an address. The address itself may contain a password or a token."""
    if address.startswith(_LIBRARY):
        return one_line(address.rpartition("/")[2], _MAX_NAME)
    try:
        parts = urlsplit(address)
        file = unquote(parts.path.rstrip("/").rpartition("/")[2])
        return one_line(file or parts.hostname or parts.scheme, _MAX_NAME)
    except ValueError:
        return "?"


def _speech_for(hass: HomeAssistant, identifier: str, name: str) -> tts.ResultStream | None:
    """Return the speech of a text in the engine's own format: a conversion would take ffmpeg.

    None if the media id has no text in a known place: Home Assistant itself may find it.
    """
    try:
        wanted = URL(identifier)
        query = {key: value for key, value in wanted.query.items() if key != "cache"}
        if wanted.path.startswith(_MADE):
            speech = tts.async_get_stream(hass, wanted.path.removeprefix(_MADE))
        elif (message := query.pop("message", None)) is None:
            return None
        else:
            engine, language = wanted.name, query.pop("language", None)
            options: Any = json_loads(query[_OPTIONS]) if _OPTIONS in query else query
            speech = tts.async_create_stream(
                hass, engine, language, {**speech_options(hass, engine), **(options or {})}
            )
            speech.async_set_message(message)
    except (HomeAssistantError, ValueError, TypeError) as err:
        _LOGGER.warning("%s cannot be spoken: %s", name, one_line(str(err)))
        raise UserError("media_speech_failed", media=name) from err
    if speech is None:
        raise UserError("media_speech_failed", media=name)
    return speech


async def _web_media(hass: HomeAssistant, media_id: str, name: str) -> tuple[str, ...]:
    try:
        address = _web_address(async_process_play_media_url(hass, media_id))
    except ValueError as err:
        raise UserError("media_unsupported", media=name) from err
    for _ in range(_MAX_PLAYLISTS):
        parts = urlsplit(address)
        if _SOUND.search(parts.path) or not _PLAYLIST.search(f"{parts.path}?{parts.query}"):
            break
        # One may lead to another.
        before, address = address, await _playlist_entry(hass, address, name)
        if address == before:
            break
    # Home Assistant's own certificate often has another name than its address.
    return web_input(address, verify=not is_hass_url(hass, address))


def _web_address(address: str) -> str:
    # This also raises for addresses that `is_hass_url` cannot read, such as one with an impossible port.
    if URL(address).scheme not in {"http", "https"} or not address.isprintable():
        # A NUL cannot be handed to ffmpeg at all.
        raise ValueError("neither http nor https, or with control characters")
    return address


async def _playlist_entry(hass: HomeAssistant, address: str, name: str) -> str:
    """Return the address that a playlist leads to. Raises `UserError`."""
    session = async_get_clientsession(hass, verify_ssl=not is_hass_url(hass, address))
    try:
        async with session.get(address, raise_for_status=True) as response:
            if not _PLAYLIST_TYPES.search(response.content_type):
                # Only called so.
                return address
            entry = _first_entry(await read_body(response, _MAX_PLAYLIST))
        if not entry:
            return address
        if "://" not in entry:
            # It may be the name of a file.
            entry = urljoin(address, f"{'' if entry.startswith('/') else './'}{entry.replace('#', '%23')}")
        return await _checked(hass, _web_address(entry), address)
    except (aiohttp.ClientError, OSError, BodyTooLargeError, ValueError) as err:
        if isinstance(err, BodyTooLargeError) and urlsplit(address).path.lower().endswith(".m3u8"):
            return address
        raise _leads_nowhere(name, err) from err


def _leads_nowhere(name: str, err: Exception) -> UserError:
    _LOGGER.warning("The playlist %s leads nowhere: %s", name, type(err).__name__)
    return UserError("media_failed", media=name)


async def _checked(hass: HomeAssistant, entry: str, address: str) -> str:
    """Return an entry of a playlist; raise `ValueError` if it leads from the internet to the home."""
    if await _is_public(hass, address) and not await _is_public(hass, entry):
        raise ValueError("a playlist of the internet that leads into the home network")
    return entry


async def _is_public(hass: HomeAssistant, address: str) -> bool:
    found = await hass.loop.getaddrinfo(urlsplit(address).hostname, None, type=SOCK_STREAM)
    return all(is_public(str(host)) for *_, (host, *_) in found)


def _entry_of_file(media_id: str, path: Path) -> str:
    """Return the media id that a playlist of the library leads to. Raises `OSError` and `ValueError`."""
    with path.open("rb") as file:
        data = file.read(_MAX_PLAYLIST + 1)
    entry = _first_entry(data)
    if len(data) > _MAX_PLAYLIST or not entry:
        raise ValueError("no playlist of files")
    if "://" in entry:
        return entry
    ways = (entry, unquote(entry), entry.replace("\\", "/"))
    there = next((way for way in ways if (path.parent / way).is_file()), entry)
    # The library itself refuses what is outside of its folders.
    inside = os.path.relpath(path.parent / there, path.parent)
    folder = media_id.removeprefix(media_source.URI_SCHEME).rpartition("/")[0]
    return media_source.URI_SCHEME + os.path.normpath(f"{folder}/{inside}")


def _first_entry(data: bytes) -> str:
    """Return the first entry of an M3U or PLS file, nothing if it is for ffmpeg.

    Raises `ValueError` if there is none.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    if _HLS in text:
        return ""
    lines = [line.strip() for line in text.splitlines()]
    if files := [found for line in lines if (found := _PLS_FILE.fullmatch(line))]:
        lines = [found[2] for found in sorted(files, key=lambda found: int(found[1] or 0))]
    entry = next((line for line in lines if line and not line.startswith("#")), "")
    # It may be an error page, or no text.
    if not entry or entry.startswith("<") or not entry.isprintable():
        raise ValueError("a playlist without an entry")
    return entry


async def search_sounds(hass: HomeAssistant, query: SearchMediaQuery) -> SearchMedia:
    """Search a folder, or all sources that can be searched. Raises `BrowseError`."""
    if query.media_content_id:
        found = await media_source.async_search_media(hass, query.media_content_id, query)
        return SearchMedia(result=_sounds(found)[:_MAX_FOUND])
    result: list[BrowseMedia] = []
    for source in (await media_source.async_browse_media(hass, None, content_filter=is_sound)).children or ():
        try:
            found = await media_source.async_search_media(hass, source.media_content_id, query)
        except HomeAssistantError, NotImplementedError:
            continue
        result += _sounds(found)
    return SearchMedia(result=result[:_MAX_FOUND])


def _sounds(found: SearchMedia) -> list[BrowseMedia]:
    return [item for item in found.result if item.can_play and is_sound(item)]


def is_sound(item: BrowseMedia) -> bool:
    """Whether something of the library can be heard."""
    kind = item.media_content_type or ""
    return kind.startswith("audio/") or kind in _SOUNDS
