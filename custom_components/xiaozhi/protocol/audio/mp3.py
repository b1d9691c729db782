"""MP3, which every media player plays, also as a stream of unknown length."""

from typing import Final

import av

from ..messages import DOWNLINK
from .opus_codec import audio_frame

_BIT_RATE: Final = 64000
BYTES_PER_SECOND: Final = _BIT_RATE // 8


class Mp3Encoder:
    """Encodes whole samples of 16-bit mono PCM of the rate of `DOWNLINK`, in pieces of any size."""

    def __init__(self) -> None:
        self._context = av.CodecContext.create("libmp3lame", "w")
        self._context.sample_rate, self._context.bit_rate = DOWNLINK.sample_rate, _BIT_RATE
        self._context.layout, self._context.format = "mono", "s16p"

    def encode(self, pcm: bytes) -> bytes:
        """Return the frames that are complete; nothing flushes the rest."""
        frame = audio_frame(pcm, DOWNLINK.sample_rate) if pcm else None
        return b"".join(map(bytes, self._context.encode(frame)))
