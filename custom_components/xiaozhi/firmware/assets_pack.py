"""Asset packs: the files in the `assets` partition of a device, and the speech models in one of them.

Source: the firmware's `main/assets.cc` and `scripts/build_default_assets.py`, and ESP-SR's `model_path.c`. A
device trusts the sizes in a pack; here every one is checked, and nothing may overlap or be left over.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
import struct
from typing import Final

from .image import FirmwareError

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
        """Say so; what is wrong with the bytes helps no owner."""
        super().__init__("pack_damaged")


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of a pack."""

    content: bytes = field(repr=False)
    width: int = 0
    height: int = 0


def read_pack(data: bytes) -> dict[str, Asset]:
    """Return the files of a pack, at the start of `data`, in their order. Raises `PackError`."""
    if len(data) < _HEADER.size:
        raise PackError
    number, checksum, length = _HEADER.unpack_from(data)
    body = data[_HEADER.size : _HEADER.size + length]
    position = number * _ENTRY.size
    if len(body) < length or position > length or sum(body) & 0xFFFF != checksum:
        raise PackError
    assets: dict[str, Asset] = {}
    start = position
    for raw, size, offset, width, height in _ENTRY.iter_unpack(body[:position]):
        name, begin, end = _name(raw), start + offset, start + offset + len(_MAGIC) + size
        if name in assets or begin != position or end > length or body[begin : begin + 2] != _MAGIC:
            raise PackError
        assets[name] = Asset(body[begin + len(_MAGIC) : end], width, height)
        position = end
    if position != length:
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
    tables: dict[str, list[tuple[str, int, int]]] = {}
    position = _NUMBER.size
    try:
        for _ in range(_NUMBER.unpack_from(data)[0]):
            raw, number = _MODEL.unpack_from(data, position)
            end = position + _MODEL.size + number * _MODEL_FILE.size
            found = _MODEL_FILE.iter_unpack(data[position + _MODEL.size : end])
            files = [(_name(name), start, length) for name, start, length in found]
            if end > len(data) or (model := _name(raw)) in tables:
                raise PackError
            tables[model] = files
            position = end
    except struct.error as err:
        raise PackError from err
    models: dict[str, dict[str, bytes]] = {}
    for model, files in tables.items():
        models[model] = {}
        for name, start, length in files:
            if start != position or start + length > len(data) or name in models[model]:
                raise PackError
            position = start + length
            models[model][name] = data[start:position]
    if position != len(data):
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
    """Return a name; a device reads on until the zero behind it."""
    name, end, rest = raw.partition(b"\0")
    if not (name and end and name.isascii() and name.decode().isprintable()) or rest.strip(b"\0"):
        raise PackError
    return name.decode()


def _raw(name: str) -> bytes:
    if not name.isascii() or not 0 < len(name) < 32:
        raise PackError
    return name.encode().ljust(32, b"\0")
