"""The pictures of the camera and the screen: a test picture, or one colour."""

from functools import lru_cache
from typing import Final

import av
import numpy as np

type Rgb = tuple[int, int, int]

# Left and right.
_TEST_PICTURE: Final[tuple[Rgb, Rgb]] = ((245, 190, 133), (7, 76, 117))


@lru_cache
def jpeg(width: int, height: int, colour: Rgb | None = None) -> bytes:
    """Return a JPEG of one colour, or with a bright and a dark half of different colours."""
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj420p"
    pixels = np.empty((height, width, 3), np.uint8)
    pixels[:, : width // 2], pixels[:, width // 2 :] = (colour, colour) if colour else _TEST_PICTURE
    frame = av.VideoFrame.from_ndarray(pixels).reformat(format=encoder.pix_fmt)
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])
