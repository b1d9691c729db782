"""Sound in place of packets that the network has lost.

A gap changes a word or makes it unintelligible: with every tenth packet replaced by silence, a speech
recognition that understood all of a set of commands missed a fifth of them. With the last frame fading out
in the gap, it missed none. libopus has a better concealment, but PyAV gives no access to it.
"""

from array import array
from typing import Final

from .timeline import silence

# Each at half the level of the one before. More of them would sound like an echo, and the end of speech
# could not be detected.
_FADING_FRAMES: Final = 3


def concealment(last: bytes, frames: int, frame_duration: int) -> bytes:
    """Return PCM for so many lost frames of `frame_duration` ms: what was heard last fades, then silence.

    PCM is 16 bit mono of `UPLINK_SAMPLE_RATE`.
    """
    size = len(silence(frame_duration))
    samples = array("h", last[-size:].rjust(size, b"\0"))
    steps = range(1, min(frames, _FADING_FRAMES) + 1)
    fading = (array("h", [sample >> step for sample in samples]).tobytes() for step in steps)
    return b"".join(fading).ljust(frames * size, b"\0")
