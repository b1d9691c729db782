"""Asset packs and the speech models in them: what is written is read again, and nothing else is taken."""

from collections.abc import Callable
from contextlib import suppress
import random
import struct

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.guests.wake_words.assets_pack import (
    Asset,
    PackError,
    read_models,
    read_pack,
    write_models,
    write_pack,
)
from tests.protocol.growth import assert_linear

_NAMES = st.text("abcdefghijklmnopqrstuvwxyz_.0123456789", min_size=1, max_size=31)
_FILES = st.dictionaries(_NAMES, st.binary(max_size=64), max_size=5)

# By hand, from the table in the firmware's `build_default_assets.py`.
_BODY = b"".join(
    (
        struct.pack("<32sIIHH", b"index.json", 2, 0, 0, 0),
        struct.pack("<32sIIHH", b"fire.png", 3, 4, 32, 16),
        b"ZZ{}",
        b"ZZpng",
    )
)
PACK = struct.pack("<III", 2, sum(_BODY) & 0xFFFF, len(_BODY)) + _BODY
MODELS = (
    struct.pack("<I32sI", 2, b"wn9_a", 2)
    + struct.pack("<32sII", b"wn9_data", 196, 3)
    + struct.pack("<32sII", b"wn9_index", 199, 1)
    + struct.pack("<32sI32sII", b"fst", 1, b"commands_en.txt", 200, 2)
    + b"abcdef"
)


def repaired(body: bytes, number: int = 2) -> bytes:
    """Return a pack with the right checksum and length."""
    return struct.pack("<III", number, sum(body) & 0xFFFF, len(body)) + body


def with_field(data: bytes, position: int, value: int, form: str = "<I") -> bytes:
    size = struct.calcsize(form)
    return data[:position] + struct.pack(form, value) + data[position + size :]


def test_a_pack_is_read_and_written() -> None:
    """Also from a partition, where erased flash follows."""
    assets = {"index.json": Asset(b"{}"), "fire.png": Asset(b"png", 32, 16)}
    assert read_pack(PACK) == read_pack(PACK + b"\xff" * 100) == assets
    assert write_pack(assets) == PACK
    models = {"wn9_a": {"wn9_data": b"abc", "wn9_index": b"d"}, "fst": {"commands_en.txt": b"ef"}}
    assert read_models(MODELS) == models
    assert write_models(models) == MODELS


@given(_FILES, st.dictionaries(_NAMES, _FILES, max_size=3))
def test_every_pack_comes_back(files: dict[str, bytes], models: dict[str, dict[str, bytes]]) -> None:
    assets = {name: Asset(content) for name, content in files.items()}
    assert read_pack(write_pack(assets)) == assets
    assert read_models(write_models(models)) == models


@pytest.mark.parametrize(
    "data",
    [
        b"",
        PACK[:-1],
        with_field(PACK, 4, 0),
        with_field(PACK, 8, 0xFFFFFFFF),
        with_field(PACK, 0, 0xFFFFFFFF),
        repaired(_BODY, 1),
        repaired(with_field(_BODY, 32, 0xFFFFFFFF)),
        repaired(with_field(_BODY, 36, 1)),
        repaired(with_field(_BODY, 44 + 36, 0)),
        repaired(with_field(_BODY, 44 + 32, 4)),
        repaired(with_field(_BODY, 88, 0, "<H")),
        repaired(_BODY + b"more"),
        repaired(_BODY[:44] + _BODY[:32] + _BODY[76:]),
        repaired(b"x" * 32 + _BODY[32:]),
        repaired(b"\0" * 32 + _BODY[32:]),
        repaired(b"index.json\0rest".ljust(32, b"\0") + _BODY[32:]),
        repaired("名".encode().ljust(32, b"\0") + _BODY[32:]),
        repaired(b"a\nb".ljust(32, b"\0") + _BODY[32:]),
    ],
)
def test_a_damaged_pack_is_refused(data: bytes) -> None:
    with pytest.raises(PackError):
        read_pack(data)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        MODELS[:-1],
        MODELS + b"g",
        with_field(MODELS, 0, 0xFFFFFFFF),
        with_field(MODELS, 0, 1),
        with_field(MODELS, 36, 0xFFFFFFFF),
        with_field(MODELS, 40 + 36, 0xFFFFFFFF),
        with_field(MODELS, 80 + 32, 196),
        MODELS[:120] + b"wn9_a".ljust(32, b"\0") + MODELS[152:],
        MODELS[:80] + b"wn9_data".ljust(32, b"\0") + MODELS[112:],
    ],
)
def test_damaged_models_are_refused(data: bytes) -> None:
    with pytest.raises(PackError):
        read_models(data)


@given(st.randoms(use_true_random=False), st.sampled_from([(PACK, read_pack), (MODELS, read_models)]))
def test_any_bytes_are_read_or_refused(
    rand: random.Random, case: tuple[bytes, Callable[[bytes], object]]
) -> None:
    """Whatever is changed, nothing else is raised."""
    data, read = case
    changed = bytearray(data)
    for _ in range(rand.randint(1, 4)):
        changed[rand.randrange(len(changed))] = rand.randrange(256)
    with suppress(PackError):
        read(bytes(changed))
        # The same with the checksum mended.
        read_pack(repaired(bytes(changed[12:])))


@pytest.mark.parametrize("name", ["", "a" * 32, "名"])
def test_a_name_that_a_device_cannot_hold_is_not_written(name: str) -> None:
    with pytest.raises(PackError):
        write_pack({name: Asset(b"")})


def test_reading_takes_linear_time() -> None:
    def pack(size: int) -> bytes:
        return write_pack({f"f{number}": Asset(b"") for number in range(size)})

    def models(size: int) -> bytes:
        return write_models({f"m{number}": {"data": b"x"} for number in range(size)})

    assert_linear(read_pack, pack, size=200)
    assert_linear(read_models, models, size=200)
