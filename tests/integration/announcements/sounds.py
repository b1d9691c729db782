"""Sounds for a device to play, and what can go wrong with them."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import count

from custom_components.xiaozhi.announcements.utterance import OpenSpeech
from custom_components.xiaozhi.protocol.messages import DOWNLINK
from simulator import SimulatedDevice
from tests.protocol.audio.sounds import tone


class Sound:
    """A tone of 440 Hz."""

    def __init__(
        self, seconds: float | None, *, error: Exception | None = None, stalls: bool = False
    ) -> None:
        """Sound for so many seconds, or without end; then raise the error, or stall."""
        self.closed = True
        self._seconds = seconds
        self._error = error
        self._stalls = stalls

    async def open(self) -> AsyncGenerator[bytes]:
        """Yield PCM, a second at a time."""
        self.closed = False
        second = tone(1, DOWNLINK.sample_rate)
        try:
            for passed in count():
                if self._seconds is not None and passed >= self._seconds:
                    break
                yield second
            if self._error is not None:
                raise self._error
            if self._stalls:
                await asyncio.Event().wait()
        finally:
            self.closed = True


def beep(seconds: float) -> OpenSpeech:
    return Sound(seconds).open


def endless() -> OpenSpeech:
    return Sound(None).open


async def is_heard(device: SimulatedDevice) -> None:
    """Wait until the device plays its first announcement."""
    await device.wait_for(lambda: bool(device.announcements and device.announcements[0].played))
