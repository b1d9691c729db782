"""The stored state of every device, so that its entities exist before it connects."""

from collections.abc import Collection
import logging
from math import inf
from typing import Any, Final

from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers.storage import Store

from ..const import DOMAIN
from ..timeouts import StoreTimeouts
from .state import STORED, DeviceState

_LOGGER = logging.getLogger(__name__)

_VERSION: Final = 1
# Without its tools, a device has no entities after a crash. The owner is notified of timers that it ended.
# The conversation that it cut off is ended when the device comes back.
_SOON: Final = frozenset({"tools", "timers", "alarms", "session_id"})
# A device that shows once a minute that it is there must not wear out a memory card.
_SAVED_WITH_OTHERS: Final = frozenset({"last_contact"})


class DeviceStore:
    """The states of all devices of a gateway, by MAC."""

    def __init__(self, hass: HomeAssistant, entry_id: str, timeouts: StoreTimeouts | None = None) -> None:
        """Prepare the store of the gateway `entry_id`."""
        self._hass = hass
        self._timeouts = timeouts or StoreTimeouts()
        self._store: Store[dict[str, Any]] = Store(hass, _VERSION, f"{DOMAIN}.{entry_id}", private=True)
        self._states: dict[str, DeviceState] = {}
        self._due: float | None = None
        self._saved = -inf

    async def async_load(self) -> None:
        """Read all states. With a damaged file, the devices report their state again."""
        try:
            stored = dict(await self._store.async_load() or {})
        except Exception:
            # Pairings are in the config entry, so the gateway can start without this file.
            _LOGGER.exception("Stored states are unreadable. They are learned from the devices again")
        else:
            # Mapping their tools to entities takes a while.
            self._states = await self._hass.async_add_executor_job(_read, stored)

    @callback
    def state(self, mac: str) -> DeviceState:
        """Return the state of a device; a new device gets an empty one."""
        return self._states.setdefault(mac, DeviceState())

    @callback
    def replace(self, mac: str, old: DeviceState, new: DeviceState, changed: Collection[str]) -> None:
        """Replace the state of a device, and save it in time for what has `changed`.

        Nothing happens to the state of another device that was paired with this MAC since.
        """
        if self._states.get(mac) is not old:
            return
        self._states[mac] = new
        if due := STORED.intersection(changed) - _SAVED_WITH_OTHERS:
            self.async_schedule_save(soon=bool(due & _SOON))

    @callback
    def async_keep(self, macs: set[str]) -> None:
        """Remove all devices except these."""
        if gone := self._states.keys() - macs:
            for mac in gone:
                del self._states[mac]
            self.async_schedule_save()

    @callback
    def async_schedule_save(self, *, soon: bool = False) -> None:
        """Save in a while, or at once what would be missed after a crash; later changes do not put it off.

        What is to be saved `soon` is written at most once in `StoreTimeouts.soon`.
        """
        now = self._hass.loop.time()
        delay = max(0.0, self._saved + self._timeouts.soon - now) if soon else self._timeouts.change
        due = now + delay
        if self._due is None or due < self._due:
            self._due = due
            self._store.async_delay_save(self._data, delay)

    async def async_save(self) -> None:
        """Save now."""
        await self._store.async_save(self._data())

    async def async_remove(self) -> None:
        """Delete the file."""
        await self._store.async_remove()

    @callback
    def _data(self) -> dict[str, Any]:
        self._due, self._saved = None, self._hass.loop.time()
        return {mac: state.as_dict() for mac, state in self._states.items()}


def _read(stored: dict[str, Any]) -> dict[str, DeviceState]:
    states: dict[str, DeviceState] = {}
    for mac, data in stored.items():
        try:
            states[mac] = DeviceState.from_dict(data)
        except Exception:
            # The other devices keep theirs.
            _LOGGER.exception("The stored state of a device is unreadable. It is learned from it again")
    return states
