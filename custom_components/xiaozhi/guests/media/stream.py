"""Any media as one stream of PCM, with the facts about them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
import logging
from typing import Final

from homeassistant.components import tts
from homeassistant.components.ffmpeg import get_ffmpeg_manager
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.debounce import Debouncer

from ...announcements.delivery import Delivery
from ...announcements.utterance import OpenSpeech
from ...errors import UserError
from ...protocol.audio.speech_decoder import SpeechError, decode_speech
from ...protocol.messages import DOWNLINK
from ...util.text import one_line
from .ffmpeg import read_sound
from .ffmpeg_log import FfmpegLog
from .source import find_media, media_name

_LOGGER = logging.getLogger(__name__)

# Seconds for a source to deliver the first sound, from the call of the action.
_OPENING: Final = 10
# Seconds for it to go on. A device that plays a stream from us gives up after 5 s without data.
_STALL: Final = 4
_MAX_TITLE: Final = 200
_RATE: Final = DOWNLINK.sample_rate
_PIECE: Final = 32 * 1024
# More than any device reads ahead of what it plays.
_KEPT: Final = 20 * 2 * _RATE
# Ten minutes, as long as an alarm rings.
_LONGEST: Final = 600 * 2 * _RATE
# Seconds between two changes of the facts: a station may send titles at any rate, and each is recorded.
_MIN_PAUSE: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """The source."""

    media_id: str
    """Id in the media library, or a web address."""
    entity_id: str | None = None
    """The player, for media sources that ask which one it is."""
    title: str = ""
    """Title from the caller, if known: it counts more than that of the media."""
    start: float = 0.0
    """Seconds of it that are skipped."""


@callback
def _ignore() -> None:
    """Follow nothing."""


class MediaStream:
    """Media, opened once and played once, or repeated. It raises `UserError`, and must be closed at the end.

    Speech of Home Assistant's engines is decoded here, without delay; everything else by ffmpeg.
    """

    def __init__(self, hass: HomeAssistant, media: Media, on_change: Callable[[], None] = _ignore) -> None:
        """Prepare to play. `on_change` is called after changes of the facts, at most once a second."""
        self._hass = hass
        self._media = media
        self._name = media_name(media.media_id)
        self._log = FfmpegLog()
        self._decoded = self._decode()
        self._next: asyncio.Task[bytes] | None = None
        self.kept = bytearray()
        """The last seconds that were taken; empty if they will be played in any case."""
        self._again = bytearray()
        """Sound to be taken once more."""
        self._ended = False
        self._closed = False
        self.repeats = False
        """Whether it begins again at its end."""
        self._changes = Debouncer(hass, _LOGGER, cooldown=_MIN_PAUSE, immediate=True, function=on_change)
        self.played = 0.0
        """Seconds that were taken."""
        self.is_live = False
        """Whether it is live, and so cannot be resumed where it was paused."""

    @property
    def title(self) -> str:
        """Title of what is being played, in one line."""
        log = self._log
        return one_line(log.song or self._media.title or log.title or log.station or self._name, _MAX_TITLE)

    @property
    def station(self) -> str:
        """Name of the radio station, if it is one."""
        return one_line(self._log.station, _MAX_TITLE)

    @property
    def seconds(self) -> float | None:
        """Length, if known."""
        return self._log.seconds

    async def open(self) -> None:
        """Wait for the first sound."""
        if not await self._next_piece(_OPENING):
            raise UserError("media_failed", media=self._name)

    async def pcm(self) -> AsyncGenerator[bytes]:
        """Yield 16-bit mono PCM, no faster than it is taken. A source that stalls ends it.

        Closing this does not close the source: another call goes on where this one ended.
        """
        while piece := bytes(self._again[:_PIECE]) or await self._next_piece(_STALL):
            if self._again:
                del self._again[:_PIECE]
            else:
                self._next = None
            self.played += len(piece) / (2 * _RATE)
            self.kept += piece
            del self.kept[:-_KEPT]
            yield piece
        if piece is None:
            raise UserError("media_stalled", media=self._name)
        self._ended = True

    def rewind(self, seconds: float) -> bool:
        """Go on at a position, if it is kept; return False at the end.

        A device reads ahead, and drops what it has not played when it is to play something else.
        """
        start = max(len(self.kept) - 2 * round((self.played - seconds) * _RATE), 0)
        again = self.kept[start:]
        del self.kept[start:]
        self._again[:0] = again
        self.played -= len(again) / (2 * _RATE)
        return bool(self._again) or not self._ended

    async def aclose(self) -> None:
        """Close the source; readers see its end."""
        self._closed = True
        self._again.clear()
        self._changes.async_shutdown()
        if self._next is not None:
            self._next.cancel()
            await asyncio.gather(self._next, return_exceptions=True)
        await self._decoded.aclose()

    async def _next_piece(self, patience: float) -> bytes | None:
        """Return the next piece, which is empty at the end; None if there is none in time."""
        if self._closed:
            return b""
        if self._next is None:
            # The caller may be cancelled; the source may not.
            self._next = asyncio.create_task(_first_of(self._decoded))
        if not (await asyncio.wait((self._next,), timeout=patience))[0]:
            return None
        return b"" if self._closed else self._next.result()

    async def _decode(self) -> AsyncGenerator[bytes]:
        while True:
            source = await find_media(self._hass, self._media.media_id, self._media.entity_id)
            sound = self._speech(source) if isinstance(source, tts.ResultStream) else self._other(source)
            async with aclosing(sound):
                async for pcm in sound:
                    yield pcm
            if not self.repeats:
                return
            self._media = replace(self._media, start=0)

    async def _other(self, source: tuple[str, ...]) -> AsyncGenerator[bytes]:
        """Yield the sound of any media."""
        program = get_ffmpeg_manager(self._hass).binary
        sound = read_sound(
            program, source, sample_rate=_RATE, start=self._media.start, on_line=self._take_line
        )
        failed, heard = False, False
        try:
            async with aclosing(sound):
                async for pcm in sound:
                    self._log.heard()
                    heard, self.is_live = True, self._log.seconds is None
                    yield pcm
        except ChildProcessError:
            failed = True
        except OSError as err:
            _LOGGER.warning("%s cannot be played, because %s cannot be started: %s", self._name, program, err)
            raise UserError("media_no_ffmpeg", media=self._name) from err
        if not heard:
            # Without the reason: otherwise any user could scan the home network.
            _LOGGER.warning("%s cannot be played: %s", self._name, one_line(self._log.error))
            raise UserError("media_failed", media=self._name)
        if failed or self._log.broken_off:
            raise UserError("media_broke_off", media=self._name)

    async def _speech(self, stream: tts.ResultStream) -> AsyncGenerator[bytes]:
        """Yield the sound of speech."""
        skip = 2 * round(_RATE * self._media.start)
        source, rate = stream.async_stream_result(), _RATE
        speech = decode_speech(source, sample_rate=rate, extension=stream.extension)
        try:
            async with aclosing(speech):
                async for pcm in speech:
                    if heard := pcm[skip:]:
                        yield heard
                    skip = max(skip - len(pcm), 0)
        except (SpeechError, HomeAssistantError) as err:
            _LOGGER.warning("%s cannot be spoken: %s", self._name, one_line(str(err)))
            raise UserError("media_speech_failed", media=self._name) from err

    @callback
    def _take_line(self, line: str) -> bool:
        if self._log.take(line):
            self._changes.async_schedule_call()
        return not self._log.refused


def media_sound(hass: HomeAssistant, media_id: str, entity_id: str | None = None) -> OpenSpeech:
    """Return a function that opens media of the library or at a web address, for an announcement.

    A radio station has no end, so only its first minutes are played.
    """

    async def play(_how: Delivery) -> AsyncGenerator[bytes]:
        left = _LONGEST
        async with aclosing(MediaStream(hass, Media(media_id=media_id, entity_id=entity_id))) as stream:
            await stream.open()
            async with aclosing(stream.pcm()) as pcm:
                async for piece in pcm:
                    yield piece[:left]
                    if (left := left - len(piece)) <= 0:
                        return

    return play


async def _first_of(pieces: AsyncGenerator[bytes]) -> bytes:
    return await anext(pieces, b"")
