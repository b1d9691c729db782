"""Which pairings are on the disk. A device must not get a token that a restart would forget."""

import asyncio
from collections.abc import Mapping
import logging
from typing import Any, Final

from homeassistant.config_entries import (
    SAVE_DELAY,
    STORAGE_KEY,
    STORAGE_VERSION,
    STORAGE_VERSION_MINOR,
    ConfigEntry,
)
from homeassistant.const import CONF_TOKEN
from homeassistant.core import HomeAssistant
from homeassistant.helpers.storage import Store
from homeassistant.util import dt as dt_util

from ..device.device import Device
from ..settings import device_subentries

_LOGGER = logging.getLogger(__name__)

# Home Assistant writes a changed entry after `SAVE_DELAY`.
_SAVED_SECONDS: Final = SAVE_DELAY + 0.5


class SavedPairings:
    """The pairings of a gateway that are on the disk."""

    def __init__(self, hass: HomeAssistant, entry: ConfigEntry[Any]) -> None:
        """Begin with those that are there when the gateway starts."""
        self._hass = hass
        self._entry = entry
        self._tokens = {
            mac: subentry.data.get(CONF_TOKEN) for mac, subentry in device_subentries(entry).items()
        }

    async def has(self, device: Device) -> bool:
        """Whether the disk has the pairing of a device. After a change, wait until it was written."""
        if self._tokens.get(device.mac) == device.settings.token:
            return True
        since = (dt_util.utcnow() - self._entry.modified_at).total_seconds()
        await asyncio.sleep(min(max(0.0, _SAVED_SECONDS - since), _SAVED_SECONDS))
        self._tokens |= await self._read()
        if self._tokens.get(device.mac) == device.settings.token:
            return True
        _LOGGER.warning("The pairing of %s could not be saved, so the device has to wait", device.name)
        return False

    async def _read(self) -> dict[str, Any]:
        """Return the tokens on the disk, by MAC."""
        store = Store[dict[str, Any]](
            self._hass, STORAGE_VERSION, STORAGE_KEY, minor_version=STORAGE_VERSION_MINOR
        )
        stored: Mapping[str, Any] = await store.async_load() or {}
        return {
            subentry["unique_id"]: subentry["data"].get(CONF_TOKEN)
            for entry in stored.get("entries", ())
            if entry["entry_id"] == self._entry.entry_id
            for subentry in entry["subentries"]
        }
