"""A picture from a device."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class PictureKind(StrEnum):
    """Where a picture is from."""

    PHOTO = "photo"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A JPEG from a device."""

    data: bytes = field(repr=False)
    taken: datetime
