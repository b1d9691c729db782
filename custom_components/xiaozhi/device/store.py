"""The last known state of every device, stored, so that its entities exist before it connects."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
import logging
from math import inf
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.helpers.storage import Store

from ..const import DOMAIN
from ..protocol.tasks import LogAndGoOn
from ..timeouts import StoreTimeouts
from .state import STORED, DeviceState, changed_keys

_LOGGER = logging.getLogger(__name__)

_VERSION: Final = 1
# Without its tools, a device has no entities after a crash. The owner is notified of timers that it ended.
# The conversation that it cut off is ended when the device comes back.
_SOON: Final = frozenset({"tools", "timers", "alarms", "session_id"})
# A device that shows once a minute that it is there must not wear out a memory card.
_SAVED_WITH_OTHERS: Final = frozenset({"last_contact"})

type Listener = Callable[[], None]


class DeviceRecord:
    """The last known state of one device: saved in time, with listeners that are called when it changes."""

    def __init__(self, mac: str, state: DeviceState, store: DeviceStore) -> None:
        self.mac = mac
        self._state = state
        self._store = store
        self._listeners: list[tuple[tuple[str, ...], Listener]] = []
        self._go_on = LogAndGoOn(_LOGGER, "A change of a device could not be shown")

    @property
    def state(self) -> DeviceState:
        """The last known state."""
        return self._state

    @callback
    def set_state(self, state: DeviceState) -> None:
        """Take a new state, save it in time, and call the listeners that follow what has changed."""
        old, self._state = self._state, state
        changed = set(changed_keys(old, state))
        self._store.changed(changed)
        self.notify(*changed)

    @callback
    def update(self, **fields: Any) -> None:
        """Change fields of the state."""
        self.set_state(replace(self._state, **fields))

    @callback
    def listen(self, keys: Iterable[str], listener: Listener) -> CALLBACK_TYPE:
        """Call `listener` whenever something with one of these keys has changed; see `state.py`.

        Returns a function that ends this.
        """
        # A tuple of a class is shared by all devices; a set would be one each.
        registration = tuple(keys), listener
        self._listeners.append(registration)
        return lambda: self._listeners.remove(registration)

    @callback
    def notify(self, *keys: str) -> None:
        """Call once each listener that follows one of these keys."""
        changed = set(keys)
        for followed, listener in tuple(self._listeners):
            if changed.isdisjoint(followed):
                continue
            # A failure must affect neither the other listeners nor the source of the change.
            with self._go_on:
                listener()

    async def async_save(self) -> None:
        """Save the state now."""
        await self._store.async_save()


class DeviceStore:
    """The records of all devices of a gateway, by MAC."""

    def __init__(
        self, hass: HomeAssistant, entry_id: str, read_alarm: Callable[[Any], Any] = lambda stored: stored
    ) -> None:
        """Prepare the store of the gateway `entry_id`; `read_alarm` returns None for what is damaged."""
        self._read_alarm = read_alarm
        self._hass = hass
        self._store: Store[dict[str, Any]] = Store(hass, _VERSION, f"{DOMAIN}.{entry_id}", private=True)
        self._records: dict[str, DeviceRecord] = {}
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
            states = await self._hass.async_add_executor_job(_read, stored, self._read_alarm)
            self._records = {mac: DeviceRecord(mac, state, self) for mac, state in states.items()}

    @callback
    def record(self, mac: str, board: str | None = None) -> DeviceRecord:
        """Return the record of a device; that of a new one holds the build variant only."""
        return self._records.setdefault(mac, DeviceRecord(mac, DeviceState(board=board), self))

    @callback
    def changed(self, keys: Collection[str]) -> None:
        """Save in time a record in which something with these keys has changed."""
        if due := STORED.intersection(keys) - _SAVED_WITH_OTHERS:
            self._schedule_save(soon=bool(due & _SOON))

    @callback
    def async_keep(self, macs: set[str]) -> None:
        """Remove all devices except these."""
        if gone := self._records.keys() - macs:
            for mac in gone:
                del self._records[mac]
            self._schedule_save()

    @callback
    def _schedule_save(self, *, soon: bool = False) -> None:
        """Save in a while, or at once what would be missed after a crash; later changes do not put it off.

        What is to be saved `soon` is written at most once in `StoreTimeouts.soon`.
        """
        now = self._hass.loop.time()
        delay = max(0.0, self._saved + StoreTimeouts.soon - now) if soon else StoreTimeouts.change
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
        return {mac: record.state.as_dict() for mac, record in self._records.items()}


def _read(stored: dict[str, Any], read_alarm: Callable[[Any], Any]) -> dict[str, DeviceState]:
    states: dict[str, DeviceState] = {}
    for mac, data in stored.items():
        try:
            states[mac] = DeviceState.from_dict(data, read_alarm)
        except Exception:
            # The other devices keep theirs.
            _LOGGER.exception("The stored state of a device is unreadable. It is learned from it again")
    return states
