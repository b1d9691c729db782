"""Firmware files as ESP-IDF builds them: chip, version and integrity.

Source: ESP-IDF's `esp_app_format.h`, `esp_app_desc.h`, `esp_flash_partitions.h` and `esp_image_format.c`.
A device finds out that a file is bad only after the whole download, so the same checks are made here first.
"""

from dataclasses import dataclass, field
import hashlib
import io
import struct
from typing import Final
import zipfile

from ...errors import UserError
from ...protocol.checkin import Partition
from ...protocol.firmware_version import is_version

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""More than the largest flash of a supported board."""

_MAGIC: Final = 0xE9
_HEADER: Final = struct.Struct("<BB10xH9xB")
"""Magic, number of segments, chip, whether a hash follows."""
_SEGMENT: Final = struct.Struct("<4xI")
_HASH_BYTES: Final = 32

_DESCRIPTION_OFFSET: Final = 32
_DESCRIPTION: Final = struct.Struct("<I12x32s32s")
"""Magic, version, name of the project."""
_DESCRIPTION_MAGIC: Final = 0xABCD5432

# A binary for the whole flash, as in releases, starts with a boot loader; a table lists its partitions.
_PARTITIONS_OFFSET: Final = 0x8000
_PARTITIONS_BYTES: Final = 0xC00
_PARTITION: Final = struct.Struct("<HBxII20x")
"""Magic, type, offset, size."""
_PARTITION_MAGIC: Final = 0x50AA
_APP_PARTITION: Final = 0
_DATA_PARTITION: Final = 1

_CHIPS: Final = {
    0x0000: "esp32",
    0x0002: "esp32s2",
    0x0005: "esp32c3",
    0x0009: "esp32s3",
    0x000C: "esp32c2",
    0x000D: "esp32c6",
    0x0010: "esp32h2",
    0x0012: "esp32p4",
    0x0014: "esp32c61",
    0x0017: "esp32c5",
}
_ZIP_START: Final = b"PK\x03\x04"
_ZIP_ENTRY: Final = b"PK\x01\x02"
# A release has a handful. Python makes an object for each: a million take seconds and 400 MiB.
_MAX_ARCHIVED_FILES: Final = 1000


class FirmwareError(UserError):
    """A file that no device should get, or a list without use; the text says why, for the owner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirmwareImage:
    """A firmware that a device would accept."""

    version: str
    """As the device will report it."""
    chip: str
    """As a device names its own, such as `esp32s3`."""
    content: bytes = field(repr=False)


def read_firmware(data: bytes) -> FirmwareImage:
    """Read a firmware, a binary for the whole flash that holds one, or a ZIP archive with either.

    Raises `FirmwareError`. Takes some 3 ms for each MiB.
    """
    if data.startswith(_ZIP_START):
        data = _unpack(data)
    if not _is_app(data):
        data = _app_in_flash(data)
    _, number, chip_id, has_hash = _HEADER.unpack_from(data)
    end = _end_of_segments(data, number)
    # ESP-IDF adds one to everything that it builds. The checksum of the segments says no more.
    if not has_hash:
        raise FirmwareError("firmware_damaged")
    if hashlib.sha256(data[:end]).digest() != data[end : end + _HASH_BYTES]:
        raise FirmwareError("firmware_wrong_hash")
    _, version, project = _DESCRIPTION.unpack_from(data, _DESCRIPTION_OFFSET)
    if (name := _text(project)) != "xiaozhi":
        raise FirmwareError("firmware_of_something_else", project=name or "?")
    if not is_version(text := _text(version)):
        raise FirmwareError("firmware_bad_version", version=text or "?")
    if chip_id not in _CHIPS:
        raise FirmwareError("firmware_unknown_chip", number=str(chip_id))
    return FirmwareImage(version=text, chip=_CHIPS[chip_id], content=data[: end + _HASH_BYTES])


def read_partition(data: bytes, partition: Partition, version: str, chip: str) -> bytes | None:
    """Return the content of a data partition, cut out of a release's binary for the whole flash.

    None if it has no such partition, or is not of this version and chip. Raises `FirmwareError`.
    """
    if data.startswith(_ZIP_START):
        data = _unpack(data)
    image = read_firmware(data)
    start = partition.address
    if (image.version, image.chip) == (version, chip) and not _is_app(data):
        for magic, kind, offset, size in _PARTITION.iter_unpack(_partition_table(data)):
            if (magic, kind, offset, size) == (_PARTITION_MAGIC, _DATA_PARTITION, start, partition.size):
                return data[offset : offset + size]
    return None


def _unpack(data: bytes) -> bytes:
    if data.count(_ZIP_ENTRY) > _MAX_ARCHIVED_FILES:
        raise FirmwareError("firmware_archive_crowded")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive, archive.open(_only_binary(archive)) as file:
            # The sizes that an archive states may be wrong.
            return file.read(MAX_FILE_BYTES)
    except FirmwareError:
        raise
    # Python's reader passes on whatever its decompressors raise.
    except Exception as err:
        raise FirmwareError("firmware_archive_damaged") from err


def _only_binary(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    found = [info for info in archive.infolist() if info.filename.endswith(".bin")]
    if len(found) != 1:
        raise FirmwareError("firmware_archive_not_one", number=str(len(found)))
    if found[0].file_size > MAX_FILE_BYTES:
        raise FirmwareError("firmware_too_large", limit=str(MAX_FILE_BYTES // 1024**2))
    return found[0]


def _is_app(data: bytes) -> bool:
    if len(data) < _DESCRIPTION_OFFSET + _DESCRIPTION.size or data[0] != _MAGIC:
        return False
    magic, _, _ = _DESCRIPTION.unpack_from(data, _DESCRIPTION_OFFSET)
    return bool(magic == _DESCRIPTION_MAGIC)


def _app_in_flash(data: bytes) -> bytes:
    for magic, kind, offset, size in _PARTITION.iter_unpack(_partition_table(data)):
        if magic != _PARTITION_MAGIC:
            break
        if kind == _APP_PARTITION and _is_app(app := data[offset : offset + size]):
            return app
    raise FirmwareError("firmware_not_esp32")


def _partition_table(data: bytes) -> bytes:
    table = data[_PARTITIONS_OFFSET : _PARTITIONS_OFFSET + _PARTITIONS_BYTES]
    return table[: len(table) // _PARTITION.size * _PARTITION.size]


def _end_of_segments(data: bytes, number: int) -> int:
    """Return where the segments end, with the checksum behind them."""
    if not 0 < number <= 16:
        raise FirmwareError("firmware_damaged")
    position = _HEADER.size
    for _ in range(number):
        if position + _SEGMENT.size > len(data):
            raise FirmwareError("firmware_cut_off")
        (size,) = _SEGMENT.unpack_from(data, position)
        position += _SEGMENT.size + size
    # The checksum is the last byte of a block of 16.
    end = position + 16 - position % 16
    if end > len(data):
        raise FirmwareError("firmware_cut_off")
    return end


def _text(value: bytes) -> str:
    text = value.split(b"\0", 1)[0].decode("latin-1")
    return text if text.isascii() and text.isprintable() else ""
