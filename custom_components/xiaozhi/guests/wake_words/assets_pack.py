"""Asset packs: the files in the `assets` partition of a device, and the speech models in one of them.

Source: the firmware's `main/assets.cc` and `scripts/build_default_assets.py`, and ESP-SR's `model_path.c`. A
device trusts the numbers in a pack. Here only names and sizes are read: a pack is good if the one that they
make is the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
import struct
from typing import Final

from ..firmware.firmware_image import FirmwareError

_HEADER: Final = struct.Struct("<III")
"""Number of files, checksum, and bytes of all that follows."""
_ENTRY: Final = struct.Struct("<32sIIHH")
"""Name, size, offset, width and height."""
_MAGIC: Final = b"ZZ"
_MODEL: Final = struct.Struct("<32sI")
"""Name, and number of files."""
_MODEL_FILE: Final = struct.Struct("<32sII")
"""Name, start and length."""
_NUMBER: Final = struct.Struct("<I")

type Models = Mapping[str, Mapping[str, bytes]]
"""The files of speech models, by model and name."""


class PackError(FirmwareError):
    """A pack or its models are damaged."""

    def __init__(self) -> None:
        """Give no details: they would not help an owner."""
        super().__init__("pack_damaged")


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of a pack."""

    content: bytes = field(repr=False)
    width: int = 0
    height: int = 0


def read_pack(data: bytes) -> dict[str, Asset]:
    """Return the files of a pack, at the start of `data`, in their order. Raises `PackError`."""
    assets: dict[str, Asset] = {}
    try:
        number, _, length = _HEADER.unpack_from(data)
        position = _HEADER.size + number * _ENTRY.size
        for raw, size, _, width, height in _ENTRY.iter_unpack(data[_HEADER.size : position]):
            start = position + len(_MAGIC)
            position = start + size
            assets[_name(raw)] = Asset(data[start:position], width, height)
    except (struct.error, UnicodeDecodeError) as err:
        raise PackError from err
    if write_pack(assets) != data[: _HEADER.size + length]:
        raise PackError
    return assets


def write_pack(assets: Mapping[str, Asset]) -> bytes:
    """Return a pack of these files. Raises `PackError`."""
    table, offset = bytearray(), 0
    for name, asset in assets.items():
        table += _ENTRY.pack(_raw(name), len(asset.content), offset, asset.width, asset.height)
        offset += len(_MAGIC) + len(asset.content)
    body = bytes(table) + b"".join(_MAGIC + asset.content for asset in assets.values())
    return _HEADER.pack(len(assets), sum(body) & 0xFFFF, len(body)) + body


def read_models(data: bytes) -> dict[str, dict[str, bytes]]:
    """Return the speech models of `srmodels.bin`. Raises `PackError`."""
    tables: list[tuple[str, list[tuple[str, int]]]] = []
    position = _NUMBER.size
    try:
        for _ in range(_NUMBER.unpack_from(data)[0]):
            raw, number = _MODEL.unpack_from(data, position)
            start = position + _MODEL.size
            position = start + number * _MODEL_FILE.size
            files = _MODEL_FILE.iter_unpack(data[start:position])
            tables.append((_name(raw), [(_name(name), length) for name, _, length in files]))
    except (struct.error, UnicodeDecodeError) as err:
        raise PackError from err
    models: dict[str, dict[str, bytes]] = {}
    for model, found in tables:
        models[model] = {}
        for name, length in found:
            models[model][name] = data[position : position + length]
            position += length
    if write_models(models) != data:
        raise PackError
    return models


def write_models(models: Models) -> bytes:
    """Return `srmodels.bin` of these models. Raises `PackError`."""
    entries = sum(_MODEL.size + len(files) * _MODEL_FILE.size for files in models.values())
    start = _NUMBER.size + entries
    table = bytearray(_NUMBER.pack(len(models)))
    for model, files in models.items():
        table += _MODEL.pack(_raw(model), len(files))
        for name, content in files.items():
            table += _MODEL_FILE.pack(_raw(name), start, len(content))
            start += len(content)
    return bytes(table) + b"".join(content for files in models.values() for content in files.values())


def _name(raw: bytes) -> str:
    return raw.rstrip(b"\0").decode("ascii")


def _raw(name: str) -> bytes:
    """Return a name as a device reads it, up to a zero. Raises `PackError` if it cannot."""
    if not (name.isascii() and name.isprintable()) or not 0 < len(name) < 32:
        raise PackError
    return name.encode().ljust(32, b"\0")
