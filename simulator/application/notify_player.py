"""Plays the file of a `notify` while it comes. Source: the firmware's `notify_player.cc`."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from ..audio.ogg import OggDemuxer, OggError, OggPacket
from ..audio.speaker import Played
from ..link.http_client import HttpClient, HttpError
from ..link.streamed_body import StreamedBody
from .announcement import Announcement
from .hardware import Hardware

_TIMEOUT: Final = 5.0
_HEADERS: Final = {"Accept": "audio/ogg, application/ogg", "Accept-Encoding": "identity"}


@dataclass(slots=True, eq=False)
class Playback:
    """An announcement that is being played."""

    announcement: Announcement
    show: Callable[[str], None]
    """Called with a subtitle that is due."""
    finished: Callable[[str], None]
    """Called at the end with the reason of a failure, or nothing; not called after `NotifyPlayer.stop`."""
    position: int = 0
    """Milliseconds of sound that were queued."""
    next_subtitle: int = 0
    shown: str = ""


class NotifyPlayer:
    """Plays one announcement at a time."""

    def __init__(
        self,
        hardware: Hardware,
        http: HttpClient,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
    ) -> None:
        """`spawn` starts a task that ends with the firmware."""
        self._hardware = hardware
        self._speaker = hardware.speaker
        self._http = http
        self._spawn = spawn
        self._active: Playback | None = None
        self._working: Playback | None = None

    @property
    def busy(self) -> bool:
        """Whether something is played, or the task of an earlier playback still runs."""
        return self._active is not None or self._working is not None

    def start(self, playback: Playback) -> bool:
        """Begin; False for an address that is neither `http` nor `https`."""
        if not playback.announcement.url.startswith(("http://", "https://")):
            return False
        self._active = self._working = playback
        self._spawn(self._work(playback))
        return True

    def stop(self) -> None:
        """Forget what is played. Its task may run on for up to five seconds."""
        self._active = None

    async def _work(self, playback: Playback) -> None:
        try:
            async with self._http.stream(playback.announcement.url, _HEADERS, _TIMEOUT) as (status, body):
                failure = f"the server answered with status {status}"
                if 200 <= status < 300:
                    await self._play(playback, body)
                    failure = ""
        except (HttpError, OggError) as err:
            failure = str(err)
        self._working = None
        if not failure:
            await self._hardware.recorder.wait_for(
                lambda: self._speaker.idle or self._active is not playback, None
            )
        if self._active is playback:
            self._active = None
            playback.finished(failure)

    async def _play(self, playback: Playback, body: StreamedBody) -> None:
        """Read and queue until the end, or until the playback is stopped. Raises `OggError` and others."""
        demuxer = OggDemuxer()
        while self._active is playback:
            data = await body.read()
            playback.announcement.read += len(data)
            if not data:
                demuxer.finish()
                return
            for packet in demuxer.feed(data):
                if not await self._queue(playback, packet):
                    return

    async def _queue(self, playback: Playback, packet: OggPacket) -> bool:
        """Queue a packet when there is room; False if the playback was stopped."""
        position, playback.position = playback.position, playback.position + packet.duration
        if position and self._speaker.idle:
            playback.announcement.underruns += 1

        def begun(frame: Played) -> None:
            playback.announcement.played.append(frame)
            self._progress(playback, position)

        while self._active is playback:
            # A queue that is cleared has room: the playback goes on unless it was stopped.
            if await self._speaker.push_waiting(packet.payload, packet.rate, packet.duration, begun):
                return True
        return False

    def _progress(self, playback: Playback, position: int) -> None:
        subtitles, text = playback.announcement.subtitles, None
        if self._active is not playback:
            return
        while playback.next_subtitle < len(subtitles) and subtitles[playback.next_subtitle].start <= position:
            text = subtitles[playback.next_subtitle].text
            playback.next_subtitle += 1
        if text is not None and text != playback.shown:
            playback.shown = text
            playback.show(text)
