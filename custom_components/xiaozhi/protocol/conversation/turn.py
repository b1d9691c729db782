"""One turn of a conversation: what the user says once."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from ..audio.concealment import Concealment
from ..audio.timeline import UplinkTimeline, silence
from ..clock import loop_time
from .table import TurnStart

__all__ = ["Turn"]

# Speech recognition that is this far behind has failed; more would only fill memory.
_MAX_WAITING_FRAMES: Final = 600


class Turn:
    """The user speaks once."""

    def __init__(self, start: TurnStart, frame_duration: int, *, longest: float) -> None:
        """Begin to collect frames of `frame_duration` ms. The audio ends after `longest` seconds."""
        self.start = start
        self.longest = longest
        self._frame_duration = frame_duration
        self._timeline = UplinkTimeline(frame_duration)
        self._timeline.start(loop_time())
        self._concealment = Concealment(frame_duration)
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.ended = False
        """Whether the speech has ended; it has not when `longest` cuts it off."""

    def put(self, pcm: bytes, missing: int) -> None:
        """Take a decoded frame; `missing` frames before it were lost and are made up for."""
        if self.ended or self._frames.qsize() >= _MAX_WAITING_FRAMES:
            return
        if gap := self._timeline.frames_before(loop_time(), missing):
            self._frames.put_nowait(self._concealment.frames(gap))
        self._concealment.heard(pcm)
        self._frames.put_nowait(pcm)

    def end_speech(self) -> None:
        """End the audio; what has arrived is still delivered."""
        if not self.ended:
            self.ended = True
            self._frames.put_nowait(None)

    async def audio(self) -> AsyncGenerator[bytes]:
        """Yield 16 kHz mono 16-bit PCM, without gaps."""
        end = loop_time() + self.longest
        while loop_time() < end:
            try:
                async with asyncio.timeout(self._frame_duration / 1000):
                    frame = await self._frames.get()
            except TimeoutError:
                if due := self._timeline.due(loop_time()):
                    yield silence(due * self._frame_duration)
                continue
            if frame is None:
                return
            yield frame
