"""Pictures, from devices and for their screens."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
import io
import random
from typing import Final

from PIL import Image

from benchmarks.hostile_pictures import seeds
from custom_components.xiaozhi.picture_cost import PictureError
from custom_components.xiaozhi.pictures import Screen, check_jpeg, fit, open_picture

from .inputs import mutated
from .target import Outcome

__all__ = ["pictures"]

_SIZE: Final = (40, 24)
_SCREEN: Final = (48, 48)
_FORMATS: Final[tuple[tuple[str, str, dict[str, object]], ...]] = (
    ("JPEG", "RGB", {}),
    ("JPEG", "RGB", {"progressive": True}),
    ("JPEG", "L", {}),
    ("JPEG", "CMYK", {}),
    ("PNG", "RGB", {}),
    ("PNG", "RGBA", {}),
    ("PNG", "P", {}),
    ("PNG", "I;16", {}),
    ("GIF", "P", {}),
    ("BMP", "RGB", {}),
    ("WEBP", "RGB", {}),
    ("WEBP", "RGBA", {"lossless": True}),
)


class _Pictures:
    """Decodes each picture as the gateway does."""

    def __init__(self, chance: random.Random) -> None:
        self.outcome = Outcome()
        self._chance = chance
        self._fate = random.Random(0)
        self._seeds = [*(_picture(chance, *form) for form in _FORMATS), *seeds()]

    def inputs(self) -> Iterator[bytes]:
        """Yield pictures; most have faults."""
        while True:
            yield mutated(self._chance, self._chance.choice(self._seeds))

    async def take(self, data: bytes) -> None:
        """Take it as a photo of a device, and for its screen."""
        for read in (check_jpeg, self._show):
            try:
                read(data)
            except PictureError as err:
                str(err).encode()
                self.outcome.refused += 1
            else:
                self.outcome.taken += 1

    def _show(self, data: bytes) -> None:
        shown = fit(open_picture(data), Screen(*_SCREEN, monochrome=self._fate.random() < 0.1))
        if not shown.startswith(b"\x89PNG"):
            raise AssertionError("no PNG was made")


@asynccontextmanager
async def pictures(chance: random.Random) -> AsyncIterator[_Pictures]:
    """Decode pictures."""
    yield _Pictures(chance)


def _picture(chance: random.Random, form: str, mode: str, options: dict[str, object]) -> bytes:
    image = Image.frombytes("RGB", _SIZE, chance.randbytes(3 * _SIZE[0] * _SIZE[1]))
    image = image.convert("L").convert(mode) if mode == "I;16" else image.convert(mode)
    buffer = io.BytesIO()
    image.save(buffer, form, **options)
    return buffer.getvalue()
