"""The sound that a media player fetches, at an address of ours.

The player fetches it from us and not from the address of the pipeline's run, for three reasons: only a
request shows that it has begun, since some players report no state for an announcement; sounds before
announcements, rings and media have no such address; and a sound of ours can be cut off where a player cannot
be stopped.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing
import socket
from typing import ClassVar, Final

from aiohttp import web
import audioop
from homeassistant.core import callback

from ...announcements.other_loudspeaker import Said
from ...const import SOUND_PATH
from ...device_http.access import DeviceView, is_outside
from ...device_http.transfers import Transfers
from ...protocol.audio.mp3 import BYTES_PER_SECOND, Mp3Encoder
from ...protocol.messages import DOWNLINK
from ...timeouts import AnnouncementTimeouts
from ...util.event_loop import loop_time

SUFFIX: Final = ".mp3"
SENT_AHEAD: Final = 3
"""Seconds of sound that are sent ahead: a player that cannot be stopped plays so much more."""
# Seconds of sound that are encoded ahead: media may be endless.
_AHEAD: Final = 10
# Players have at most two or three requests for a sound at the same time.
_MAX_READERS: Final = 4
# In bytes, including the kernel's buffer for a reader that takes nothing.
_MAX_PART: Final = 16 * 1024
_SEND_BUFFER: Final = 64 * 1024
# Bytes that are kept for a player that fetches once more: five minutes, which is more than any text.
_KEPT: Final = 5 * 60 * BYTES_PER_SECOND


class Sound:
    """Sound that a player fetches while it is made, perhaps several times."""

    path: ClassVar = SOUND_PATH

    def __init__(self, said: Said) -> None:
        self.said = said
        self.requested_at: float | None = None
        self.seconds = 0.0
        """Seconds that have been encoded."""
        self.heard = 0.0
        self.sent = 0
        """Bytes that a player has fetched."""
        self.ended = self.stopped = False
        self._mp3 = bytearray()
        self._readers: deque[object] = deque(maxlen=_MAX_READERS)
        """A new reader beyond the limit ends the oldest."""
        self._forgotten = 0
        """Number of bytes that were dropped before those, of endless media."""
        self._changed = asyncio.Event()

    @callback
    def notify(self) -> None:
        """Wake those who wait for a change."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def changed(self) -> None:
        """Wait for a change."""
        await self._changed.wait()

    async def make(self, speech: AsyncGenerator[bytes], gain: float = 1) -> None:
        """Encode speech, softer by a factor."""
        encoder = Mp3Encoder()
        try:
            async with aclosing(speech):
                async for pcm in speech:
                    self._mp3 += encoder.encode(audioop.mul(pcm, 2, gain))
                    old = max(0, len(self._mp3) - _KEPT)
                    del self._mp3[:old]
                    self._forgotten += old
                    self.seconds += len(pcm) / (2 * DOWNLINK.sample_rate)
                    self.notify()
                    while self.seconds > self.heard + _AHEAD:
                        await self.changed()
            self._mp3 += encoder.encode(b"")
            self.ended = True
        finally:
            # Readers would wait for more.
            self.stopped = not self.ended
            self.notify()

    async def read(self) -> AsyncGenerator[bytes]:
        """Yield the sound from the beginning that is kept, and not much sooner than it is heard."""
        if self.requested_at is None:
            self.requested_at = loop_time()
        self._readers.append(reader := object())
        self.notify()
        sent = 0
        while not self.stopped and reader in self._readers:
            sent = max(sent, self._forgotten)
            until = min(round((self.heard + SENT_AHEAD) * BYTES_PER_SECOND), sent + _MAX_PART)
            if part := bytes(self._mp3[sent - self._forgotten : max(until - self._forgotten, 0)]):
                sent += len(part)
                self.sent = max(self.sent, sent)
                yield part
            elif self.ended and sent >= self._forgotten + len(self._mp3):
                return
            else:
                await self.changed()


class SoundView(DeviceView[Transfers]):
    """View at which a media player in the home network fetches a sound. A player may be a web page."""

    url = SOUND_PATH + "/{token}" + SUFFIX
    name = "api:xiaozhi:sound"

    async def head(self, request: web.Request, token: str) -> web.Response:
        """Answer the first request of some players."""
        self._sound(request, token)
        return web.Response(content_type="audio/mpeg")

    async def get(self, request: web.Request, token: str) -> web.StreamResponse:
        """Send all of it, also for a range: its length is not known."""
        sound = self._sound(request, token)
        response = web.StreamResponse(headers={"Content-Type": "audio/mpeg", "Cache-Control": "no-store"})
        await response.prepare(request)
        if (transport := request.transport) is None:
            return response
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        try:
            async with aclosing(sound.read()) as parts:
                async for part in parts:
                    async with asyncio.timeout(AnnouncementTimeouts.stall):
                        await response.write(part)
        except TimeoutError:
            # The rest of its buffer is not awaited, either.
            transport.abort()
        return response

    def _sound(self, request: web.Request, token: str) -> Sound:
        if is_outside(request):
            raise web.HTTPForbidden
        if (sound := self.part.find(Sound, token)) is None:
            raise web.HTTPNotFound
        return sound
