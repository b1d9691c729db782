"""Firmware files: images, binaries for the whole flash, and archives with either."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import cache, reduce
import hashlib
import io
import operator
import random
import struct
from typing import Final
import zipfile

from custom_components.xiaozhi.firmware.image import FirmwareError, read_firmware
from simulator import build_image

from .inputs import mutated
from .target import Outcome

__all__ = ["archives", "firmware"]

_METHODS: Final = (
    zipfile.ZIP_STORED,
    zipfile.ZIP_DEFLATED,
    zipfile.ZIP_BZIP2,
    zipfile.ZIP_LZMA,
    zipfile.ZIP_ZSTANDARD,
)
_HASH_BYTES: Final = 32
_APP_OFFSET: Final = 0x10000
_TABLE_OFFSET: Final = 0x8000
# Header, description and the header of the second segment.
_HEAD: Final = slice(0, 296)
_CHECKSUM: Final = -_HASH_BYTES - 1
# An archive that unpacks to more than any firmware, and one with only a directory.
_BOMB_BYTES: Final = 100 * 1024 * 1024
_MANY: Final = 200_000
_ONE_IN: Final = 20_000


class _Files:
    def __init__(self, make: Callable[[], bytes]) -> None:
        self.outcome = Outcome()
        self._make = make

    def inputs(self) -> Iterator[bytes]:
        """Yield files."""
        while True:
            yield self._make()

    async def take(self, data: bytes) -> None:
        """Read a file."""
        try:
            image = read_firmware(data)
        except FirmwareError as err:
            str(err).encode()
            self.outcome.refused += 1
        else:
            repr(image).encode()
            self.outcome.taken += 1


@asynccontextmanager
async def firmware(chance: random.Random) -> AsyncIterator[_Files]:
    """Read changed images, most with the right checksum and hash."""
    seeds = [
        build_image(version=version, chip=chip)
        for version, chip in (("2.2.6", "esp32s3"), ("1.9.4", "esp32"))
    ]

    def make() -> bytes:
        image = chance.choice(seeds)
        if chance.random() < 0.3:
            image = mutated(chance, image)
        else:
            head = mutated(chance, image[_HEAD])[_HEAD].ljust(_HEAD.stop, b"\0")
            image = _repaired(image, head)
        return _in_flash(chance, image) if chance.random() < 0.05 else image

    yield _Files(make)


@asynccontextmanager
async def archives(chance: random.Random) -> AsyncIterator[_Files]:
    """Read archives of all compressions; sometimes an expensive one."""
    image = build_image(version="2.2.6")
    names = ("merged-binary.bin", "a/b.bin", "ß.bin", "x.txt", "")
    seeds = [
        _archive(method, dict.fromkeys(chance.sample(names, count), image))
        for method in _METHODS
        for count in (1, 1, 2, 3)
    ]
    costly = (_bomb, _many_files)

    def make() -> bytes:
        if chance.random() < 1 / _ONE_IN:
            return chance.choice(costly)(chance.choice(_METHODS))
        return mutated(chance, chance.choice(seeds))

    # Also in a short run.
    costly_ones = [make_costly(method) for method in _METHODS for make_costly in costly]
    yield _Files(lambda: costly_ones.pop() if costly_ones else make())


def _repaired(image: bytes, head: bytes) -> bytes:
    """Return an image with another head, and its checksum and hash."""
    changed = bytearray(head + image[_HEAD.stop :])
    # The header itself, before the first segment, does not count; nor do the sizes of segments.
    before, after = image[32:288], head[32:288]
    changed[_CHECKSUM] ^= reduce(operator.xor, before) ^ reduce(operator.xor, after)
    changed[-_HASH_BYTES:] = hashlib.sha256(changed[:-_HASH_BYTES]).digest()
    return bytes(changed)


def _in_flash(chance: random.Random, image: bytes) -> bytes:
    """Return a binary for the whole flash, with a table that may be wrong."""
    entries = b"".join(
        struct.pack("<HBBII20x", 0x50AA, kind, subtype, offset, size)
        for kind, subtype, offset, size in ((1, 2, 0x9000, 0x4000), (0, 0x10, _APP_OFFSET, 0x3F0000))
    )
    flash = bytearray(_APP_OFFSET)
    flash[0] = 0xE9
    table = mutated(chance, entries)[:0xC00]
    flash[_TABLE_OFFSET : _TABLE_OFFSET + len(table)] = table
    return bytes(flash) + image


def _archive(method: int, files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@cache
def _bomb(method: int) -> bytes:
    """Return a small archive of more data than a firmware can have, with a false size."""
    if method == zipfile.ZIP_STORED:
        method = zipfile.ZIP_DEFLATED
    data = bytearray(_archive(method, {"a.bin": bytes(_BOMB_BYTES)}))
    # In the directory: the real size, at 24 from its start, becomes 1,000.
    at = data.rindex(b"PK\x01\x02") + 24
    data[at : at + 4] = (1000).to_bytes(4, "little")
    return bytes(data)


@cache
def _many_files(_method: int) -> bytes:
    """Return an archive whose directory has very many entries, without any file."""
    entry = struct.pack("<4s42x", b"PK\x01\x02")
    directory = entry * _MANY
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(directory), 4, 0)
    return b"PK\x03\x04" + directory + end
