"""A file in `.storage` that is never overwritten unread, and whose writes are verified."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
import logging
import shutil
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, CoreState, HomeAssistant, callback
from homeassistant.exceptions import (
    ConfigEntryError,
    ConfigEntryNotReady,
    HomeAssistantError,
    UnsupportedStorageVersionError,
)
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.event import async_call_later
from homeassistant.helpers.json import json_bytes
from homeassistant.helpers.storage import Store
from homeassistant.util import dt as dt_util
from homeassistant.util.json import json_loads

from ..const import DOMAIN
from ..errors import UserError
from ..texts.issues import async_raise_issue
from ..timeouts import StoreTimeouts
from ..util.text import plain_name

_LOGGER = logging.getLogger(__name__)

_VERSION: Final = 1


class SafeStore:
    """One file. Nothing is written until `opened` is set, once the stored content was taken over."""

    def __init__(
        self, hass: HomeAssistant, key: str, data: Callable[[], dict[str, Any]], *, survives_power_cut: bool
    ) -> None:
        """Prepare the file of a key. `data` returns the content to store, as JSON values.

        To survive a power cut, each write waits for the disk.
        """
        self._hass = hass
        self._key = key
        self._data = data
        self._survives_power_cut = survives_power_cut
        self._store = self._new_store()
        self._lock = asyncio.Lock()
        self._stored: object = None
        """Content of the file, once it was read."""
        self._due: CALLBACK_TYPE | None = None
        self._due_at = 0.0
        self.opened = False

    def _new_store(self) -> Store[dict[str, Any]]:
        return Store(self._hass, _VERSION, self._key, private=True, atomic_writes=self._survives_power_cut)

    @property
    def is_stored(self) -> bool:
        """Whether the file has the content that was last to be saved."""
        return self._stored is not None

    async def async_load(self) -> dict[str, Any]:
        """Return the content; empty if there is no file, or a damaged one was set aside.

        Raises `ConfigEntryNotReady` for an error that may pass, `ConfigEntryError` for a newer file.
        """
        try:
            stored: Any = await self._store.async_load()
        except UnsupportedStorageVersionError as err:
            raise ConfigEntryError(translation_domain=DOMAIN, translation_key="storage_newer") from err
        except (HomeAssistantError, OSError) as err:
            raise _not_ready(err) from err
        except Exception:
            _LOGGER.exception("%s is damaged", self._key)
            stored = ()
        if not isinstance(stored, dict | None):
            await self.async_set_aside()
            return {}
        self._stored = stored
        ir.async_delete_issue(self._hass, DOMAIN, f"not_stored_{self._key}")
        return stored or {}

    async def async_set_aside(self) -> None:
        """Keep a copy of the file, and raise an issue that says where. Raises `ConfigEntryNotReady`."""
        self._stored = None
        copy = f"{self._store.path}.damaged.{dt_util.utcnow():%Y%m%dT%H%M%S}"
        try:
            await self._hass.async_add_executor_job(shutil.copy2, self._store.path, copy)
        except FileNotFoundError:
            return
        except OSError as err:
            raise _not_ready(err) from err
        ir.async_create_issue(
            self._hass,
            DOMAIN,
            f"storage_damaged_{self._key}",
            is_fixable=False,
            is_persistent=True,
            severity=ir.IssueSeverity.WARNING,
            translation_key="storage_damaged",
            translation_placeholders={"path": plain_name(copy)},
        )

    async def async_save(self) -> None:
        """Save now. Raises `UserError` if that fails; it is tried again each minute."""
        async with self._lock:
            data = json_loads(json_bytes(self._data()))
            if not self.opened or data == self._stored:
                return
            self._stored = None
            await self._store.async_save(data)  # type: ignore[arg-type]
            if self._hass.state is CoreState.stopping:
                # Home Assistant writes it when all has stopped.
                return
            # Home Assistant only logs what it cannot write.
            with suppress(Exception):
                if await self._new_store().async_load() == data:
                    self._stored = data
        issue = f"not_stored_{self._key}"
        if self.is_stored:
            ir.async_delete_issue(self._hass, DOMAIN, issue)
            return
        async_raise_issue(self._hass, issue, "not_stored", severity=ir.IssueSeverity.ERROR)
        self.save_in(StoreTimeouts.retry)
        raise UserError("not_stored")

    @callback
    def save_in(self, seconds: float) -> None:
        """Schedule a save, unless one is due sooner."""

        async def save(_now: object) -> None:
            self._due = None
            # The owner reads of it, and Home Assistant has logged it.
            with suppress(UserError):
                await self.async_save()

        due_at = self._hass.loop.time() + seconds
        if self.opened and (self._due is None or due_at < self._due_at):
            self.cancel()
            self._due, self._due_at = async_call_later(self._hass, seconds, save), due_at

    @callback
    def delay_save(self, seconds: float) -> None:
        """Schedule an unverified save; later calls with a shorter delay bring it forward."""
        if self.opened:
            self._stored = None
            self._store.async_delay_save(self._data, seconds)

    @callback
    def cancel(self) -> None:
        """Cancel scheduled saves."""
        if self._due is not None:
            self._due()
            self._due = None

    async def async_remove(self) -> None:
        """Delete the file and its repair issues."""
        await self._store.async_remove()
        for issue in ("not_stored", "storage_damaged"):
            ir.async_delete_issue(self._hass, DOMAIN, f"{issue}_{self._key}")


def _not_ready(err: Exception) -> ConfigEntryNotReady:
    return ConfigEntryNotReady(
        translation_domain=DOMAIN,
        translation_key="storage_unreadable",
        translation_placeholders={"error": str(err)},
    )
