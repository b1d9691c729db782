"""Media from web addresses, in pieces as they arrive."""

from collections.abc import AsyncGenerator, Callable, Mapping
from http import HTTPStatus
from typing import Final
from urllib.parse import unquote, urlsplit

import aiohttp
from homeassistant.components.media_player import async_process_play_media_url
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
from homeassistant.helpers.network import is_hass_url

from ..protocol.audio.icy import IcyTitles
from ..protocol.audio.playlist import PlaylistError, PlaylistFault, Resource
from ..protocol.text import one_line
from .errors import MediaProblem, PlaybackError

__all__ = ["Answer", "Fetcher", "media_name", "own_address"]

_MAX_REDIRECTS: Final = 5
_MAX_ICY_INTERVAL: Final = 1 << 20
_MAX_NAME: Final = 100
# The decoder waits for what is missing, and notices a source that stalls.
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=10)

# The first matching kind counts.
_PROBLEMS: Final[tuple[tuple[type[Exception], MediaProblem], ...]] = (
    (TimeoutError, MediaProblem.NO_ANSWER),
    (aiohttp.ClientConnectorDNSError, MediaProblem.UNKNOWN_SERVER),
    (aiohttp.ClientConnectorCertificateError, MediaProblem.BAD_CERTIFICATE),
    (aiohttp.ClientConnectorError, MediaProblem.UNREACHABLE),
)


class Answer:
    """A server's answer with media."""

    def __init__(self, response: aiohttp.ClientResponse, beginning: bytes) -> None:
        """Take an answer, the body of which begins with what has been read of it."""
        self._response = response
        self.beginning = beginning
        self.address = str(response.url)
        """Where it came from, after redirects."""
        self.media_type = response.content_type
        self.station = one_line(_text(response.headers.get("icy-name", "")), _MAX_NAME)
        """Name of the radio station, if it is one."""

    @property
    def is_live(self) -> bool:
        """Whether it goes on without us: a file has a length."""
        return self._response.content_length is None

    async def body(self, on_title: Callable[[str], None] | None = None) -> AsyncGenerator[bytes]:
        """Yield the sound; call `on_title` with the titles in between. Raises `aiohttp.ClientError`."""
        interval = self._response.headers.get("icy-metaint", "")
        titles = None
        if interval.isascii() and interval.isdigit() and 0 < int(interval) <= _MAX_ICY_INTERVAL:
            titles = IcyTitles(int(interval), on_title or (lambda _title: None))
        beginning, self.beginning = self.beginning, b""
        yield beginning if titles is None else titles.take(beginning)
        async for data in self._response.content.iter_any():
            yield data if titles is None else titles.take(data)

    async def text(self, limit: int) -> str:
        """Return the body as text. Raises `PlaylistError` if it has more than `limit` bytes."""
        body = bytearray(self.beginning)
        async for data in self._response.content.iter_any():
            body += data
            if len(body) > limit:
                raise PlaylistError(PlaylistFault.TOO_LARGE)
        return body.decode(errors="replace")

    def close(self) -> None:
        """Close the connection."""
        self._response.close()


class Fetcher:
    """Opens web addresses. What it raises is `PlaybackError`."""

    def __init__(self, hass: HomeAssistant, name: str) -> None:
        """Fetch media of this name, which is for the user."""
        self._hass = hass
        self.name = name

    async def open(self, resource: Resource, *, titles: bool = False) -> Answer:
        """Open an address or a part of what is there, and read the beginning. `titles` asks for titles."""
        headers = {"Accept-Encoding": "identity"}
        if titles:
            headers["Icy-MetaData"] = "1"
        if (part := resource.part) is not None:
            headers["Range"] = f"bytes={part.start}-{part.start + part.length - 1}"
        try:
            response = await self._get(resource.address, headers)
            try:
                beginning = await response.content.readany()
            except BaseException:
                response.close()
                raise
        except aiohttp.TooManyRedirects as err:
            raise PlaybackError(MediaProblem.TOO_MANY_REDIRECTS, self.name) from err
        except aiohttp.ClientResponseError as err:
            raise PlaybackError(MediaProblem.REFUSED, self.name, status=str(err.status)) from err
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as err:
            raise PlaybackError(_problem(err), self.name) from err
        if part is not None and response.status != HTTPStatus.PARTIAL_CONTENT:
            response.close()
            raise PlaybackError(MediaProblem.NO_PARTS, self.name)
        return Answer(response, beginning)

    async def _get(self, address: str, headers: Mapping[str, str]) -> aiohttp.ClientResponse:
        own = is_hass_url(self._hass, address)
        # Home Assistant's own certificate is often for another name than the one it calls itself.
        session = async_get_clientsession(self._hass, verify_ssl=not own)
        return await session.get(
            address,
            headers=headers,
            max_redirects=_MAX_REDIRECTS,
            raise_for_status=True,
            timeout=_TIMEOUT,
        )


def own_address(hass: HomeAssistant, path: str) -> str:
    """Return an address for a path of Home Assistant's web server. Other addresses stay as they are."""
    return async_process_play_media_url(hass, path)


def media_name(address: str) -> str:
    """Return a short name of what is at an address. The address itself may contain a password or a token."""
    try:
        parts = urlsplit(address)
        file = unquote(parts.path.rstrip("/").rpartition("/")[2])
        return one_line(file or parts.hostname or parts.scheme, _MAX_NAME)
    except ValueError:
        return "?"


def _problem(err: Exception) -> MediaProblem:
    return next((problem for kind, problem in _PROBLEMS if isinstance(err, kind)), MediaProblem.NO_WEB_SERVER)


def _text(header: str) -> str:
    """Return a header as text; aiohttp keeps bytes that are not UTF-8 as halves of surrogate pairs."""
    return header.encode(errors="surrogateescape").decode("utf-8", "replace")
