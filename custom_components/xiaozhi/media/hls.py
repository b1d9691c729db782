"""HTTP Live Streaming: the segments of a playlist, one after the other."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from ..protocol.audio.playlist import HlsPlaylist, PlaylistError, Resource, Segment, parse_playlist
from .errors import MediaProblem, PlaybackError, media_problem
from .fetch import Fetcher

__all__ = ["MAX_PLAYLIST", "HlsStream"]

MAX_PLAYLIST: Final = 512 * 1024
"""Bytes."""
# Segments before the end of a live stream at which playing begins (RFC 8216, section 6.3.3).
_LIVE_LEAD: Final = 3
# By so many segments a copy of a playlist may be older than the last one.
_MAX_OLDER: Final = 10
# Segments in a row that may be missing.
_MAX_MISSING: Final = 3


class HlsStream:
    """One stream in segments, live or not."""

    def __init__(self, fetcher: Fetcher, address: str, playlist: HlsPlaylist) -> None:
        """Begin with a playlist from an address."""
        self._fetcher = fetcher
        self._address = address
        self._playlist = playlist
        self._next = playlist.first_number
        if not playlist.complete:
            self._next += max(len(playlist.segments) - _LIVE_LEAD, 0)
        self._head: Resource | None = None
        self._missing = 0
        self._begun = False
        self._ended = False

    @property
    def seconds(self) -> float | None:
        """Length; None if it is live."""
        if not self._playlist.complete:
            return None
        return sum(segment.seconds for segment in self._playlist.segments) or None

    async def streams(self) -> AsyncGenerator[AsyncGenerator[bytes]]:
        """Yield the data; where the encoding may change, another stream begins. Each is read to its end."""
        while not self._ended:
            self._head = None
            # Also if reading fails.
            self._begun, self._ended = False, True
            yield self._stream()

    async def _stream(self) -> AsyncGenerator[bytes]:
        while (segment := await self._segment()) is not None:
            if segment.breaks and self._begun:
                self._ended = False
                return
            self._begun = True
            self._next += 1
            if segment.head != self._head and segment.head is not None:
                async for data in self._data(segment.head):
                    yield data
            self._head = segment.head
            async for data in self._data(segment.resource):
                yield data

    async def _segment(self) -> Segment | None:
        """Wait for the next segment; None at the end."""
        while True:
            # A live stream has gone on without us.
            self._next = max(self._next, self._playlist.first_number)
            index = self._next - self._playlist.first_number
            if index < len(self._playlist.segments):
                return self._playlist.segments[index]
            if self._playlist.complete:
                return None
            await self._reload()

    async def _reload(self) -> None:
        before = self._playlist
        answer = await self._fetcher.open(Resource(self._address))
        try:
            playlist = parse_playlist(await answer.text(MAX_PLAYLIST), answer.address)
        except PlaylistError as err:
            raise PlaybackError(media_problem(err), self._fetcher.name) from err
        finally:
            answer.close()
        if not isinstance(playlist, HlsPlaylist):
            raise PlaybackError(MediaProblem.PLAYLIST_CHANGED, self._fetcher.name)
        self._playlist = playlist
        following = playlist.first_number + len(playlist.segments)
        if following < self._next - _MAX_OLDER:
            # The server has begun to count again.
            self._next = playlist.first_number
        elif following <= self._next and not playlist.complete:
            await asyncio.sleep(before.target / 2)

    async def _data(self, resource: Resource) -> AsyncGenerator[bytes]:
        try:
            answer = await self._fetcher.open(resource)
        except PlaybackError:
            self._missing += 1
            if self._missing >= _MAX_MISSING:
                raise
            return
        self._missing = 0
        try:
            async for data in answer.body():
                yield data
        finally:
            answer.close()
