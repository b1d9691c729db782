"""Sound of a microphone that is always on, between two turns: barge-in, and words right after an answer."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from ..audio.uplink_timeline import UPLINK_SAMPLE_RATE

_BYTES_PER_SECOND = 2 * UPLINK_SAMPLE_RATE


@dataclass(frozen=True, slots=True)
class BargeInFrame:
    """A decoded frame of the microphone."""

    at: float
    """Its position in the audio between turns, in seconds."""
    time: float
    """`loop_time` at which it was read."""
    pcm: bytes
    missing: int
    """Number of lost frames before it."""


class BargeInBuffer:
    """The last `seconds` of that audio. The next turn may begin with the end of it."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._frames: deque[BargeInFrame] = deque()
        self._at = 0.0
        self._more = asyncio.Event()

    def put(self, pcm: bytes, missing: int, now: float) -> None:
        """Take the next frame: 16 kHz mono 16-bit PCM."""
        self._frames.append(BargeInFrame(self._at, now, pcm, missing))
        self._at += len(pcm) / _BYTES_PER_SECOND
        while self._at - self._frames[0].at > self._seconds:
            self._frames.popleft()
        self._more.set()

    def time_of(self, at: float) -> float:
        """Return the time at which the frame at a position of the audio, or the oldest after it, was read."""
        times = (frame.time for frame in reversed(self._frames) if frame.at <= at)
        return next(times, self._frames[0].time if self._frames else float("inf"))

    def take(self, since: float) -> list[BargeInFrame]:
        """Forget all frames, and return those read since a `loop_time`."""
        frames = [frame for frame in self._frames if frame.time >= since]
        self.clear()
        return frames

    def clear(self) -> None:
        """Forget all."""
        self._frames.clear()

    async def follow(self) -> AsyncGenerator[BargeInFrame]:
        """Yield every frame that comes from now on, without end; a slow reader misses the oldest."""
        at = self._at
        while True:
            new = [frame for frame in self._frames if frame.at >= at]
            for frame in new:
                yield frame
                at = frame.at + len(frame.pcm) / _BYTES_PER_SECOND
            if not new:
                self._more.clear()
                await self._more.wait()
