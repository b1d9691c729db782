"""Sound in place of packets that the network has lost.

A gap changes a word or makes it unintelligible: with every tenth packet replaced by silence, a speech
recognition that understood all of a set of commands missed a fifth of them. With the last frame fading out
in the gap, it missed none. libopus has a better concealment, but PyAV gives no access to it.
"""

from array import array
from typing import Final

from .timeline import UPLINK_SAMPLE_RATE

# Each at half the level of the one before. More of them would sound like an echo, and the end of speech
# could not be detected.
_FADING_FRAMES: Final = 3


class Concealment:
    """Makes frames that stand in for lost ones from the last that was heard."""

    def __init__(self, frame_duration_ms: int) -> None:
        """Begin with silence; frames last `frame_duration_ms`."""
        self._frame_bytes = 2 * UPLINK_SAMPLE_RATE * frame_duration_ms // 1000
        self._last = b""

    def heard(self, pcm: bytes) -> None:
        """Take what has arrived: 16 bit mono PCM of `UPLINK_SAMPLE_RATE`."""
        self._last = pcm

    def frames(self, count: int) -> bytes:
        """Return PCM for so many lost frames: what was heard last fades away, then there is silence."""
        last = array("h", self._last[-self._frame_bytes :].rjust(self._frame_bytes, b"\0"))
        steps = range(1, min(count, _FADING_FRAMES) + 1)
        fading = (array("h", [sample >> step for sample in last]).tobytes() for step in steps)
        return b"".join(fading).ljust(count * self._frame_bytes, b"\0")
