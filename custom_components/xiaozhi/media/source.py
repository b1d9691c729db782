"""Where media come from: the media library, a speech engine, a web address, a playlist."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
import logging
import mimetypes
from pathlib import Path
from typing import Any, BinaryIO, Final
from urllib.parse import urlsplit

from homeassistant.components import media_source, tts
from homeassistant.components.media_player import BrowseError
from homeassistant.components.media_source import Unresolvable
from homeassistant.components.tts.media_source import parse_media_source_id
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError

from ..protocol.audio.playlist import (
    HlsPlaylist,
    HlsVariants,
    PlaylistEntry,
    PlaylistError,
    Resource,
    is_playlist,
    parse_playlist,
)
from ..protocol.text import one_line
from ..voice.speech_format import speech_options
from .errors import MediaProblem, PlaybackError, media_problem
from .fetch import Answer, Fetcher, media_name, own_address
from .hls import MAX_PLAYLIST, HlsStream

__all__ = ["Piece", "open_media"]

_LOGGER = logging.getLogger(__name__)

_FILE_READ: Final = 64 * 1024
# A playlist may lead to another, as from M3U to the variants of HLS to one of them.
_MAX_DEPTH: Final = 4
_SPEECH: Final = f"{media_source.URI_SCHEME}{tts.DOMAIN}/"


@dataclass(kw_only=True)
class Piece:
    """Media that one decoder decodes: a file, a song, a station."""

    data: AsyncGenerator[bytes]
    extension: str | None = None
    """A hint for the decoder."""
    title: str = ""
    station: str = ""
    seconds: float | None = None
    is_live: bool = False
    """Whether it goes on without us."""


type OnTitle = Callable[[str], None]


async def open_media(
    hass: HomeAssistant, media_id: str, entity_id: str | None, on_title: OnTitle
) -> AsyncGenerator[Piece]:
    """Yield the pieces of media of the library or at a web address, each to be read before the next.

    `on_title` is called with the titles that come between the sound. Raises `PlaybackError`, before the first
    piece or later; reading a piece raises it, too, or what aiohttp raises when a connection breaks off.
    """
    name = media_name(media_id)
    if media_id.startswith(_SPEECH):
        speech = _speech_for(hass, media_id.removeprefix(_SPEECH), name)
        yield Piece(data=_speech(speech, name), extension=speech.extension, title=name)
        return
    if media_source.is_media_source_id(media_id):
        try:
            found = await media_source.async_resolve_media(hass, media_id, entity_id)
        except (Unresolvable, BrowseError) as err:
            raise PlaybackError(MediaProblem.UNSUPPORTED, name) from err
        extension = _extension(found.mime_type)
        if found.path is not None:
            yield Piece(data=_file(hass, found.path, name), extension=extension, title=found.path.stem)
            return
        media_id = found.url
    opener = _Opener(hass, name, on_title)
    try:
        address = own_address(hass, media_id)
        scheme = urlsplit(address).scheme
    except ValueError as err:
        raise PlaybackError(MediaProblem.UNSUPPORTED, name) from err
    if scheme not in ("http", "https"):
        raise PlaybackError(MediaProblem.UNSUPPORTED, name)
    async with aclosing(opener.open(PlaylistEntry(address), _MAX_DEPTH)) as pieces:
        async for piece in pieces:
            yield piece


class _Opener:
    """Opens web addresses, and what the playlists there lead to."""

    def __init__(self, hass: HomeAssistant, name: str, on_title: OnTitle) -> None:
        self._fetcher = Fetcher(hass, name)
        self._name = name
        self._on_title = on_title

    async def open(self, entry: PlaylistEntry, depth: int) -> AsyncGenerator[Piece]:
        answer = await self._fetcher.open(Resource(entry.address), titles=True)
        try:
            if not is_playlist(answer.media_type, answer.address, answer.beginning):
                yield Piece(
                    data=answer.body(self._on_title),
                    extension=_extension(answer.media_type) or _suffix(answer.address),
                    title=entry.title or media_name(answer.address),
                    station=answer.station,
                    is_live=answer.is_live,
                )
                return
            if not depth:
                raise PlaybackError(MediaProblem.PLAYLIST_NESTED, self._name)
            followed = self._follow(answer, entry, depth - 1)
            async with aclosing(followed) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            answer.close()

    async def _follow(self, answer: Answer, entry: PlaylistEntry, depth: int) -> AsyncGenerator[Piece]:
        try:
            playlist = parse_playlist(await answer.text(MAX_PLAYLIST), answer.address)
        except PlaylistError as err:
            raise PlaybackError(media_problem(err), self._name) from err
        answer.close()
        match playlist:
            case HlsPlaylist():
                pieces = self._segments(HlsStream(self._fetcher, answer.address, playlist), entry)
            case HlsVariants(best):
                pieces = self.open(PlaylistEntry(best, entry.title), depth)
            case _:
                pieces = self._songs(playlist.entries, depth)
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def _segments(self, stream: HlsStream, entry: PlaylistEntry) -> AsyncGenerator[Piece]:
        title = entry.title or self._name
        async with aclosing(stream.streams()) as streams:
            async for data in streams:
                yield Piece(data=data, title=title, seconds=stream.seconds, is_live=stream.seconds is None)

    async def _songs(self, entries: tuple[PlaylistEntry, ...], depth: int) -> AsyncGenerator[Piece]:
        """Yield what can be opened. Raises the last error if nothing can."""
        failed = PlaybackError(MediaProblem.PLAYLIST_EMPTY, self._name)
        opened = False
        for entry in entries:
            try:
                async with aclosing(self.open(entry, depth)) as pieces:
                    async for piece in pieces:
                        opened = True
                        yield piece
            except PlaybackError as err:
                failed = err
        if not opened:
            raise failed


def _speech_for(hass: HomeAssistant, identifier: str, name: str) -> tts.ResultStream:
    """Return what a speech engine makes of a text, as it gives it: to convert it would take ffmpeg."""
    try:
        wanted: Mapping[str, Any] = {**parse_media_source_id(identifier)}
        if "stream" in wanted:
            speech = tts.async_get_stream(hass, wanted["stream"])
        else:
            engine, options = wanted["options"]["engine"], wanted["options"]["options"] or {}
            speech = tts.async_create_stream(
                hass, engine, wanted["options"]["language"], speech_options(hass, engine) | options
            )
            speech.async_set_message(wanted["message"])
    except (HomeAssistantError, ValueError, KeyError) as err:
        _LOGGER.warning("%s cannot be spoken: %s", name, one_line(str(err)))
        raise PlaybackError(MediaProblem.SPEECH_FAILED, name) from err
    if speech is None:
        raise PlaybackError(MediaProblem.SPEECH_FAILED, name)
    return speech


async def _speech(speech: tts.ResultStream, name: str) -> AsyncGenerator[bytes]:
    try:
        async for data in speech.async_stream_result():
            yield data
    except HomeAssistantError as err:
        _LOGGER.warning("%s cannot be spoken: %s", name, one_line(str(err)))
        raise PlaybackError(MediaProblem.SPEECH_FAILED, name) from err


async def _file(hass: HomeAssistant, path: Path, name: str) -> AsyncGenerator[bytes]:
    def open_file() -> BinaryIO:
        return path.open("rb")

    try:
        file = await hass.async_add_executor_job(open_file)
        try:
            while data := await hass.async_add_executor_job(file.read, _FILE_READ):
                yield data
        finally:
            file.close()
    except OSError as err:
        raise PlaybackError(MediaProblem.UNREADABLE, name) from err


def _extension(media_type: str) -> str | None:
    """Return the usual extension of a media type, without the dot."""
    extension = mimetypes.guess_extension(media_type, strict=False)
    return extension[1:] if extension else None


def _suffix(address: str) -> str | None:
    return Path(urlsplit(address).path).suffix[1:5].lower() or None
