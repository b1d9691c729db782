"""Hostile pictures: what is expensive is refused unseen, the rest is cheap, and nothing else is raised."""

import io
import random
import struct
import zlib

from hypothesis import given, strategies as st
from PIL import Image
import pytest

from benchmarks.hostile_pictures import (
    HARMLESS,
    HOSTILE,
    PictureTarget,
    encoded,
    inputs,
    png_of,
    scan_bomb,
    seeds,
    spent_by,
    with_segment,
)
from custom_components.xiaozhi.pictures.cost import (
    CostlyPictureError,
    DamagedPictureError,
    PictureError,
    picture_cost,
)
from custom_components.xiaozhi.pictures.jpeg import Screen, check_jpeg, fit, open_picture

MIB = 1024 * 1024
SCREEN = Screen(320, 240, monochrome=False)


def refused(data: bytes) -> None:
    with pytest.raises((CostlyPictureError, DamagedPictureError)):
        open_picture(data)


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_expensive_to_decode_is_refused_without_decoding_it(name: str) -> None:
    data = HOSTILE[name]()
    spent = spent_by(lambda: refused(data))
    assert spent.memory < 40 * MIB
    assert spent.seconds < 1
    with pytest.raises(PictureError):
        check_jpeg(data)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_is_expensive_only_if_all_of_it_is_read_is_cheap(name: str) -> None:
    data = HARMLESS[name]()
    spent = spent_by(lambda: fit(open_picture(data), SCREEN))
    assert spent.memory < 64 * MIB
    assert spent.seconds < 3


@pytest.mark.parametrize(
    ("mode", "side"), [("RGBA", 3300), ("RGB", 4400), ("P", 4400), ("1", 5700), ("L", 5700)]
)
def test_the_largest_pictures_that_are_taken_fit_into_the_memory(mode: str, side: int) -> None:
    data = encoded(Image.new(mode, (side, side)), "PNG", compress_level=1)
    assert spent_by(lambda: open_picture(data)).memory < 130 * MIB
    # Refused for what its header says.
    header = data[12:16] + struct.pack(">II", side + 500, side + 500) + data[24:29]
    with pytest.raises(CostlyPictureError):
        open_picture(data[:12] + header + struct.pack(">I", zlib.crc32(header)) + data[33:])


def test_a_photo_of_a_device_is_checked_in_a_part_of_the_memory_that_its_pixels_need() -> None:
    """They are 57 MiB."""
    data = encoded(Image.new("RGB", (5000, 4000)), "JPEG")
    assert spent_by(lambda: check_jpeg(data)).memory < 32 * MIB


@pytest.mark.parametrize(("subsampling", "side"), [(0, 4000), (2, 5700)])
def test_a_progressive_jpeg_is_taken_up_to_what_its_coefficients_need(subsampling: int, side: int) -> None:
    data = encoded(Image.new("RGB", (side, side)), "JPEG", progressive=True, subsampling=subsampling)
    assert spent_by(lambda: open_picture(data)).memory < 130 * MIB
    # Refused for what the header of its frame says.
    frame = data.index(b"\xff\xc2") + 5
    with pytest.raises(CostlyPictureError):
        open_picture(data[:frame] + struct.pack(">HH", side + 400, side + 400) + data[frame + 4 :])


def test_scans_count_that_hide_behind_reserved_markers_and_restarts() -> None:
    hidden = scan_bomb(64, 64, 5).replace(b"\xff\xda", b"\xff\x02\xff\xff\xff\xda")
    assert picture_cost(scan_bomb(64, 64, 5)).scans == 10
    with pytest.raises(DamagedPictureError):
        picture_cost(hidden)
    data = scan_bomb(64, 64, 5)
    first = data.index(b"\xff\xda") + 4
    assert (
        picture_cost(data[:first] + data[first:].replace(b"\xff\xda", b"\xff\x02\xff\xff\xff\xda")).scans
        == 10
    )


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("order", ["<", ">"])
def test_a_photo_of_a_turned_camera_is_turned_back(turn: int, order: str) -> None:
    picture = Image.new("RGB", (40, 20))
    picture.paste((255, 255, 255), (0, 0, 8, 8))
    tiff = {"<": b"II*\0", ">": b"MM\0*"}[order] + struct.pack(
        f"{order}IHHHIHHI", 8, 1, 0x0112, 3, 1, turn, 0, 0
    )
    shown = open_picture(with_segment(encoded(picture, "JPEG"), 0xE1, b"Exif\0\0" + tiff))
    assert shown.size == ((40, 20) if turn < 5 else (20, 40))
    right, bottom = shown.width - 4, shown.height - 4
    corner = {1: (4, 4), 2: (right, 4), 3: (right, bottom), 4: (4, bottom)}
    corner |= {5: (4, 4), 6: (right, 4), 7: (right, bottom), 8: (4, bottom)}
    pixel = shown.getpixel(corner[turn])
    assert isinstance(pixel, tuple)
    assert min(pixel) > 200


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "WEBP", "BMP"])
@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_all_kinds_of_pixels_are_shown(kind: str, mode: str) -> None:
    try:
        image = Image.new("I;16", (30, 20), 40000) if mode == "I;16" else Image.new("RGB", (30, 20), "white")
        data = encoded(image if mode == "I;16" else image.convert(mode), kind)
    except OSError, ValueError:
        pytest.skip("there is no such picture")
    shown = Image.open(io.BytesIO(fit(open_picture(data), Screen(60, 60, monochrome=False))))
    assert (shown.mode, shown.size) == ("RGB", (60, 40))
    pixel = shown.getpixel((30, 20))
    assert isinstance(pixel, tuple)
    assert min(pixel) > 140


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"BM",
        b"\xff\xd8\xff",
        b"GIF89a",
        b"RIFF\0\0\0\0WEBP",
        b"\x89PNG\r\n\x1a\n",
        png_of(0, 8, (b"IDAT", b"")),
        png_of(8, 8, (b"IHDR", bytes(13)), (b"IDAT", b"")),
        png_of(8, 8, (b"IDAT", b"no data")),
    ],
)
def test_what_is_broken_is_named_so(data: bytes) -> None:
    with pytest.raises(PictureError):
        open_picture(data)


@given(st.sampled_from(seeds()), st.data())
def test_a_part_of_a_picture_raises_nothing_else(data: bytes, draw: st.DataObject) -> None:
    PictureTarget().take(data[: draw.draw(st.integers(0, len(data)))])


@given(st.integers(0, 2**32))
def test_a_changed_picture_raises_nothing_else_and_costs_little(seed: int) -> None:
    target = PictureTarget()
    for data, _ in zip(inputs(random.Random(seed)), range(3), strict=False):
        target.take(data)


@given(
    st.sampled_from([b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"RIFF\0\0\0\0WEBP", b"BM", b""]),
    st.binary(max_size=400),
)
def test_any_bytes_raise_nothing_else(start: bytes, rest: bytes) -> None:
    PictureTarget().take(start + rest)
