"""Checks, decodes and scales pictures. All of it is slow: not for the event loop."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
import io
from typing import Final

from PIL import Image

from .cost import CostlyPictureError, DamagedPictureError, PictureCost, UnknownPictureError, picture_cost

__all__ = ["MAX_JPEG_BYTES", "Picture", "PictureKind", "Screen", "check_jpeg", "fit", "open_picture"]

MAX_JPEG_BYTES: Final = 2 * 1024 * 1024
"""The largest picture accepted from a device."""
# The largest camera of a supported board has 5 million.
_MAX_DEVICE_PIXELS: Final = 20_000_000
# For a picture to show, such as a photo from a phone.
_MAX_SHOWN_PIXELS: Final = 60_000_000
# While decoding. A PNG of 12 million pixels with transparency takes as much.
_MAX_MEMORY: Final = 96 * 1024 * 1024
# Half a second at most. Programs write progressive JPEGs with up to 12 scans.
_MAX_WORK: Final = 400_000_000
# The largest screen of a supported board has 1280 by 800.
_LARGEST_SIDE: Final = 1280
# What Pillow's decoders raise on broken data.
_DECODING_ERRORS: Final = (
    OSError,
    ValueError,
    SyntaxError,
    ArithmeticError,
    LookupError,
    Image.DecompressionBombError,
)
# Modes whose values cannot be mixed, and the modes to convert them to before scaling.
_COARSE_MODES: Final = {"1": "L", "P": "RGB"}
_16_BIT_MODES: Final = ("I", "I;16", "I;16B")
# By the orientation in Exif data.
_TURNS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}


class PictureKind(StrEnum):
    """Where a picture is from."""

    PHOTO = "photo"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A JPEG from a device."""

    data: bytes = field(repr=False)
    taken: datetime


@dataclass(frozen=True, slots=True)
class Screen:
    """A screen to fit a picture into; width and height in pixels."""

    width: int
    height: int
    monochrome: bool


def check_jpeg(data: bytes) -> None:
    """Check that this is a complete JPEG of a sensible size. Raises `PictureError`."""
    cost = _affordable(data, _MAX_DEVICE_PIXELS)
    if cost.kind != "JPEG":
        raise UnknownPictureError("it is not a JPEG")
    with _decoding():
        image = _open(cost)
        # Reads the whole file, but decodes an eighth of its width and height only.
        image.draft(None, (max(1, cost.width // 8), max(1, cost.height // 8)))
        image.load()


def open_picture(data: bytes) -> Image.Image:
    """Decode a picture, and scale it down to the largest screen. Raises `PictureError`. Up to a second."""
    cost = _affordable(data, _MAX_SHOWN_PIXELS)
    with _decoding():
        image = _open(cost)
        if image.mode in _16_BIT_MODES:
            image = image.point(lambda value: value / 256).convert("L")
        elif image.mode in _COARSE_MODES:
            image = image.convert(_COARSE_MODES[image.mode])
        # With this gap, a JPEG is scaled down while decoding, to less than twice the size.
        image.thumbnail(_scaled(image.size, (_LARGEST_SIDE, _LARGEST_SIDE)), reducing_gap=1.0)
        image = image.convert("RGB")
        if cost.orientation in _TURNS:
            image = image.transpose(_TURNS[cost.orientation])
    return image


def fit(image: Image.Image, screen: Screen) -> bytes:
    """Fit a picture into a screen, and return it as a PNG."""
    fitted = image.resize(_scaled(image.size, (screen.width, screen.height)))
    if screen.monochrome:
        fitted = fitted.convert("1")
    output = io.BytesIO()
    fitted.save(output, "PNG", optimize=True)
    return output.getvalue()


def _scaled(size: tuple[int, int], limits: tuple[int, int]) -> tuple[int, int]:
    """Return the largest size of the same shape within limits; each side is at least one pixel."""
    scale = min(limit / side for side, limit in zip(size, limits, strict=True))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _affordable(data: bytes, max_pixels: int) -> PictureCost:
    cost = picture_cost(data)
    if cost.pixels > max_pixels or cost.memory > _MAX_MEMORY or cost.work > _MAX_WORK:
        raise CostlyPictureError(f"{cost.width} by {cost.height} pixels, {cost.scans} scans")
    return cost


def _open(cost: PictureCost) -> Image.Image:
    """Open a picture without decoding it."""
    image = Image.open(io.BytesIO(cost.content), formats=(cost.kind,))
    if image.size != (cost.width, cost.height):
        raise DamagedPictureError("it has more than one size")
    return image


@contextmanager
def _decoding() -> Iterator[None]:
    try:
        yield
    except DamagedPictureError:
        raise
    except _DECODING_ERRORS as err:
        raise DamagedPictureError(f"it cannot be decoded: {err}") from err
