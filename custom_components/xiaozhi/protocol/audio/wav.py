"""The head of a WAV stream of 16-bit samples, read as far as these.

FFmpeg's own reader looks through the first 64 KiB of such samples for a wrapped AC-3 stream before it gives
out any: 1.5 s of a speech engine's answer. It begins sooner with floats and companded samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
import re
from struct import Struct
from typing import Final

SAMPLE_RATES: Final = range(1000, 384001)
"""Hz. To resample from a made-up rate takes seconds and gigabytes."""

WAV_HEAD: Final = re.compile(rb"RIFF.{4}WAVE", re.DOTALL)
WAV_HEAD_SIZE: Final = 12
CHUNK: Final = Struct("<4sI")
"""Name and size of a chunk, which is padded to an even size."""

# More than this before the samples (tags, pictures) is left to FFmpeg.
_MAX_HEADER: Final = 64 * 1024
_FORMAT: Final = Struct("<HHIIHH")
_PCM: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WavHeader:
    """Format and place of the samples."""

    sample_rate: int
    """Hz."""
    channels: int
    """1 or 2."""
    offset: int
    size: int | None
    """Bytes of samples; None if the writer did not know, as the head went out before the samples existed."""


def read_wav_header(peek: Callable[[int], bytes]) -> WavHeader | None:
    """Read the head of a WAV, which begins as one, or return None if it holds anything but 16-bit samples.

    `peek(n)` returns the first n bytes of the stream, fewer only if it ends before. No more is asked for than
    the head itself.
    """
    sample_rate = channels = 0
    offset = WAV_HEAD_SIZE
    while offset <= _MAX_HEADER and len(head := peek(offset + CHUNK.size)) == offset + CHUNK.size:
        name, size = CHUNK.unpack_from(head, offset)
        offset += CHUNK.size
        if name == b"data":
            if not channels:
                return None
            return WavHeader(sample_rate=sample_rate, channels=channels, offset=offset, size=size or None)
        if name == b"fmt ":
            channels, sample_rate = _format(peek(offset + _FORMAT.size)[offset:])
            if not channels:
                return None
        offset += size + size % 2
    return None


def _format(fields: bytes) -> tuple[int, int]:
    """Return channels and sample rate; zeros for anything but 16-bit samples."""
    if len(fields) < _FORMAT.size:
        return 0, 0
    tag, channels, sample_rate, _rate, _block, bits = _FORMAT.unpack(fields)
    is_usable = (tag, bits) == (_PCM, 16) and channels in {1, 2} and sample_rate in SAMPLE_RATES
    return (channels, sample_rate) if is_usable else (0, 0)
