"""What the camera sees and the screen shows: a test picture."""

from functools import lru_cache

import av

__all__ = ["jpeg"]


@lru_cache
def jpeg(width: int, height: int) -> bytes:
    """Return a JPEG with a bright and a dark half of different colours."""
    encoder = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj420p"
    frame = av.VideoFrame(width, height, "yuvj420p")
    for plane, (left, right) in zip(frame.planes, ((200, 60), (90, 160), (160, 90)), strict=True):
        half = plane.width // 2
        row = bytes([left]) * half + bytes([right]) * (plane.line_size - half)
        plane.update(row * plane.height)
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])
