"""The `assets` partition. Source: the firmware's `main/assets.cc` and ESP-SR's `model_path.c`."""

import json
import struct
from typing import Any, Final

ASSETS_PARTITION_BYTES: Final = 8 * 1024 * 1024
_SECTOR: Final = 4096
_HEADER: Final = struct.Struct("<III")
_ENTRY: Final = struct.Struct("<32sII4x")

type Models = dict[str, dict[str, bytes]]


class AssetsPartition:
    """Content of the flash; empty flash is all ones."""

    def __init__(self, content: bytes = b"") -> None:
        """Begin with `content`, which is flashed over a cable."""
        self.content = bytearray(content)
        self._header = b""

    def begin(self) -> None:
        """Begin a download."""
        self._header = b""

    def write(self, offset: int, page: bytes, *, header_last: bool) -> None:
        """Erase the sectors that a page reaches into, and write it; the header later, with `header_last`."""
        end = offset + len(page)
        sectors = -(-end // _SECTOR) * _SECTOR
        if len(self.content) < sectors:
            self.content.extend(b"\xff" * (sectors - len(self.content)))
        first = -(-offset // _SECTOR) * _SECTOR
        self.content[first:sectors] = b"\xff" * (sectors - first)
        if header_last and offset < _HEADER.size:
            kept = min(end, _HEADER.size) - offset
            self._header += page[:kept]
            page, offset = page[kept:], offset + kept
        self.content[offset : offset + len(page)] = page

    def finish(self) -> None:
        """Write the header after everything else."""
        self.content[: len(self._header)] = self._header

    def files(self) -> dict[str, bytes] | None:
        """Return the files, as they are found; None for a pack that is not valid."""
        flash = bytes(self.content)
        if len(flash) < _HEADER.size:
            return None
        number, checksum, length = _HEADER.unpack_from(flash)
        body = flash[_HEADER.size : _HEADER.size + length]
        if length > ASSETS_PARTITION_BYTES - _HEADER.size or sum(body) & 0xFFFF != checksum:
            return None
        files: dict[str, bytes] = {}
        start = number * (_ENTRY.size)
        for raw, size, offset in _ENTRY.iter_unpack(body[:start]):
            if body[start + offset : start + offset + 2] == b"ZZ":
                files[_text(raw)] = body[start + offset + 2 : start + offset + 2 + size]
        return files

    def index(self) -> dict[str, Any] | None:
        """Return the index of a valid pack."""
        content = (self.files() or {}).get("index.json")
        try:
            index = json.loads(content or b"")
        except ValueError:
            return None
        return index if isinstance(index, dict) and index.get("version", 1) <= 1 else None


def read_models(data: bytes) -> Models:
    """Return the files of `srmodels.bin`, by model and name."""
    models: Models = {}
    position = 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        raw, number = struct.unpack_from("<32sI", data, position)
        files = models[_text(raw)] = {}
        position += 36
        for _ in range(number):
            name, start, length = struct.unpack_from("<32sII", data, position)
            files[_text(name)] = data[start : start + length]
            position += 40
    return models


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode(errors="replace")
