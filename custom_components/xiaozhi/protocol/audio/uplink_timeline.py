"""Uplink time: turns packets as they arrive into frames without gaps.

The detector of the end of speech counts frames, so time must pass even where the device sends nothing: on
congestion it silently drops the oldest of its 40 queued packets (`main/audio/audio_service.cc`), datagrams
get lost, and either may only be a delay. A late read of our own is no gap.

A gap changes a word or makes it unintelligible, so the last frame fades out in it (`docs/measurements.md`).
libopus has a better concealment, but PyAV gives no access to it.
"""

from array import array
from math import ceil
from typing import Final

UPLINK_SAMPLE_RATE: Final = 16000
"""Hz of the PCM that the microphone's packets are decoded to: signed 16 bit little endian, mono."""

# Wi-Fi stalls of 100-200 ms are common and lose nothing, and such a pause does not end speech.
_GRACE: Final = 0.3
# The device's send queue, 40 packets of 60 ms: packets that are later than that never arrive.
_HORIZON: Final = 2.4
# Delay of an event loop that is not yet too busy to read.
_ON_TIME: Final = 0.02
# Each at half the level of the one before. More of them would sound like an echo, and the end of speech
# could not be detected.
_FADING_FRAMES: Final = 3


def silence(milliseconds: int) -> bytes:
    """Return silence as PCM of `UPLINK_SAMPLE_RATE`."""
    return bytes(2 * UPLINK_SAMPLE_RATE * milliseconds // 1000)


def concealment(last: bytes, frames: int, frame_duration: int) -> bytes:
    """Return PCM for so many lost frames of `frame_duration` ms: the last sound fades, then silence.

    PCM is 16 bit mono of `UPLINK_SAMPLE_RATE`.
    """
    size = len(silence(frame_duration))
    samples = array("h", last[-size:].rjust(size, b"\0"))
    steps = range(1, min(frames, _FADING_FRAMES) + 1)
    fading = (array("h", [sample >> step for sample in samples]).tobytes() for step in steps)
    return b"".join(fading).ljust(frames * size, b"\0")


class UplinkTimeline:
    """Counts the silent frames to put before and between the packets of one stretch of listening.

    Packets are never dropped: a word lost is worse than a pause too long. Silence follows these rules:

    - Packets that the link knows to be lost (gaps of UDP sequence numbers) are made up for at once.
    - Without such knowledge the frames may fall 0.3 s behind the clock before silence fills in, and from
      there it keeps up with the clock, so that a short stall adds nothing.
    - Only time in which we looked for packets counts. The timeline is notified of every packet, and once per
      frame that there is none. If that comes later, we were too busy to look: packets may wait to be read.
    - Silence that turns out to have been needless, as the missing packets come after all, puts the frames
      ahead of the clock. This debt is paid by later gaps: they get no silence until it is used up.
    - Packets cannot arrive before they were recorded. Those that seem to (the first one had been delayed,
      the device's clock is fast, wake-word audio comes in one burst, we were late) correct our idea of how
      long the stream has lasted and make no debt. Nor does more than 2.4 s, all that a device holds back.

    All times are seconds of one monotonic clock.
    """

    def __init__(self, frame_duration_ms: int, now: float) -> None:
        """Let time pass from `now` on even if no packet ever arrives."""
        self._frame = frame_duration_ms / 1000
        # When the stream began, at the latest.
        self._origin = self._checked = now
        # Known length of the stream when we last looked.
        self._passed = 0.0
        # Frames given out, packets and silence; and frames that the device is known to have recorded. Their
        # difference is the silence by the clock that later packets may prove to have been needless.
        self._produced = 0
        self._recorded = 0

    def frames_before(self, now: float, missing: int = 0) -> int:
        """Return how many silent frames go before the packet that has just been read.

        `missing` packets before it are known to be lost. The number comes from the network, so it is believed
        only as far as the clock has room for it.
        """
        self._pass_time(now)
        if not self._produced:
            self._origin = now - self._frame
            self._passed = self._frame
        room = round((now - self._origin) / self._frame) - self._recorded - 1
        self._recorded += 1 + max(0, min(missing, room, round(_HORIZON / self._frame)))
        self._origin = min(self._origin, now - self._recorded * self._frame)
        self._passed = max(self._passed, self._recorded * self._frame)
        fill = max(self._recorded - 1 - self._produced, self._behind() - 1, 0)
        self._produced += fill + 1
        self._passed = max(self._passed, self._produced * self._frame - _HORIZON)
        return fill

    def due(self, now: float) -> int:
        """Return how many silent frames are due as there is no packet; ask about once per frame."""
        self._pass_time(now)
        fill = self._behind()
        self._produced += fill
        return fill

    def _pass_time(self, now: float) -> None:
        self._passed += min(now - self._checked, self._frame + _ON_TIME)
        self._checked = now

    def _behind(self) -> int:
        """Return how many frames bring us within the grace."""
        late = self._passed - self._produced * self._frame - _GRACE
        # A thousandth of a frame may be the rounding of floats.
        return max(0, ceil(late / self._frame - 0.001))
