"""Audio of one turn of a conversation."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from typing import Final

from ...util.event_loop import loop_time
from ..audio.loudness import Loudness
from ..audio.uplink_timeline import UPLINK_SAMPLE_RATE, UplinkTimeline, concealment, silence
from ..trace import Trace
from .state_table import TurnStart

# A silent microphone sends packets, too.
_LOST_BYTES: Final = 2 * UPLINK_SAMPLE_RATE


class TurnAudio:
    """The user speaks once.

    Time is counted in audio: late packets, or late reads of ours, end nothing.
    """

    def __init__(
        self, start: TurnStart, frame_duration: int, wake_word: deque[bytes] | None = None, *, longest: float
    ) -> None:
        """Begin to collect frames of `frame_duration` ms. The audio ends after `longest` seconds of it."""
        self.start = start
        self.trace: Trace | None = None
        self.loudness = Loudness(deque() if wake_word is None else wake_word, frame_duration)
        """Loudness of its beginning, for comparison with other devices."""
        self._frame_duration = frame_duration
        self._timeline = UplinkTimeline(frame_duration, loop_time())
        self._last = b""
        # Packets may be of another length than announced.
        self._rest = bytearray()
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = round(2 * UPLINK_SAMPLE_RATE * longest)
        self._unheard = 0
        self.lost = False
        """Whether the link was lost before its end."""
        self.ended = False
        """Whether the speech has ended; it has not when `longest` cuts it off."""
        self.stopped = False
        """Whether the user of a program has stopped it, perhaps without a word."""

    @property
    def cut_off(self) -> bool:
        """Whether the end may be missing: nothing has come for its last second, or the link was lost."""
        return self.lost or self._unheard >= _LOST_BYTES

    def extend(self, seconds: float) -> None:
        """Let the audio last longer, since the user may begin late."""
        if self._room:
            self._room += round(2 * UPLINK_SAMPLE_RATE * seconds)

    def put(self, pcm: bytes, missing: int) -> None:
        """Take a decoded packet; `missing` frames before it were lost and are made up for."""
        self._rest += pcm
        size = len(silence(self._frame_duration))
        while len(self._rest) >= size and self._room and not self.ended:
            if gap := self._timeline.frames_before(loop_time(), missing):
                self._add(concealment(self._last, gap, self._frame_duration), heard=False)
            self._last, missing = bytes(self._rest[:size]), 0
            del self._rest[:size]
            self._add(self._last)

    def end_speech(self) -> None:
        """End the audio; received packets are still delivered."""
        if not self.ended:
            self.ended = True
            self._frames.put_nowait(None)

    async def audio(self) -> AsyncGenerator[bytes]:
        """Yield 16 kHz mono 16-bit PCM without gaps, all that has arrived at a time."""
        while True:
            try:
                async with asyncio.timeout(self._frame_duration / 1000):
                    frame = await self._frames.get()
            except TimeoutError:
                if not self.ended and (due := self._timeline.due(loop_time())):
                    self._add(silence(due * self._frame_duration), heard=False)
                continue
            waiting = [frame]
            while not self._frames.empty():
                waiting.append(self._frames.get_nowait())
            if pcm := b"".join(filter(None, waiting)):
                yield pcm
            if None in waiting:
                return

    def _add(self, pcm: bytes, *, heard: bool = True) -> None:
        pcm = pcm[: self._room]
        self.loudness.heard(pcm if heard else bytes(len(pcm)), loop_time())
        self._room -= len(pcm)
        self._unheard = 0 if heard else self._unheard + len(pcm)
        self._frames.put_nowait(pcm)
        if not self._room:
            self._frames.put_nowait(None)
