"""The cost of decoding a picture, read from its structure without decoding anything.

Only what the pixels need is handed to the decoder. Text, colour profiles, previews and other metadata are
left out, since a few bytes of them can cost a decoder minutes or hundreds of megabytes.
"""

from dataclasses import dataclass, field
import re
import struct
from typing import Final
import zlib

__all__ = [
    "CostlyPictureError",
    "DamagedPictureError",
    "PictureCost",
    "PictureError",
    "UnknownPictureError",
    "picture_cost",
]

_MAX_PARTS: Final = 10_000
"""Markers of a JPEG, chunks of a PNG or blocks of a GIF. Each costs about a microsecond."""
# Tables of a JPEG with many scans take 20 kB.
_MAX_TABLE_BYTES: Final = 128 * 1024

_JPEG_START: Final = b"\xff\xd8"
_PNG_START: Final = b"\x89PNG\r\n\x1a\n"
_GIF_STARTS: Final = (b"GIF87a", b"GIF89a")
_BMP_START: Final = b"BM"

_SOF: Final = {0xC0: False, 0xC1: False, 0xC2: True}
"""Frames of a JPEG that occur in practice, and whether they are progressive."""
_DHT, _EOI, _SOS, _DQT, _DRI, _APP0, _APP1, _APP14 = 0xC4, 0xD9, 0xDA, 0xDB, 0xDD, 0xE0, 0xE1, 0xEE
_TABLES: Final = {_DHT, _DQT, _DRI}
_METADATA: Final = {*range(_APP0, 0xF0), 0xFE}
# Two of them define the colours of the pixels.
_KEPT_METADATA: Final = {_APP0: b"JFIF\0", _APP14: b"Adobe"}
_EXIF: Final = b"Exif\0\0"
_ORIENTATION_TAG: Final = 0x0112
_MAX_EXIF_ENTRIES: Final = 100
# In the data of a scan, a byte 0xFF is followed by 0 or by the number of a restart marker.
_NEXT_MARKER: Final = re.compile(rb"\xff+([\x01-\xcf\xd8-\xfe])")
# Decoders skip these or give up.
_RESERVED_MARKERS: Final = range(0x01, 0xC0)

_PNG_PIXEL_BYTES: Final = {0: 3, 2: 5, 3: 5, 4: 9, 6: 9}
"""Bytes of a pixel in Pillow by colour type, with the copy needed for scaling down."""
_PALETTE_PIXEL_BYTES: Final = 5
_PLAIN_PIXEL_BYTES: Final = 8
# The decoder keeps the canvas, the frame before and the frame; Pillow makes two more.
_WEBP_PIXEL_BYTES: Final = 20
_BMP_COMPRESSIONS: Final = {0, 3}
"""None, and bit masks. Pillow decodes the others byte by byte in Python."""


class PictureError(ValueError):
    """The data is not a usable picture."""


class UnknownPictureError(PictureError):
    """The data is not a picture of a known kind."""


class CostlyPictureError(PictureError):
    """Decoding the picture would take too much memory or time."""


class DamagedPictureError(PictureError):
    """The picture is damaged, incomplete or very unusual."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureCost:
    """Cost of a picture, and its data to decode."""

    kind: str
    """Pillow's name of the format."""
    content: bytes = field(repr=False)
    """The picture without its metadata."""
    width: int
    height: int
    scans: int = 1
    """Number of passes of a decoder over all pixels."""
    memory: int
    """Bytes; without the decoded pixels of a JPEG, which is scaled down while decoding."""
    orientation: int = 1
    """From 1 to 8, as in Exif."""

    @property
    def pixels(self) -> int:
        """Width times height."""
        return self.width * self.height

    @property
    def work(self) -> int:
        """Pixels of all scans together. A modern computer decodes about a thousand million in a second."""
        return self.pixels * self.scans


def picture_cost(data: bytes) -> PictureCost:
    """Return the cost of decoding a picture. Raises `UnknownPictureError` and `DamagedPictureError`.

    Takes some milliseconds for each megabyte, so not for the event loop.
    """
    try:
        return _measure(data)
    except (IndexError, struct.error) as err:
        raise DamagedPictureError("it ends too early") from err


def _measure(data: bytes) -> PictureCost:
    if data.startswith(_JPEG_START):
        return _Jpeg(data).cost()
    if data.startswith(_PNG_START):
        return _png(data)
    if data.startswith(_GIF_STARTS):
        return _gif(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    if data.startswith(_BMP_START):
        return _bmp(data)
    raise UnknownPictureError("it is of no known kind")


class _Jpeg:
    """Reads the markers of a JPEG (ITU T.81, annex B) as libjpeg does."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = len(_JPEG_START)
        self._kept = [_JPEG_START]
        self._frame: tuple[int, bytes] | None = None
        self._scans = self._tables = 0
        self._orientation: int | None = None

    def cost(self) -> PictureCost:
        """Read all markers up to the end of the picture."""
        for _ in range(_MAX_PARTS):
            begin = self._at
            marker = self._next_marker()
            if marker == _EOI:
                return self._cost()
            if marker in _RESERVED_MARKERS and self._scans:
                continue
            (length,) = struct.unpack_from(">H", self._data, self._at)
            segment = self._data[self._at + 2 : self._at + length]
            if length < 2 or len(segment) != length - 2:
                raise DamagedPictureError("a segment is too short")
            self._at += length
            if self._is_needed(marker, segment):
                self._kept.append(self._data[begin : self._at])
        raise DamagedPictureError("it has too many segments")

    def _next_marker(self) -> int:
        if (found := _NEXT_MARKER.search(self._data, self._at)) is None:
            raise DamagedPictureError("it has no end")
        # Between segments are only fill bytes, and after a scan possibly the rest of its data.
        if found.start() != self._at and not self._scans:
            raise DamagedPictureError("bytes between its segments")
        self._at = found.end()
        return found[1][0]

    def _is_needed(self, marker: int, segment: bytes) -> bool:
        """Count a segment; return whether decoding needs it."""
        if marker in _METADATA:
            if marker == _APP1 and self._orientation is None and segment.startswith(_EXIF):
                self._orientation = _orientation(segment[len(_EXIF) :])
            return not self._scans and segment.startswith(_KEPT_METADATA.get(marker, b"?"))
        if marker in _TABLES:
            self._tables += len(segment)
            if self._tables > _MAX_TABLE_BYTES:
                raise DamagedPictureError("it has too many tables")
        elif marker in _SOF and self._frame is None:
            self._frame = (marker, segment)
        elif marker == _SOS and self._frame is not None:
            self._scans += 1
            if (end := _NEXT_MARKER.search(self._data, self._at)) is None:
                raise DamagedPictureError("it has no end")
            self._at = end.start()
        else:
            raise DamagedPictureError("a segment of an unusual kind")
        return True

    def _cost(self) -> PictureCost:
        if self._frame is None or not self._scans:
            raise DamagedPictureError("it has no pixels")
        width, height, memory = _jpeg_size(*self._frame, self._scans)
        return PictureCost(
            kind="JPEG",
            content=b"".join((*self._kept, b"\xff\xd9")),
            width=width,
            height=height,
            scans=self._scans,
            memory=memory,
            orientation=self._orientation or 1,
        )


def _jpeg_size(marker: int, frame: bytes, scans: int) -> tuple[int, int, int]:
    """Return width, height and the decoder's bytes besides the pixels."""
    bits, height, width, components = struct.unpack_from(">BHHB", frame)
    if bits != 8 or not width or not height or components not in (1, 3, 4):
        raise DamagedPictureError("an impossible size or depth")
    samplings = [frame[7 + 3 * number] for number in range(components)]
    across, down = [sampling >> 4 for sampling in samplings], [sampling & 15 for sampling in samplings]
    if not all(1 <= factor <= 4 for factor in (*across, *down)):
        raise DamagedPictureError("an impossible sampling")
    if scans == 1 and not _SOF[marker]:
        return width, height, 0
    # The decoder keeps all coefficients until the last scan: two bytes each, in whole blocks of whole units.
    unit_width, unit_height = 8 * max(across), 8 * max(down)
    units = -(-width // unit_width) * -(-height // unit_height)
    blocks = sum(x * y for x, y in zip(across, down, strict=True))
    return width, height, units * blocks * 64 * 2


def _orientation(tiff: bytes) -> int:
    """Return the orientation from Exif data."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    try:
        if order is None:
            return 1
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        for number in range(min(count, _MAX_EXIF_ENTRIES)):
            tag, _type, _count, value = struct.unpack_from(f"{order}HHIH", tiff, start + 2 + 12 * number)
            if tag == _ORIENTATION_TAG:
                return value if 1 <= value <= 8 else 1
    except struct.error:
        pass
    return 1


def _png(data: bytes) -> PictureCost:
    """Read the chunks of a PNG (ISO/IEC 15948) up to its end."""
    header = palette = b""
    pixels: list[bytes] = []
    at = len(_PNG_START)
    for _ in range(_MAX_PARTS):
        length, name = struct.unpack_from(">I4s", data, at)
        body = data[at + 8 : at + 8 + length]
        (check,) = struct.unpack_from(">I", data, at + 8 + length)
        at += 12 + length
        if not header and name != b"IHDR":
            raise DamagedPictureError("it does not begin with its size")
        if name in (b"IHDR", b"PLTE", b"IDAT", b"IEND") and check != zlib.crc32(name + body):
            raise DamagedPictureError("a checksum is wrong")
        match name:
            case b"IHDR" if not header and length == 13:
                header = body
            case b"PLTE" if not palette and length <= 768:
                palette = body
            case b"IDAT":
                pixels.append(body)
            case b"IEND":
                return _png_cost(header, palette, b"".join(pixels))
            case b"IHDR" | b"PLTE":
                raise DamagedPictureError("a chunk of an unusual size, or twice")
    raise DamagedPictureError("it has too many chunks")


def _png_cost(header: bytes, palette: bytes, pixels: bytes) -> PictureCost:
    width, height, _depth, colour = struct.unpack_from(">IIBB", header)
    if not width or not height or colour not in _PNG_PIXEL_BYTES:
        raise DamagedPictureError("an impossible size or colour type")
    chunks = [(b"IHDR", header), (b"PLTE", palette), (b"IDAT", pixels), (b"IEND", b"")]
    content = [_PNG_START]
    for name, body in chunks:
        if body or name != b"PLTE":
            check = zlib.crc32(body, zlib.crc32(name))
            content += [struct.pack(">I4s", len(body), name), body, struct.pack(">I", check)]
    return PictureCost(
        kind="PNG",
        content=b"".join(content),
        width=width,
        height=height,
        memory=width * height * _PNG_PIXEL_BYTES[colour],
    )


def _gif(data: bytes) -> PictureCost:
    """Read the blocks of a GIF (version 89a) up to its first frame."""
    width, height, flags = struct.unpack_from("<HHB", data, 6)
    at = first = 13 + _gif_table(flags)
    parts = 0
    while data[at] == 0x21:
        at += 2
        while size := data[at]:
            at += 1 + size
            parts += 1
            if parts > _MAX_PARTS:
                raise DamagedPictureError("it has too many blocks")
        at += 1
        parts += 1
    if data[at] != 0x2C:
        raise DamagedPictureError("it has no frame")
    left, top, frame_width, frame_height = struct.unpack_from("<HHHH", data, at + 1)
    width, height = max(width, left + frame_width), max(height, top + frame_height)
    if not width or not height:
        raise DamagedPictureError("an impossible size")
    return PictureCost(
        kind="GIF",
        content=data[:first] + data[at:],
        width=width,
        height=height,
        memory=width * height * _PALETTE_PIXEL_BYTES,
    )


def _gif_table(flags: int) -> int:
    """Return the bytes of a colour table."""
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _webp(data: bytes) -> PictureCost:
    """Read the size of a WebP (RFC 9649) from its first chunk."""
    match data[12:16]:
        case b"VP8X":
            width, height = (1 + int.from_bytes(data[at : at + 3], "little") for at in (24, 27))
        case b"VP8L":
            (sizes,) = struct.unpack_from("<I", data, 21)
            width, height = 1 + (sizes & 0x3FFF), 1 + (sizes >> 14 & 0x3FFF)
        case b"VP8 ":
            width, height = (side & 0x3FFF for side in struct.unpack_from("<HH", data, 26))
        case _:
            raise DamagedPictureError("it begins with an unknown chunk")
    if not width or not height:
        raise DamagedPictureError("an impossible size")
    return PictureCost(
        kind="WEBP",
        content=data,
        width=width,
        height=height,
        memory=width * height * _WEBP_PIXEL_BYTES,
    )


def _bmp(data: bytes) -> PictureCost:
    """Read the size of a BMP from its header (Windows 3 or later)."""
    size, width, height, _planes, _bits, compression = struct.unpack_from("<IiiHHI", data, 14)
    if size < 40 or width <= 0 or not height or compression not in _BMP_COMPRESSIONS:
        raise DamagedPictureError("a BMP of an unusual kind")
    return PictureCost(
        kind="BMP",
        content=data,
        width=width,
        height=abs(height),
        memory=width * abs(height) * _PLAIN_PIXEL_BYTES,
    )
