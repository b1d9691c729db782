"""Checks, decodes and scales pictures with Pillow: not in the event loop, and one at a time.

The cost of a picture is known from its header before it is decoded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
import io
import struct
from typing import Final

from PIL import Image, UnidentifiedImageError

# The largest camera of a supported board has 5 million.
_MAX_DEVICE_PIXELS: Final = 20_000_000
# For a picture to show, such as a photo from a phone.
_MAX_SHOWN_PIXELS: Final = 60_000_000
# While decoding, for all pictures together, since one is decoded at a time. A PNG of 11 million pixels with
# transparency takes as much.
_MAX_MEMORY: Final = 96 * 1024 * 1024
# Half a second at most. Programs write progressive JPEGs with up to 12 scans.
_MAX_WORK: Final = 400_000_000
# The largest screen of a supported board has 1280 by 800.
_LARGEST_SIDE: Final = 1280
_SCAN: Final = b"\xff\xda"
# Bytes that Pillow takes for a pixel until it is scaled down, by mode. All others take 9.
_PIXEL_BYTES: Final = {"1": 3, "L": 3, "I;16": 4, "P": 5, "RGB": 5}
_TRANSPARENT_PIXEL_BYTES: Final = 13
# All coefficients of all scans. A JPEG with one scan is scaled down while it is decoded.
_COEFFICIENT_BYTES: Final = 6
# Its decoder keeps the canvas, the frame before and the frame; Pillow makes two more.
_WEBP_PIXEL_BYTES: Final = 20
# Pillow reads these parts when it opens a picture, and a few kilobytes can take hundreds of megabytes.
_EXIF: Final = b"Exif\0\0"
_MULTI_PICTURE: Final = b"MPF\0"
_ORIENTATION_TAG: Final = 0x0112
# Segments of a JPEG before its pixels, with all skipped bytes between them, or chunks of a PNG.
_MAX_PARTS: Final = 10_000
# Segments that have a length: frames and tables, data of applications, and comments.
_WITH_LENGTH: Final = frozenset({*range(0xC0, 0xD0), *range(0xDB, 0xF0), 0xFE} - {0xC8})
# Exceptions of Pillow's decoders for broken data.
_DECODING_ERRORS: Final = (OSError, ValueError, SyntaxError, ArithmeticError, LookupError)
# Modes whose values cannot be mixed, and the modes to convert them to before scaling.
_COARSE_MODES: Final = {"1": "L", "P": "RGB"}
# In the information about a picture without such a mode.
_TRANSPARENCY: Final = "transparency"
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


class PictureError(ValueError):
    """The picture is damaged, incomplete or very unusual."""

    key = "picture_damaged"
    """The text for people in the translations."""


class UnknownPictureError(PictureError):
    """The data is not a picture of a known kind."""

    key = "not_a_picture"


class CostlyPictureError(PictureError):
    """Decoding the picture would take too much memory or time."""

    key = "picture_too_costly"


def check_jpeg(data: bytes) -> None:
    """Check that this is a complete JPEG of a sensible size. Raises `PictureError`."""
    with _decoding():
        image = _open(data, ("JPEG",), _MAX_DEVICE_PIXELS)
        # Reads the whole file, but decodes an eighth of its width and height only.
        image.draft(None, (max(1, image.width // 8), max(1, image.height // 8)))
        image.load()


def open_picture(data: bytes) -> Image.Image:
    """Decode a picture, and scale it down to the largest screen. Raises `PictureError`. Up to a second."""
    with _decoding():
        image = _open(data, ("JPEG", "PNG", "WEBP"), _MAX_SHOWN_PIXELS)
        if image.mode in ("I", "I;16", "I;16B"):
            image = image.point(lambda value: value / 256).convert("L")
        elif _TRANSPARENCY in image.info:
            # The transparent colour, or the transparency of each colour.
            image = image.convert("RGBA")
        elif image.mode in _COARSE_MODES:
            image = image.convert(_COARSE_MODES[image.mode])
        # With this gap, a JPEG is scaled down while decoding, to less than twice the size.
        image.thumbnail(_scaled(image.size, (_LARGEST_SIDE, _LARGEST_SIDE)), reducing_gap=1.0)
        if image.mode in ("LA", "PA", "RGBA"):
            white = Image.new("RGBA", image.size, "white")
            white.alpha_composite(image.convert("RGBA"))
            image = white
        image = image.convert("RGB")
        if (turn := _TURNS.get(_orientation(data))) is not None:
            image = image.transpose(turn)
    return image


def fit(image: Image.Image, screen: tuple[int, int], *, monochrome: bool = False) -> bytes:
    """Fit a picture into a screen of so many pixels in width and height, and return it as a PNG."""
    fitted = image.resize(_scaled(image.size, screen))
    if monochrome:
        fitted = fitted.convert("1")
    output = io.BytesIO()
    fitted.save(output, "PNG", optimize=True)
    return output.getvalue()


def _scaled(size: tuple[int, int], limits: tuple[int, int]) -> tuple[int, int]:
    """Return the largest size of the same shape within limits; each side is at least one pixel."""
    scale = min(limit / side for side, limit in zip(size, limits, strict=True))
    return max(1, round(size[0] * scale)), max(1, round(size[1] * scale))


def _open(data: bytes, kinds: tuple[str, ...], max_pixels: int) -> Image.Image:
    """Open a picture without decoding it, if it is not too costly."""
    _check_parts(data)
    for unread in (_EXIF, _MULTI_PICTURE):
        data = data.replace(unread, bytes(len(unread)))
    image = Image.open(io.BytesIO(data), formats=kinds)
    pixels = image.width * image.height
    scans = 1
    match image.format:
        case "JPEG":
            scans = data.count(_SCAN)
            memory = pixels * _COEFFICIENT_BYTES if scans > 1 or "progressive" in image.info else 0
        case "WEBP":
            memory = pixels * _WEBP_PIXEL_BYTES
        case _ if _TRANSPARENCY in image.info:
            memory = pixels * _TRANSPARENT_PIXEL_BYTES
        case _:
            memory = pixels * _PIXEL_BYTES.get(image.mode, 9)
    if pixels > max_pixels or memory > _MAX_MEMORY or pixels * scans > _MAX_WORK:
        raise CostlyPictureError(f"{image.width} by {image.height} pixels, {scans} scans")
    return image


def _check_parts(data: bytes) -> None:
    """Check that a JPEG or PNG has no more parts than can be read one by one, as Pillow does."""
    is_png, at = data.startswith(b"\x89PNG"), 2
    if is_png:
        at = 8
    elif not data.startswith(b"\xff\xd8"):
        return
    for _ in range(_MAX_PARTS):
        if at >= len(data) or (data.startswith(_SCAN, at) and not is_png):
            return
        if is_png:
            at += 12 + int.from_bytes(data[at : at + 4])
        elif data[at] != 0xFF or data.startswith(b"\xff\xff", at):
            at += 1
        else:
            at += 2 + (int.from_bytes(data[at + 2 : at + 4]) if data[at + 1] in _WITH_LENGTH else 0)
    raise CostlyPictureError("too many parts")


def _orientation(data: bytes) -> int:
    """Return the orientation from the Exif data of a picture; 1 if it has none."""
    tiff = _exif(data)[: 64 * 1024]
    order = ">" if tiff.startswith(b"MM") else "<"
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for number in range(min(count, 100)):
            tag, _type, _count, value = struct.unpack_from(f"{order}HHIH", tiff, start + 2 + 12 * number)
            if tag == _ORIENTATION_TAG:
                return int(value)
    except struct.error:
        pass
    return 1


def _exif(data: bytes) -> bytes:
    """Return the picture from its Exif data on; nothing if it has none."""
    if data.startswith(b"\xff\xd8"):
        return data.partition(_EXIF)[2]
    is_png = data.startswith(b"\x89PNG")
    at = 8 if is_png else 12
    for _ in range(_MAX_PARTS if is_png or data[8:12] == b"WEBP" else 0):
        size, name = data[at : at + 4], data[at + 4 : at + 8]
        if not is_png:
            size, name = name, size
        if name in {b"", b"eXIf", b"EXIF"}:
            return data[at + 8 :].removeprefix(_EXIF)
        # A checksum follows, or a byte that makes the size even.
        length = int.from_bytes(size, "big" if is_png else "little")
        at += 8 + length + (4 if is_png else length % 2)
    return b""


@contextmanager
def _decoding() -> Iterator[None]:
    try:
        yield
    except PictureError:
        raise
    except Image.DecompressionBombError as err:
        raise CostlyPictureError(str(err)) from err
    except UnidentifiedImageError as err:
        raise UnknownPictureError("it is of no known kind") from err
    except _DECODING_ERRORS as err:
        raise PictureError(f"it cannot be decoded: {err}") from err
