"""One turn of a conversation: what the user says once."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from ..audio.concealment import Concealment
from ..audio.timeline import UplinkTimeline, silence
from ..clock import loop_time
from ..messages import ListenMode

__all__ = ["MAX_TURN_SECONDS", "PRE_ROLL_MS", "Turn"]

# Home Assistant's voice detector gives no valid answer for the first 760 ms of a stream and takes that for
# silence, so that the end of a short command would never be heard. Leading silence costs no time.
PRE_ROLL_MS: Final = 760
# No spoken command is longer; a device that is left listening would stream without end.
MAX_TURN_SECONDS: Final = 30.0
# Speech recognition that is this far behind has failed; more would only fill memory.
_MAX_WAITING_FRAMES: Final = 600


class Turn:
    """The user speaks once."""

    def __init__(
        self, mode: ListenMode, wake_word: str | None, frame_duration: int, *, question: str | None = None
    ) -> None:
        """Begin to collect; `frame_duration` in ms. `wake_word` and `question` are untrusted texts.

        A `question` was typed: it stands for speech.
        """
        self.mode = mode
        self.wake_word = wake_word
        self.question = question
        self.dropped_frames = 0
        self._frame_duration = frame_duration
        self._timeline = UplinkTimeline(frame_duration)
        self._timeline.start(loop_time())
        self._concealment = Concealment(frame_duration)
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._ended = False

    def put(self, pcm: bytes, missing: int) -> None:
        """Take a decoded frame; `missing` frames before it were lost and are made up for."""
        if self._ended:
            return
        if self._frames.qsize() >= _MAX_WAITING_FRAMES:
            self.dropped_frames += 1
            return
        if gap := self._timeline.frames_before(loop_time(), missing):
            self._frames.put_nowait(self._concealment.frames(gap))
        self._concealment.heard(pcm)
        self._frames.put_nowait(pcm)

    def end_speech(self) -> None:
        """End the audio; what has arrived is still delivered."""
        if not self._ended:
            self._ended = True
            self._frames.put_nowait(None)

    async def audio(self) -> AsyncGenerator[bytes]:
        """Yield 16 kHz mono 16-bit PCM: a lead of silence, then the microphone without gaps."""
        yield silence(PRE_ROLL_MS)
        end = loop_time() + MAX_TURN_SECONDS
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
