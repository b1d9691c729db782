"""Pictures from a device; the last one of each kind is kept on the disk."""

from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import partial
import logging
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.storage import Store
from homeassistant.util import dt as dt_util

from ...const import DOMAIN
from ...device.guest import in_file_name

_LOGGER = logging.getLogger(__name__)


class PictureKind(StrEnum):
    """Where a picture is from."""

    PHOTO = "photo"
    SCREEN = "screen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A JPEG from a device."""

    data: bytes = field(repr=False)
    taken: datetime


# A photo every few seconds must not wear out a memory card.
_DELAY_SECONDS: Final = 60


class PictureFile:
    """One picture, written after a delay and when Home Assistant or the gateway stops."""

    def __init__(self, hass: HomeAssistant, mac: str, kind: PictureKind) -> None:
        self._hass = hass
        key = f"{DOMAIN}.{in_file_name(mac)}_{kind}"
        self._store: Store[dict[str, Any]] = Store(hass, 1, key, private=True, serialize_in_event_loop=False)
        self._picture: Picture | None = None
        """Content of the file, written or not."""
        self._removed = False

    async def async_load(self) -> Picture | None:
        """Return the stored picture; None if there is none, or it is damaged."""
        try:
            if (stored := await self._store.async_load()) is not None:
                self._picture = await self._hass.async_add_executor_job(_picture, stored)
        except Exception:
            # The next picture replaces it.
            _LOGGER.exception("A stored picture is unreadable")
        return self._picture

    @callback
    def keep(self, picture: Picture | None) -> None:
        """Write a picture, if it is another one."""
        if picture is not None and picture is not self._picture and not self._removed:
            self._picture = picture
            self._store.async_delay_save(partial(_as_dict, picture), _DELAY_SECONDS)

    async def async_save(self) -> None:
        """Write now."""
        if self._picture is not None:
            await self._store.async_save(_as_dict(self._picture))

    async def async_remove(self) -> None:
        """Delete the file, for good: its device may still be leaving."""
        self._picture, self._removed = None, True
        await self._store.async_remove()


def _picture(stored: dict[str, Any]) -> Picture:
    taken = dt_util.parse_datetime(stored["taken"], raise_on_error=True)
    return Picture(data=b64decode(stored["jpeg"]), taken=dt_util.as_utc(taken))


def _as_dict(picture: Picture) -> dict[str, str]:
    return {"taken": picture.taken.isoformat(), "jpeg": b64encode(picture.data).decode()}
