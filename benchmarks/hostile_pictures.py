"""Small files that are expensive to decode, and garbage that looks like pictures.

`HOSTILE` makes them; `inputs` and `PictureTarget` are for `benchmarks.fuzz`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
import io
from pathlib import Path
import random
import resource
import struct
from time import process_time
from typing import Final
import zlib

from PIL import Image

from custom_components.xiaozhi.pictures.cost import PictureError
from custom_components.xiaozhi.pictures.jpeg import Screen, check_jpeg, fit, open_picture

__all__ = ["HARMLESS", "HOSTILE", "PictureTarget", "Spent", "inputs", "spent_by"]

_SCREEN: Final = Screen(64, 48, monochrome=False)
_MIB: Final = 1024 * 1024


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
    part = packer.compress(bytes(_MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    count = size // _MIB
    return b"\x78\xda" + part * count + b"\x03\0" + struct.pack(">HH", count * _MIB % 65521, 1)


def with_segment(jpeg: bytes, marker: int, body: bytes) -> bytes:
    """Return a JPEG with an additional segment at its start."""
    return jpeg[:2] + struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body + jpeg[2:]


def exif_bomb(entries: int, size: int) -> bytes:
    """Return a JPEG whose Exif entries all claim the same bytes; a decoder copies them for each."""
    rows = b"".join(struct.pack("<HHII", 0x100 + number, 7, size, 8) for number in range(entries))
    tiff = b"II*\0" + struct.pack("<IH", 8, entries) + rows + bytes(4)
    return with_segment(encoded(Image.new("RGB", (64, 64)), "JPEG"), 0xE1, b"Exif\0\0" + tiff)


def comment_bomb(blocks: int) -> bytes:
    """Return a GIF with a comment in blocks of a byte each; Pillow copies all that it has for each."""
    still = encoded(Image.new("P", (8, 8)), "GIF")
    table = 13 + (3 << ((still[10] & 7) + 1) if still[10] & 0x80 else 0)
    return still[:table] + b"!\xfe" + b"\x01a" * blocks + b"\0" + still[table:]


HOSTILE: Final[dict[str, Callable[[], bytes]]] = {
    "a JPEG with thousands of scans": lambda: scan_bomb(1000, 1000, 9000),
    "a large JPEG with hundreds of scans": lambda: scan_bomb(4000, 4000, 500),
    "a progressive JPEG of 59 megapixels": lambda: encoded(
        Image.new("RGB", (7680, 7680)), "JPEG", progressive=True
    ),
    "a PNG of 60 megapixels": lambda: png_of(7700, 7700, (b"IDAT", deflated(230 * _MIB)), colour=6),
    "a GIF with a comment of a million blocks": lambda: comment_bomb(1_000_000),
    "a WebP that claims 268 megapixels": lambda: (
        b"RIFF\x1a\0\0\0WEBPVP8L\x0e\0\0\0\x2f\xff\xff\xff\x0f" + bytes(9)
    ),
    "a JPEG with a million empty segments": lambda: b"\xff\xd8" + b"\xff\xfe\0\2" * 1_000_000 + b"\xff\xd9",
    "a PNG with a million empty chunks": lambda: (
        png_of(8, 8)[:-12] + (struct.pack(">I4sI", 0, b"IDAT", zlib.crc32(b"IDAT")) * 1_000_000)
    ),
    "a BMP that claims 60 megapixels": lambda: (
        b"BM" + struct.pack("<IIIIiiHHIIiiII", 54, 0, 54, 40, 7700, 7700, 1, 32, 0, 0, 0, 0, 0, 0)
    ),
}
"""Pictures that are refused before anything is decoded."""

HARMLESS: Final[dict[str, Callable[[], bytes]]] = {
    "a baseline JPEG of 59 megapixels": lambda: encoded(Image.new("RGB", (7680, 7680)), "JPEG"),
    "a JPEG with an Exif bomb": lambda: exif_bomb(5300, 63000),
    "a PNG with texts of 60 MB": lambda: png_of(
        8,
        8,
        *((b"zTXt", b"k%d\0\0" % number + deflated(_MIB)) for number in range(60)),
        (b"IDAT", zlib.compress(bytes(8 * 25))),
    ),
    "a PNG with more data than pixels": lambda: png_of(8, 8, (b"IDAT", deflated(100 * _MIB))),
    "an animation of a thousand frames": lambda: encoded(
        Image.new("P", (64, 64)),
        "GIF",
        save_all=True,
        append_images=[Image.new("P", (64, 64), number % 250) for number in range(1000)],
    ),
}
"""Pictures that are dangerous to other decoders, and are shown."""


@dataclass(frozen=True, slots=True)
class Spent:
    """The cost of a call."""

    seconds: float
    """Processor time."""
    memory: int
    """Bytes by which the process grew at most."""


def spent_by(work: Callable[[], object]) -> Spent:
    """Measure a call. Linux only."""
    Path("/proc/self/clear_refs").write_text("5")
    before, begun = _status("VmRSS"), process_time()
    work()
    return Spent(process_time() - begun, _status("VmHWM") - before)


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) * 1024


class PictureTarget:
    """Decodes pictures for a screen and as photos; raises `AssertionError` when one costs too much."""

    MAX_SECONDS: Final = 3
    """Processor time for one picture."""
    MAX_MEMORY: Final = 192 * _MIB
    """Bytes by which the process may grow."""

    def __init__(self) -> None:
        """Measure the memory that is in use already."""
        self.taken = self.refused = 0
        self._before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def take(self, data: bytes) -> None:
        """Decode an input in both ways."""
        begun = process_time()
        for work in (lambda: fit(open_picture(data), _SCREEN), lambda: check_jpeg(data)):
            try:
                work()
                self.taken += 1
            except PictureError:
                self.refused += 1
        if (seconds := process_time() - begun) > self.MAX_SECONDS:
            raise AssertionError(f"a picture took {seconds:.1f} s")
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._before) * 1024
        if grown > self.MAX_MEMORY:
            raise AssertionError(f"a picture took {grown // _MIB} MiB")


@cache
def seeds() -> tuple[bytes, ...]:
    """Return small pictures of all kinds."""
    colours = Image.linear_gradient("L").resize((33, 21)).convert("RGB")
    kinds = [
        ("JPEG", "RGB", {}),
        ("JPEG", "L", {"progressive": True}),
        ("JPEG", "CMYK", {"progressive": True, "restart_marker_blocks": 2}),
        ("PNG", "RGBA", {}),
        ("PNG", "P", {}),
        ("PNG", "1", {}),
        ("GIF", "P", {}),
        ("WEBP", "RGB", {}),
        ("WEBP", "RGBA", {"lossless": True}),
        ("BMP", "RGB", {}),
        ("BMP", "P", {}),
    ]
    made = [encoded(colours.convert(mode), kind, **options) for kind, mode, options in kinds]
    return (*made, exif_bomb(3, 20), comment_bomb(9), scan_bomb(33, 21, 5))


def inputs(chance: random.Random) -> Iterator[bytes]:
    """Yield pictures with changed bytes, also of sizes and lengths, and with ends that are missing."""
    files = seeds()
    while True:
        data = bytearray(chance.choice(files))
        for _ in range(chance.choice((0, 1, 1, 2, 5))):
            at = chance.randrange(min(len(data), chance.choice((40, len(data)))))
            match chance.randrange(4):
                case 0:
                    data[at] = chance.randrange(256)
                case 1:
                    data[at : at + 2] = chance.choice((b"\xff\xff", b"\x00\x00", b"\xff\xda", b"\x7f\xff"))
                case 2:
                    other = chance.choice(files)
                    data[at:at] = other[: chance.randrange(len(other))]
                case _:
                    del data[at : at + chance.randrange(1, 20)]
            if not data:
                break
        yield bytes(data[: chance.randrange(len(data) + 1)] if chance.random() < 0.1 else data)
