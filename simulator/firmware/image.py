"""Builds firmware images, and checks them as a device does before starting one.

Source: ESP-IDF's `esp_app_format.h`, `esp_app_desc.h`, `esp_image_format.c` and `bootloader_common_loader.c`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
import hashlib
import random
import struct
from typing import Final

PROJECT: Final = "xiaozhi"

CHIP_IDS: Final = {
    "esp32": 0,
    "esp32s2": 2,
    "esp32c3": 5,
    "esp32s3": 9,
    "esp32c2": 12,
    "esp32c6": 13,
    "esp32h2": 16,
    "esp32p4": 18,
    "esp32c61": 20,
    "esp32c5": 23,
}

_MAGIC: Final = 0xE9
# Magic, segments, SPI mode, speed and size, entry, WP pin, SPI pins, chip, oldest revision (old form),
# oldest and newest revision as 100 * major + minor, whether a SHA-256 follows.
_HEADER: Final = struct.Struct("<BBBBIB3sHBHH4x?")
# Load address, bytes.
_SEGMENT: Final = struct.Struct("<II")
# Magic, secure version, version, project, time, date, ESP-IDF, SHA-256 of the ELF file, and reserved room.
_DESCRIPTION: Final = struct.Struct("<II8x32s32s16s16s32s32s80x")
_DESCRIPTION_MAGIC: Final = 0xABCD5432
_DESCRIPTION_OFFSET: Final = _HEADER.size + _SEGMENT.size
_CHECKSUM_SEED: Final = 0xEF
_HASH_BYTES: Final = 32
_BLOCK: Final = 16
_MAX_SEGMENTS: Final = 16
_MAX_SEGMENT_BYTES: Final = 16 * 1024 * 1024
_ANY_REVISION: Final = (0, 0xFFFF)

_CODE_ADDRESS: Final = 0x4037_4000
_DATA_ADDRESS: Final = 0x3C00_0000
_SMALLEST_CODE: Final = 64


class ImageError(Exception):
    """The device refuses an image."""


@dataclass(frozen=True, slots=True)
class AppDescription:
    """The description in an image; the device does not check it."""

    version: str
    project: str


def build_image(
    *, version: str, chip: str = "esp32s3", project: str = PROJECT, size: int | None = None
) -> bytes:
    """Return an image that a device with this chip installs, of `size` bytes rounded up to a multiple of 16.

    Its code is random data, the same for the same arguments. Raises `ValueError` for an unknown chip, a
    version or project of more than 31 bytes, and a size too small for an image.
    """
    if chip not in CHIP_IDS:
        raise ValueError(f"there is no chip {chip!r}; there are {', '.join(CHIP_IDS)}")
    texts = [text.encode() for text in (version, project, "10:21:33", "Aug  8 2026", "v5.5.2")]
    if any(len(text) > 31 for text in texts):
        raise ValueError("version and project have room for 31 bytes")
    noise = random.Random(f"{version} {chip} {project}")
    description = _DESCRIPTION.pack(_DESCRIPTION_MAGIC, 0, *texts, noise.randbytes(32))
    around = _DESCRIPTION_OFFSET + len(description) + _SEGMENT.size
    smallest = around + _SMALLEST_CODE
    smallest += -(smallest + 1) % _BLOCK + 1 + _HASH_BYTES
    size = smallest if size is None else size + -size % _BLOCK
    if size < smallest:
        raise ValueError(f"an image has at least {smallest} bytes")
    # The checksum is the last byte of a block, after padding.
    code = noise.randbytes((size - _HASH_BYTES - around - 1) // 4 * 4)
    pins = bytes(3)
    image = b"".join(
        (
            _HEADER.pack(
                _MAGIC, 2, 2, 0x4F, _CODE_ADDRESS, 0xEE, pins, CHIP_IDS[chip], 0, *_ANY_REVISION, True
            ),
            # A mapped segment has the same offset in the file as in memory, modulo 64 kB.
            _SEGMENT.pack(_DATA_ADDRESS + _DESCRIPTION_OFFSET, len(description)),
            description,
            _SEGMENT.pack(_CODE_ADDRESS, len(code)),
            code,
        )
    )
    padding = bytes(-(len(image) + 1) % _BLOCK)
    image += padding + bytes([_checksum(description, code)])
    return image + hashlib.sha256(image).digest()


def starts_as_image(first: bytes) -> bool:
    """Whether the first bytes may be written at all."""
    return first[:1] == bytes([_MAGIC])


def judge_image(image: bytes, *, chip: str, revision: int) -> AppDescription:
    """Return the description of an image that a device would start. Raises `ImageError` for others.

    `revision` is the chip's, as 100 * major + minor. The addresses of segments are not checked.
    """
    if len(image) < _HEADER.size:
        raise ImageError("the header is incomplete")
    magic, segments, *_, chip_id, _, oldest, newest, hash_appended = _HEADER.unpack_from(image)
    if magic != _MAGIC:
        raise ImageError(f"invalid magic byte {magic:#04x}")
    if chip_id != CHIP_IDS[chip]:
        raise ImageError(f"mismatch chip ID, expected {CHIP_IDS[chip]}, found {chip_id}")
    if revision < oldest or (newest not in {0, 0xFFFF} and revision > newest):
        raise ImageError(f"chip revision {revision} is not in {oldest} to {newest}")
    if segments > _MAX_SEGMENTS:
        raise ImageError(f"segment count {segments} exceeds max {_MAX_SEGMENTS}")
    parts = list(_segments(image, segments))
    end = _HEADER.size + sum(_SEGMENT.size + len(part) for part in parts)
    end += -(end + 1) % _BLOCK + 1
    if len(image) < end:
        raise ImageError("the image ends before its checksum")
    if (found := image[end - 1]) != (expected := _checksum(*parts)):
        raise ImageError(f"checksum failed, calculated {expected:#04x}, read {found:#04x}")
    if hash_appended and image[end : end + _HASH_BYTES] != hashlib.sha256(image[:end]).digest():
        raise ImageError("image hash failed, image is corrupt")
    return _description(image)


def _segments(image: bytes, number: int) -> Iterator[bytes]:
    offset = _HEADER.size
    for _ in range(number):
        start = offset + _SEGMENT.size
        if len(image) < start:
            raise ImageError("a segment's header is incomplete")
        length = _SEGMENT.unpack_from(image, offset)[1]
        if length % 4 or length >= _MAX_SEGMENT_BYTES:
            raise ImageError(f"invalid segment length {length:#x}")
        offset = start + length
        if len(image) < offset:
            raise ImageError("a segment is incomplete")
        yield image[start:offset]


def _checksum(*parts: bytes) -> int:
    """XOR all bytes, many at a time."""
    checksum = _CHECKSUM_SEED
    for part in parts:
        folded = int.from_bytes(part)
        width = len(part)
        while width > 1:
            width = (width + 1) // 2
            folded = (folded >> (8 * width)) ^ (folded & ((1 << (8 * width)) - 1))
        checksum ^= folded
    return checksum


def _description(image: bytes) -> AppDescription:
    if len(image) < _DESCRIPTION_OFFSET + _DESCRIPTION.size:
        return AppDescription("", "")
    magic, _, version, project, *_ = _DESCRIPTION.unpack_from(image, _DESCRIPTION_OFFSET)
    if magic != _DESCRIPTION_MAGIC:
        return AppDescription("", "")
    return AppDescription(*(text.split(b"\0")[0].decode(errors="replace") for text in (version, project)))
