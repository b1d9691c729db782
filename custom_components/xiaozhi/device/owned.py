"""Things that owners have made, and values that they have set, which no device reports again."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import voluptuous as vol

from .state import DeviceState


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned[ThingT]:
    """A kind of things that owners have made, by id. They are on the disk when an action is done.

    `DeviceRecord.update` changes them, and listeners follow them, by their key.
    """

    key: str
    read: Callable[[Any], ThingT | None]
    """Reads the stored form of one. None, or an error, if it is damaged."""
    write: Callable[[Any], Any] = asdict
    """Returns the stored form, which Home Assistant writes as JSON."""

    def of(self, state: DeviceState) -> Mapping[str, ThingT]:
        """Return those of a device."""
        things: Mapping[str, ThingT] = state.owned.get(self.key, {})
        return things

    def load(self, stored: Any, state: DeviceState) -> tuple[Mapping[str, ThingT], bool]:
        """Return those of a device with those that are stored, and whether none of these is damaged."""
        things, whole = dict(self.of(state)), isinstance(stored, dict)
        for uid, each in stored.items() if whole else ():
            # One that raises must not take the others with it.
            found = None
            with suppress(Exception):
                found = self.read(each)
            if found is None:
                whole = False
            else:
                things[uid] = found
        return things, whole

    def dump(self, state: DeviceState) -> dict[str, Any]:
        """Return the stored form of those of a device."""
        return {uid: self.write(thing) for uid, thing in self.of(state).items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedValue[ValueT]:
    """A value that owners set, kept, changed and followed like `Owned`. It is stored as it is."""

    key: str
    schema: vol.Schema
    default: ValueT

    def of(self, state: DeviceState) -> ValueT:
        """Return that of a device."""
        value: ValueT = state.owned.get(self.key, self.default)
        return value

    def load(self, stored: Any, state: DeviceState) -> tuple[ValueT, bool]:
        """Return the stored value, and whether it is not damaged."""
        try:
            value: ValueT = self.schema(stored)
        except vol.Invalid:
            return self.of(state), False
        return value, True

    def dump(self, state: DeviceState) -> ValueT:
        """Return the stored form."""
        return self.of(state)
