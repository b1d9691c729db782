"""The head of a WAV stream, read as far as its samples.

FFmpeg's own reader looks through the first 64 KiB of samples for a wrapped AC-3 stream before it gives out
any: 1.5 s of a speech engine's answer. So plain WAV is read here, and FFmpeg only decodes its samples.
"""

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct
from typing import Final

SAMPLE_RATES: Final = range(1000, 384001)
"""Hz. To resample from a made-up rate takes seconds and gigabytes."""

# More than this before the samples (tags, pictures) is left to FFmpeg.
_MAX_HEADER: Final = 64 * 1024
_CHUNK: Final = Struct("<4sI")
_FORMAT: Final = Struct("<HHIIHH")
_EXTENSIBLE: Final = 0xFFFE

# By format tag and bits per sample.
_CODECS: Final = {
    (1, 8): "pcm_u8",
    (1, 16): "pcm_s16le",
    (1, 24): "pcm_s24le",
    (1, 32): "pcm_s32le",
    (3, 32): "pcm_f32le",
    (3, 64): "pcm_f64le",
    (6, 8): "pcm_alaw",
    (7, 8): "pcm_mulaw",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WavHeader:
    """What the samples are and where they lie."""

    codec: str
    """FFmpeg's name of the sample format."""
    sample_rate: int
    """Hz."""
    channels: int
    """1 or 2."""
    block_size: int
    """Bytes of one sample of all channels."""
    offset: int
    """Where the samples start."""
    size: int | None
    """Bytes of samples; None if the writer did not know, as the head went out before the samples existed."""


def read_wav_header(peek: Callable[[int], bytes]) -> WavHeader | None:
    """Read the head of a WAV, or return None if this is not one or holds anything but plain samples.

    `peek(n)` returns the first n bytes of the stream, fewer only if it ends before. No more is asked for than
    the head itself.
    """
    if (start := peek(12))[:4] != b"RIFF" or start[8:12] != b"WAVE":
        return None
    codec: str | None = None
    sample_rate = channels = block_size = 0
    offset = 12
    while offset <= _MAX_HEADER and len(head := peek(offset + _CHUNK.size)) == offset + _CHUNK.size:
        name, size = _CHUNK.unpack_from(head, offset)
        offset += _CHUNK.size
        if name == b"data":
            if codec is None:
                return None
            return WavHeader(
                codec=codec,
                sample_rate=sample_rate,
                channels=channels,
                block_size=block_size,
                offset=offset,
                size=size or None,
            )
        if name == b"fmt ":
            fields = peek(offset + min(size, 26))[offset:]
            if len(fields) < _FORMAT.size:
                return None
            tag, channels, sample_rate, _rate, block_size, bits = _FORMAT.unpack_from(fields)
            if tag == _EXTENSIBLE:
                tag = int.from_bytes(fields[24:26], "little")
            codec = _CODECS.get((tag, bits))
            if (
                channels not in {1, 2}
                or sample_rate not in SAMPLE_RATES
                or block_size != channels * bits // 8
            ):
                return None
        offset += size + size % 2
    return None
