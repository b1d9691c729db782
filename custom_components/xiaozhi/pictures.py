"""Pictures of a device: its photos, and what its screen shows. Everything here that decodes is slow."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
import io
from typing import Final

from PIL import Image, ImageOps, UnidentifiedImageError

__all__ = ["MAX_JPEG_BYTES", "Picture", "PictureError", "PictureKind", "check_jpeg", "to_png"]

MAX_JPEG_BYTES: Final = 2 * 1024 * 1024
"""The largest picture that is taken from a device."""
# What the largest camera of a supported board gives is 5 million; decoded, a pixel takes 3 bytes.
_MAX_DEVICE_PIXELS: Final = 20_000_000
# Of what is to be shown, such as a photo of a telephone.
_MAX_SHOWN_PIXELS: Final = 60_000_000
_JPEG_START: Final = b"\xff\xd8\xff"
# Decoders raise whatever they come across in broken data.
_DECODING_ERRORS: Final = (
    OSError,
    ValueError,
    SyntaxError,
    ArithmeticError,
    LookupError,
    Image.DecompressionBombError,
)
_SHOWN_FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "WEBP")


class PictureError(ValueError):
    """The data is no picture that can be used."""


class PictureKind(StrEnum):
    """Where a picture is from."""

    PHOTO = "photo"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A JPEG of a device."""

    data: bytes = field(repr=False)
    taken: datetime


def check_jpeg(data: bytes) -> None:
    """Check that this is a whole JPEG of a sensible size. Raises `PictureError`. Not in the loop."""
    if not data.startswith(_JPEG_START):
        raise PictureError("it is no JPEG")
    _decode(data, ("JPEG",), _MAX_DEVICE_PIXELS)


def to_png(data: bytes, width: int, height: int, *, monochrome: bool) -> bytes:
    """Fit a picture into a screen of `width` by `height` pixels. Raises `PictureError`. Not in the loop."""
    image = ImageOps.exif_transpose(_decode(data, _SHOWN_FORMATS, _MAX_SHOWN_PIXELS))
    scale = min(width / image.width, height / image.height)
    # Of something long and thin, too, a pixel is left on each side.
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    image = image.convert("RGB").resize(size)
    if monochrome:
        image = image.convert("1")
    output = io.BytesIO()
    image.save(output, "PNG", optimize=True)
    return output.getvalue()


def _decode(data: bytes, formats: tuple[str, ...], max_pixels: int) -> Image.Image:
    with _decoding():
        image = Image.open(io.BytesIO(data), formats=formats)
    if image.width * image.height > max_pixels:
        raise PictureError(f"it has more than {max_pixels // 1_000_000} million pixels")
    with _decoding():
        image.load()
    return image


@contextmanager
def _decoding() -> Iterator[None]:
    try:
        yield
    except UnidentifiedImageError as err:
        raise PictureError("it is of no known kind") from err
    except _DECODING_ERRORS as err:
        raise PictureError(f"it cannot be decoded: {err}") from err
