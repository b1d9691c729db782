"""Things that owners have made, which no device reports again."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

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
