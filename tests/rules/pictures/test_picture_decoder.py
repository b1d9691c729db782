"""Pictures for a screen. Of hostile ones, what is expensive is refused unseen, and the rest is cheap."""

from collections.abc import Callable
import io
from pathlib import Path
import random
import struct
from time import process_time
from typing import NamedTuple
import zlib

from hypothesis import given, strategies as st
from PIL import Image
import pytest

from custom_components.xiaozhi.guests.pictures.decoder import (
    CostlyPictureError,
    PictureError,
    check_jpeg,
    fit,
    open_picture,
)

MIB = 1024 * 1024
SCREEN = (320, 240)


class Spent(NamedTuple):
    """The cost of a call: seconds of processor time, and bytes by which the process grew at most."""

    seconds: float
    memory: int


def spent_by(work: Callable[[], object]) -> Spent:
    """Measure a call. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")
    before, begun = status("VmRSS"), process_time()
    work()
    return Spent(process_time() - begun, status("VmHWM") - before)


def status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    """Return a picture in a format that Pillow writes."""
    output = io.BytesIO()
    image.save(output, kind, **options)
    return output.getvalue()


def scan_bomb(width: int, height: int, scans: int) -> bytes:
    """Return a progressive JPEG with many copies of its last scan; each scan covers all pixels."""
    data = encoded(Image.new("L", (width, height), 100), "JPEG", progressive=True)
    last = data.rfind(b"\xff\xda")
    return data[:last] + data[last:-2] * scans + data[-2:]


def png_of(width: int, height: int, *chunks: tuple[bytes, bytes], colour: int = 2) -> bytes:
    """Return a PNG with these chunks, valid or not."""
    header = (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
    parts = [b"\x89PNG\r\n\x1a\n"]
    for name, body in (header, *chunks, (b"IEND", b"")):
        parts += [struct.pack(">I", len(body)), name, body, struct.pack(">I", zlib.crc32(name + body))]
    return b"".join(parts)


def deflated(size: int) -> bytes:
    """Return many zeros, compressed to a thousandth of their size."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    # A part that does not refer to what comes before it can be repeated. Behind it, the end and the checksum.
    part = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    count = size // MIB
    return b"\x78\xda" + part * count + b"\x03\0" + struct.pack(">HH", count * MIB % 65521, 1)


def with_segment(jpeg: bytes, marker: int, body: bytes, times: int = 1) -> bytes:
    """Return a JPEG with additional segments at its start."""
    return jpeg[:2] + (struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body) * times + jpeg[2:]


def directory_bomb(marker: int, name: bytes) -> bytes:
    """Return a JPEG with 5,300 entries that all claim the same 63 kB, which a decoder copies for each."""
    rows = b"".join(struct.pack("<HHII", 0x100 + number, 7, 63000, 8) for number in range(5300))
    tiff = b"II*\0" + struct.pack("<IH", 8, 5300) + rows + bytes(4)
    return with_segment(SMALL, marker, name + tiff)


SMALL = encoded(Image.new("RGB", (64, 64)), "JPEG")
PIXELS = (b"IDAT", zlib.compress(bytes(8 * 25)))
TEXT = deflated(MIB)
TEXTS = [(b"zTXt", b"k%d\0\0" % number + TEXT) for number in range(60)]
REFUSED: dict[str, Callable[[], bytes]] = {
    "a JPEG with thousands of scans": lambda: scan_bomb(1000, 1000, 9000),
    "a progressive JPEG of 59 megapixels": lambda: encoded(
        Image.new("L", (7680, 7680)), "JPEG", progressive=True
    ),
    "a PNG of 60 megapixels": lambda: png_of(7700, 7700, (b"IDAT", deflated(230 * MIB)), colour=6),
    "a WebP that claims 268 megapixels": lambda: (
        b"RIFF\x1a\0\0\0WEBPVP8L\x0e\0\0\0\x2f\xff\xff\xff\x0f" + bytes(9)
    ),
    "a JPEG with a million comments": lambda: with_segment(SMALL, 0xFE, b"", 1_000_000),
    "a JPEG with Exif data in 100,000 parts": lambda: with_segment(SMALL, 0xE1, b"Exif\0\0II", 100_000),
    "a PNG with a million empty chunks of pixels": lambda: (
        png_of(8, 8)[:-12] + struct.pack(">I4sI", 0, b"IDAT", zlib.crc32(b"IDAT")) * 1_000_000
    ),
    "a PNG with a million other chunks": lambda: (
        png_of(8, 8)[:-12] + struct.pack(">I4sI", 0, b"aaAa", zlib.crc32(b"aaAa")) * 1_000_000
    ),
    "a JPEG with millions of empty segments": lambda: with_segment(SMALL, 0xE5, b"", 4_000_000),
    "a JPEG with millions of empty frames": lambda: SMALL[:2] + b"\xff\xd0" * 8_000_000 + SMALL[2:],
    "a JPEG with nothing between its segments": lambda: (
        with_segment(SMALL[:2], 0xE5, b"") + bytes(16_000_000) + SMALL[2:]
    ),
    "a PNG with a gigabyte of colours": lambda: png_of(
        8, 8, (b"iCCP", b"k\0\0" + deflated(1000 * MIB)), PIXELS
    ),
}
SHOWN: dict[str, Callable[[], bytes]] = {
    "a baseline JPEG of 59 megapixels": lambda: encoded(Image.new("RGB", (7680, 7680)), "JPEG"),
    "a JPEG with an Exif bomb": lambda: directory_bomb(0xE1, b"Exif\0\0"),
    "a JPEG with a bomb of pictures": lambda: directory_bomb(0xE2, b"MPF\0"),
    "a PNG with texts of 60 MB": lambda: png_of(8, 8, *TEXTS, PIXELS),
    "a PNG with more data than pixels": lambda: png_of(8, 8, (b"IDAT", deflated(100 * MIB))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_expensive_to_decode_is_refused_without_decoding_it(name: str) -> None:
    data = REFUSED[name]()

    def refuse() -> None:
        for work in (open_picture, check_jpeg):
            with pytest.raises(PictureError):
                work(data)

    spent = spent_by(refuse)
    assert spent.memory < 40 * MIB
    assert spent.seconds < 1


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_expensive_only_if_all_of_it_is_read_is_cheap(name: str) -> None:
    data = SHOWN[name]()
    spent = spent_by(lambda: fit(open_picture(data), SCREEN))
    assert spent.memory < 64 * MIB
    assert spent.seconds < 3


@pytest.mark.parametrize(("mode", "side"), [("RGBA", 3300), ("P", 4400), ("1", 5700)])
def test_the_largest_pictures_that_are_taken_fit_into_the_memory(mode: str, side: int) -> None:
    data = encoded(Image.new(mode, (side, side)), "PNG", compress_level=1)
    assert spent_by(lambda: open_picture(data)).memory < 130 * MIB
    # Refused for what its header says.
    header = data[12:16] + struct.pack(">II", side + 500, side + 500) + data[24:29]
    with pytest.raises(CostlyPictureError):
        open_picture(data[:12] + header + struct.pack(">I", zlib.crc32(header)) + data[33:])


def test_a_photo_is_checked_in_a_part_of_the_memory_of_its_pixels() -> None:
    """They are 57 MiB."""
    data = encoded(Image.new("RGB", (5000, 4000)), "JPEG")
    assert spent_by(lambda: check_jpeg(data)).memory < 32 * MIB


def test_a_progressive_jpeg_is_taken_up_to_what_its_coefficients_need() -> None:
    data = encoded(Image.new("RGB", (4000, 4000)), "JPEG", progressive=True, subsampling=0)
    assert spent_by(lambda: open_picture(data)).memory < 130 * MIB
    # Refused for what the header of its frame says.
    frame = data.index(b"\xff\xc2") + 5
    with pytest.raises(CostlyPictureError):
        open_picture(data[:frame] + struct.pack(">HH", 4400, 4400) + data[frame + 4 :])


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize(("turn", "order"), [*zip(range(1, 9), "<>" * 4, strict=True)])
def test_a_photo_of_a_turned_camera_is_turned_back(turn: int, order: str, kind: str) -> None:
    picture = Image.new("RGB", (40, 20))
    picture.paste((255, 255, 255), (0, 0, 8, 8))
    tiff = {"<": b"II*\0", ">": b"MM\0*"}[order] + struct.pack(
        f"{order}IHHHIHHI", 8, 1, 0x0112, 3, 1, turn, 0, 0
    )
    if kind == "JPEG":
        shown = open_picture(with_segment(encoded(picture, "JPEG"), 0xE1, b"Exif\0\0" + tiff))
    else:
        shown = open_picture(encoded(picture, kind, exif=b"Exif\0\0" * (turn > 4) + tiff))
    assert shown.size == ((40, 20) if turn < 5 else (20, 40))
    right, bottom = shown.width - 4, shown.height - 4
    corner = {1: (4, 4), 2: (right, 4), 3: (right, bottom), 4: (4, bottom)}
    corner |= {5: (4, 4), 6: (right, 4), 7: (right, bottom), 8: (4, bottom)}
    pixel = shown.getpixel(corner[turn])
    assert isinstance(pixel, tuple)
    assert min(pixel) > 200


@pytest.mark.parametrize("tiff", [b"", b"II*\0", b"II*\0\xff\xff\xff\xff", b"II*\0\x08\0\0\0\xff\xff"])
def test_a_photo_with_damaged_exif_data_is_shown_as_it_is(tiff: bytes) -> None:
    assert open_picture(with_segment(SMALL, 0xE1, b"Exif\0\0" + tiff)).size == (64, 64)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_all_kinds_of_pixels_are_shown(kind: str, mode: str) -> None:
    try:
        image = Image.new("I;16", (30, 20), 40000) if mode == "I;16" else Image.new("RGB", (30, 20), "white")
        data = encoded(image if mode == "I;16" else image.convert(mode), kind)
    except OSError, ValueError:
        pytest.skip("there is no such picture")
    shown = Image.open(io.BytesIO(fit(open_picture(data), (60, 60))))
    assert (shown.mode, shown.size) == ("RGB", (60, 40))
    pixel = shown.getpixel((30, 20))
    assert isinstance(pixel, tuple)
    assert min(pixel) > 140


def see_through(mode: str) -> tuple[Image.Image, dict[str, object]]:
    """Return a picture that is transparent but for a black square, as codes to scan are."""
    picture = Image.new("RGBA", (40, 40), (0, 0, 0, 0))
    picture.paste((0, 0, 0, 255), (10, 10, 30, 30))
    if mode in {"RGBA", "LA"}:
        return picture.convert(mode), {}
    # A colour or a shade that stands for it.
    grey = Image.new("L", (40, 40), 9)
    grey.paste(0, (10, 10, 30, 30))
    if mode == "P":
        indexed = grey.convert("P")
        return indexed, {"transparency": indexed.getpixel((0, 0))}
    return grey.convert(mode), {"transparency": (9, 9, 9) if mode == "RGB" else 9}


@pytest.mark.parametrize(
    ("kind", "mode"),
    [*(("PNG", mode) for mode in ("RGBA", "LA", "P", "L", "RGB")), ("WEBP", "RGBA")],
)
def test_what_is_transparent_is_shown_white(kind: str, mode: str) -> None:
    picture, options = see_through(mode)
    shown = open_picture(encoded(picture, kind, lossless=True, **options))
    pixels = [shown.getpixel(at) for at in ((2, 2), (20, 20))]
    assert [min(pixel) > 240 for pixel in pixels if isinstance(pixel, tuple)] == [True, False]


def test_a_transparent_colour_costs_what_is_reckoned() -> None:
    data = encoded(Image.new("P", (2700, 2700)), "PNG", transparency=0)
    assert spent_by(lambda: open_picture(data)).memory < 130 * MIB


@pytest.mark.parametrize(
    ("size", "shown"),
    [((5000, 1), (240, 1)), ((1, 5000), (1, 240)), ((2000, 3), (240, 1)), ((480, 320), (240, 160))],
)
def test_of_a_long_thin_picture_a_line_is_left(size: tuple[int, int], shown: tuple[int, int]) -> None:
    data = encoded(Image.new("RGBA", size, (200, 30, 30, 128)), "PNG")
    assert Image.open(io.BytesIO(fit(open_picture(data), (240, 240)))).size == shown
    small = Image.open(io.BytesIO(fit(open_picture(data), (128, 64), monochrome=True)))
    assert small.mode == "1", "a black and white screen has these colours only"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"BM",
        b"\xff\xd8\xff",
        b"RIFF\0\0\0\0WEBP",
        b"\x89PNG\r\n\x1a\n",
        encoded(Image.new("RGB", (8, 8)), "GIF"),
        encoded(Image.new("RGB", (8, 8)), "BMP"),
        encoded(Image.new("RGB", (8, 8)), "TIFF"),
        png_of(0, 8, (b"IDAT", b"")),
        png_of(8, 8, (b"IHDR", bytes(13)), (b"IDAT", b"")),
        png_of(8, 8, (b"IDAT", b"no data")),
    ],
)
def test_what_is_broken_or_of_another_kind_is_named_so(data: bytes) -> None:
    with pytest.raises(PictureError):
        open_picture(data)
    with pytest.raises(PictureError):
        check_jpeg(data)


COLOURS = Image.linear_gradient("L").resize((33, 21)).convert("RGB")
SEEDS = [
    encoded(COLOURS, "JPEG"),
    encoded(COLOURS.convert("CMYK"), "JPEG", progressive=True, restart_marker_blocks=2),
    encoded(COLOURS.convert("RGBA"), "PNG"),
    encoded(COLOURS.convert("P"), "PNG"),
    encoded(COLOURS, "WEBP"),
    scan_bomb(33, 21, 5),
]


@given(st.sampled_from(SEEDS), st.integers(0, 2**32))
def test_a_changed_picture_raises_nothing_else(data: bytes, seed: int) -> None:
    chance = random.Random(seed)
    changed = bytearray(data[: chance.randrange(len(data) + 1)] if chance.random() < 0.2 else data)
    for _ in range(chance.choice((0, 1, 2, 5)) if changed else 0):
        at = chance.randrange(min(len(changed), chance.choice((40, len(changed)))))
        changed[at : at + 2] = chance.choice((b"\xff\xff", b"\0\0", b"\xff\xda", b"\x7f\xff", b"a"))
    for work in (lambda data: fit(open_picture(data), SCREEN), check_jpeg):
        try:
            work(bytes(changed))
        except PictureError as err:
            str(err).encode()
