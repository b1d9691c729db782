"""Announcements of one action on several devices, which reach those that can speak now."""

from collections import defaultdict
from collections.abc import Callable, Generator
from contextlib import contextmanager

from homeassistant.core import Context

from .announcer import Announcer


class Broadcasts:
    """The announcements that are being made, by the actions that make them."""

    def __init__(self) -> None:
        self._announcers = defaultdict[str, list[Announcer]](list)

    @contextmanager
    def joined(self, announcer: Announcer, call: Context | None) -> Generator[Callable[[], bool]]:
        """Register an announcement. Yields whether another device of the same action can speak now."""
        key = call.id if call is not None else ""
        self._announcers[key].append(announcer)
        try:
            yield lambda: any(other.can_announce for other in self._announcers[key] if other is not announcer)
        finally:
            self._announcers[key].remove(announcer)
            if not self._announcers[key]:
                del self._announcers[key]
