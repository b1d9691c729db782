"""Pictures, from devices and for their screens: their cost before they are decoded, and decoding them."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
import random
from typing import Final

from benchmarks.hostile_pictures import HOSTILE, inputs, seeds
from custom_components.xiaozhi.pictures.cost import PictureError, picture_cost
from custom_components.xiaozhi.pictures.jpeg import Screen, check_jpeg, fit, open_picture

from .target import Outcome

__all__ = ["picture_costs", "pictures"]

# Creating such a picture takes more memory than reading one may.
_LARGE: Final = "a progressive JPEG of 59 megapixels"
_SCREENS: Final = (Screen(48, 48, monochrome=False), Screen(48, 48, monochrome=True))


class _Pictures:
    """Gives each picture to some readers."""

    def __init__(self, chance: random.Random, *readers: Callable[[bytes], object]) -> None:
        self.outcome = Outcome()
        self._chance = chance
        self._readers = readers

    def inputs(self) -> Iterator[bytes]:
        """Yield some valid ones, all expensive ones, then small ones, most of them malformed."""
        yield from seeds()[:4]
        yield from (make() for name, make in HOSTILE.items() if name != _LARGE)
        yield from inputs(self._chance)

    async def take(self, data: bytes) -> None:
        """Read it."""
        for read in self._readers:
            try:
                read(data)
            except PictureError as err:
                str(err).encode()
                self.outcome.refused += 1
            else:
                self.outcome.taken += 1


@asynccontextmanager
async def picture_costs(chance: random.Random) -> AsyncIterator[_Pictures]:
    """Look at pictures without decoding them."""
    yield _Pictures(chance, picture_cost)


@asynccontextmanager
async def pictures(chance: random.Random) -> AsyncIterator[_Pictures]:
    """Decode pictures as photos of a device, and for screens."""
    yield _Pictures(chance, check_jpeg, _show)


def _show(data: bytes) -> None:
    image = open_picture(data)
    for screen in _SCREENS:
        if not fit(image, screen).startswith(b"\x89PNG"):
            raise AssertionError("no PNG was made")
