"""The pictures of the camera and the screen: a test picture, or one colour."""

from functools import lru_cache
from typing import Final

import av

__all__ = ["Rgb", "jpeg"]

type Rgb = tuple[int, int, int]
type _Halves = tuple[int, int]

# Luma and both chromas, left and right.
_TEST_PICTURE: Final[tuple[_Halves, _Halves, _Halves]] = ((200, 60), (90, 160), (160, 90))


@lru_cache
def jpeg(width: int, height: int, colour: Rgb | None = None) -> bytes:
    """Return a JPEG of one colour, or with a bright and a dark half of different colours."""
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj420p"
    frame = av.VideoFrame(width, height, "yuvj420p")
    halves = _TEST_PICTURE if colour is None else _both_halves(*colour)
    for plane, (left, right) in zip(frame.planes, halves, strict=True):
        half = plane.width // 2
        row = bytes([left]) * half + bytes([right]) * (plane.line_size - half)
        plane.update(row * plane.height)
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])


def _both_halves(red: int, green: int, blue: int) -> tuple[_Halves, _Halves, _Halves]:
    """Convert a colour as JFIF does."""
    luma = round(0.299 * red + 0.587 * green + 0.114 * blue)
    chroma_blue = round(128 + (blue - luma) * 0.564)
    chroma_red = round(128 + (red - luma) * 0.713)
    first, second, third = (max(0, min(255, value)) for value in (luma, chroma_blue, chroma_red))
    return (first, first), (second, second), (third, third)
