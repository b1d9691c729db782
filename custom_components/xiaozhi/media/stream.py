"""Any media as one endless stream of PCM, with what is known of them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Final

import aiohttp
from homeassistant.core import HomeAssistant, callback

from ..protocol.audio.media import MediaError, Tags, decode_media
from ..protocol.text import one_line
from ..timeouts import MediaTimeouts
from .errors import MediaProblem, PlaybackError, media_problem
from .fetch import media_name
from .source import Piece, open_media

__all__ = ["MediaStream"]

_MAX_TITLE: Final = 200
# Seconds of media that a slow computer decodes in a second.
_SKIPPED_PER_SECOND: Final = 100
# Seconds that change threads at a time.
_PIECE_SECONDS: Final = 0.48


class MediaStream:
    """Media, opened once and played once. What it raises is `PlaybackError`. It must be closed at the end."""

    def __init__(
        self,
        hass: HomeAssistant,
        media_id: str,
        *,
        sample_rate: int,
        timeouts: MediaTimeouts,
        entity_id: str | None = None,
        title: str = "",
        skip: float = 0,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare to play media of the library or at a web address, from `skip` seconds on.

        `title` is better known than what the media tell. `on_change` is called when a title changes.
        """
        self._name = media_name(media_id)
        self._sample_rate = sample_rate
        self._timeouts = timeouts
        self._on_change = on_change
        self._given_title = title
        self._song = ""
        self._tags = Tags()
        self._piece_title = ""
        self._skip = 2 * round(sample_rate * skip)
        self._pieces = open_media(hass, media_id, entity_id, self._song_begins)
        self._decoded = self._decode()
        self._next: asyncio.Task[bytes] | None = None
        self.played = 0.0
        """Seconds that were taken."""
        self.error: PlaybackError | None = None
        """Why it could not be opened, or ended before its time."""
        self.is_live = False
        """Whether it goes on without us, and so cannot be gone on with after a pause."""
        self.station = ""
        """Name of the radio station, if it is one."""
        self.seconds: float | None = None
        """Length, if known."""

    @property
    def title(self) -> str:
        """Title of what is being played, in one line."""
        tags = self._tags
        tagged = f"{tags.artist} - {tags.title}" if tags.artist and tags.title else tags.title
        found = self._song or self._given_title or tagged or self.station or self._piece_title or self._name
        return one_line(found, _MAX_TITLE)

    async def open(self) -> None:
        """Wait for the first sound."""
        # What is skipped has to be decoded, too.
        patience = self._timeouts.opening + self._skip / (2 * self._sample_rate * _SKIPPED_PER_SECOND)
        piece = await self._next_piece(patience)
        if piece is None:
            self.error = PlaybackError(MediaProblem.LATE, self._name)
        elif not piece:
            self.error = PlaybackError(MediaProblem.EMPTY, self._name)
        if self.error is not None:
            raise self.error

    async def pcm(self) -> AsyncGenerator[bytes]:
        """Yield 16-bit mono PCM, no faster than it is taken. A source that stalls ends it.

        Closing this does not close the source: another call goes on where this one ended.
        """
        while piece := await self._next_piece(self._timeouts.stall):
            self._next = None
            self.played += len(piece) / (2 * self._sample_rate)
            yield piece
        if piece is None:
            self.error = PlaybackError(MediaProblem.STALLED, self._name)
            raise self.error

    async def close(self) -> None:
        """Close the source."""
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._decoded.aclose()
        await self._pieces.aclose()

    async def _next_piece(self, patience: float) -> bytes | None:
        """Return the next piece, which is empty at the end; None if there is none in time."""
        if self._next is None:
            # The caller may be cancelled; the source may not.
            self._next = asyncio.create_task(_first_of(self._decoded))
        if not (await asyncio.wait((self._next,), timeout=patience))[0]:
            return None
        try:
            return self._next.result()
        except PlaybackError as err:
            self.error = err
            raise

    async def _decode(self) -> AsyncGenerator[bytes]:
        failed: PlaybackError | None = None
        async with aclosing(self._pieces) as pieces:
            async for piece in pieces:
                self._begin(piece)
                failed = None
                try:
                    async with aclosing(self._decode_piece(piece)) as decoded:
                        async for pcm in decoded:
                            if heard := self._skipped(pcm):
                                yield heard
                except PlaybackError as err:
                    # The next song may be better.
                    failed = err
        if failed is not None:
            raise failed

    async def _decode_piece(self, piece: Piece) -> AsyncGenerator[bytes]:
        decoded = decode_media(
            piece.data,
            sample_rate=self._sample_rate,
            extension=piece.extension,
            on_tags=self._tagged,
            piece_bytes=2 * round(self._sample_rate * _PIECE_SECONDS),
        )
        try:
            async with aclosing(decoded):
                async for pcm in decoded:
                    yield pcm
        except MediaError as err:
            raise PlaybackError(media_problem(err), self._name) from err
        except (aiohttp.ClientError, OSError) as err:
            raise PlaybackError(MediaProblem.BROKE_OFF, self._name) from err

    def _skipped(self, pcm: bytes) -> bytes:
        if self._skip:
            skipped = min(self._skip, len(pcm))
            self._skip -= skipped
            return pcm[skipped:]
        return pcm

    @callback
    def _begin(self, piece: Piece) -> None:
        self._tags = Tags()
        self._song = ""
        self._piece_title = piece.title
        self.station = piece.station
        self.is_live = piece.is_live
        self.seconds = piece.seconds
        self._on_change()

    @callback
    def _song_begins(self, title: str) -> None:
        if title != self._song:
            self._song = title
            self._on_change()

    @callback
    def _tagged(self, tags: Tags) -> None:
        self._tags = tags
        if tags.seconds is not None:
            self.seconds = tags.seconds
        self._on_change()


async def _first_of(pieces: AsyncGenerator[bytes]) -> bytes:
    return await anext(pieces, b"")
