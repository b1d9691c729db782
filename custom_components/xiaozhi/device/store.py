"""The last known state of every device, stored, so that its entities exist before it connects.

The fields that its owner has set are in a file of their own, which versions before 0.6.0 leave alone.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import replace
import logging
from math import inf
from typing import Any, Final

from homeassistant.core import CALLBACK_TYPE, HomeAssistant, callback
from homeassistant.util.ulid import ulid_now
import voluptuous as vol

from ..const import DOMAIN
from ..errors import UserError
from ..timeouts import StoreTimeouts
from ..util.event_loop import LogAndGoOn
from .owned import Owned, OwnedValue
from .safe_store import SafeStore
from .state import OWNED, OWNED_FIELDS, STORED, DeviceState, changed_keys

_LOGGER = logging.getLogger(__name__)

# Without its tools, a device has no entities after a crash. The conversation that it cut off is ended when
# the device comes back.
_SOON: Final = frozenset({"tools", "session_id"})

_CHECKED: Final = "checked"


class DeviceRecord:
    """The last known state of one device: saved in time, with listeners that are called when it changes."""

    def __init__(self, mac: str, state: DeviceState, store: DeviceStore) -> None:
        self.mac = mac
        self._state = replace(state, owned={key: kind.of(state) for key, kind in store.owned.items()})
        self._store = store
        self._listeners: list[tuple[tuple[str, ...], Callable[[], None]]] = []
        self._go_on = LogAndGoOn(_LOGGER, "A change of a device could not be shown")

    @property
    def short_mac(self) -> str:
        """The end of the MAC, for the log."""
        return self.mac[-5:]

    @property
    def state(self) -> DeviceState:
        """The last known state."""
        return self._state

    @callback
    def set_state(self, state: DeviceState) -> None:
        """Take a new state, schedule a save, and call the listeners that follow the changes."""
        old, self._state = self._state, state
        changed = set(changed_keys(old, state))
        self._store.changed(changed)
        self.notify(*changed)

    @callback
    def update(self, **fields: Any) -> None:
        """Change fields of the state, and what the owner has made or set with guests, by their key."""
        owned = {key: fields.pop(key) for key in self._store.owned.keys() & fields.keys()}
        if owned:
            fields["owned"] = {**self._state.owned, **owned}
        self.set_state(replace(self._state, **fields))

    @callback
    def listen(self, keys: Iterable[str], listener: Callable[[], None]) -> CALLBACK_TYPE:
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

    def owned_as_dict(self) -> dict[str, Any]:
        """Return the owner's things and fields as JSON values."""
        of_guests = {key: kind.dump(self.state) for key, kind in self._store.owned.items()}
        return of_guests | self.state.owned_as_dict()

    async def async_save(self) -> None:
        """Save the owner's fields, and return when they are on the disk. Raises `UserError` if that fails."""
        await self._store.async_save()


class DeviceStore:
    """The records of all devices of a gateway, by MAC."""

    def __init__(
        self, hass: HomeAssistant, entry_id: str, owned: Iterable[Owned[Any] | OwnedValue[Any]] = ()
    ) -> None:
        self._hass = hass
        self.owned = {kind.key: kind for kind in owned}
        """Things and values of guests."""
        key = f"{DOMAIN}.{entry_id}"
        self._readings = SafeStore(hass, key, self._data, survives_power_cut=False)
        self._owned = SafeStore(hass, f"{key}.owned", self._owned_data, survives_power_cut=True)
        self._records: dict[str, DeviceRecord] = {}
        self._moving: dict[str, dict[str, Any]] = {}
        """The owner's fields of 0.5.0 among the readings, which stay there until the other file has them."""
        self._checked = ""
        """A new text for each check whether anything can be stored."""
        self._due: float | None = None
        self._saved = -inf

    async def async_load(self) -> None:
        """Read all states. Damaged ones are set aside; a device reports its state again.

        Raises `ConfigEntryNotReady` or `ConfigEntryError` if a file cannot be read.
        """
        readings, owned = await self._readings.async_load(), dict(await self._owned.async_load())
        self._checked = owned.pop(_CHECKED, "")
        # Mapping their tools to entities takes a while.
        states = await self._hass.async_add_executor_job(_states, readings)
        for mac, data in readings.items():
            if moving := {
                name: data[name] for name in self.owned if isinstance(data, dict) and data.get(name)
            }:
                self._moving[mac] = moving
        for source, store in ((self._moving, self._readings), (owned, self._owned)):
            damaged: list[str] = []
            for mac, data in source.items():
                states[mac] = self._with_owned(states.get(mac, DeviceState()), data, damaged)
            if damaged:
                _LOGGER.error("Damaged data of a device are left out: %s", ", ".join(damaged))
                await store.async_set_aside()
        self._records = {mac: DeviceRecord(mac, state, self) for mac, state in states.items()}
        self._readings.opened = self._owned.opened = True
        with suppress(UserError):
            await self._owned.async_save()
            if self._moving:
                await self._readings.async_save()

    def _with_owned(self, state: DeviceState, data: Any, damaged: list[str]) -> DeviceState:
        """Return a state with the owner's stored fields; the names of damaged ones are added to `damaged`."""
        if not isinstance(data, dict):
            damaged.extend(OWNED_FIELDS)
            return state
        parts: dict[str, Any] = {}
        # Missing fields have their defaults, or their values among the readings of 0.5.0.
        for name in filter(data.__contains__, OWNED_FIELDS):
            try:
                parts[name] = OWNED_FIELDS[name](data[name])
            except vol.Invalid:
                damaged.append(name)
        of_guests = dict(state.owned)
        for name in self.owned.keys() & data.keys():
            of_guests[name], is_whole = self.owned[name].load(data[name], state)
            if not is_whole:
                damaged.append(name)
        return replace(state, owned=of_guests, **parts)

    @callback
    def record(self, mac: str, board: str | None = None) -> DeviceRecord:
        """Return the record of a device; that of a new one holds the build variant only."""
        return self._records.setdefault(mac, DeviceRecord(mac, DeviceState(board=board), self))

    @callback
    def changed(self, keys: Collection[str]) -> None:
        """Schedule a save of a record in which these keys have changed."""
        if owned := OWNED.intersection(keys):
            self._owned.save_in(StoreTimeouts.change if owned == {"pauses"} else 0)
        # A device that shows once a minute that it is there must not wear out a memory card.
        if due := STORED.intersection(keys) - {"last_contact"}:
            self._schedule_save(soon=bool(due & _SOON))

    @callback
    def async_keep(self, macs: set[str]) -> None:
        """Remove all devices except these."""
        if gone := self._records.keys() - macs:
            for mac in gone:
                del self._records[mac]
            self._owned.save_in(0)
            self._schedule_save()

    @callback
    def _schedule_save(self, *, soon: bool = False) -> None:
        """Schedule a save, `soon` for what would be missed after a crash; later changes do not delay it.

        Saves `soon` are at least `StoreTimeouts.soon` apart.
        """
        now = self._hass.loop.time()
        delay = max(0.0, self._saved + StoreTimeouts.soon - now) if soon else StoreTimeouts.change
        due = now + delay
        if self._due is None or due < self._due:
            self._due = due
            self._readings.delay_save(delay)

    async def async_save(self) -> None:
        """Save the owner's fields. Raises `UserError` if that fails; it is tried again each minute."""
        await self._owned.async_save()

    async def async_check(self) -> None:
        """Raise `UserError` if nothing can be stored now."""
        self._checked = ulid_now()
        await self._owned.async_save()

    async def async_close(self) -> None:
        """Save everything, for the last time."""
        for store in (self._owned, self._readings):
            with suppress(UserError):
                await store.async_save()
            store.cancel()

    async def async_remove(self) -> None:
        """Delete the files."""
        await self._readings.async_remove()
        await self._owned.async_remove()

    @callback
    def _data(self) -> dict[str, Any]:
        self._due, self._saved = None, self._hass.loop.time()
        if self._owned.is_stored:
            self._moving = {}
        return {
            mac: record.state.as_dict() | self._moving.get(mac, {}) for mac, record in self._records.items()
        }

    @callback
    def _owned_data(self) -> dict[str, Any]:
        owned = {mac: record.owned_as_dict() for mac, record in self._records.items()}
        return {_CHECKED: self._checked, **owned}


def _states(stored: dict[str, Any]) -> dict[str, DeviceState]:
    states: dict[str, DeviceState] = {}
    for mac, data in stored.items():
        try:
            states[mac] = DeviceState.from_dict(data)
        except Exception:
            # The other devices keep theirs.
            _LOGGER.exception("The stored state of a device is unreadable. It is learned from it again")
    return states
