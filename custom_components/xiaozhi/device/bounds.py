"""Bounds on how often a device may cause something costly.

They belong to the device, so that a new link brings no new ones.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from ..util.event_loop import loop_time
from ..util.limits import TokenBucket


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on one kind of event: rates a second and bursts, above what a person can cause.

    Where there are two, the first protects the event loop, and the second bounds what a day adds to the
    database.
    """

    name: str
    """Its name in diagnostics."""
    limits: tuple[tuple[float, float], ...]


CONNECTIONS: Final = Bound("connections", ((1 / 3, 60),))
"""Check-ins and links: each changes the registry, or states of its entities."""
LINKS: Final = Bound("links", ((1 / 180, 20),))
"""Ends of links that make all entities unavailable at once: each of them is two rows of the database."""
LISTS: Final = Bound("lists", ((1 / 30, 10),))
"""Lists of tools: each may remove a hundred entities and make as many."""
MODES: Final = Bound("modes", ((1 / 60, 5),))
"""Changes between listening while it speaks and not: each is an entity that comes or goes."""
TURNS: Final = Bound("turns", ((1, 6), (1 / 15, 600)))
"""Runs of a pipeline: each is four states of the satellite, and more of the engines."""
NOTIFICATIONS: Final = Bound("notifications", ((5, 20), (1 / 5, 1000)))
"""Notifications on the bus, and the states that they report."""
NOTIFICATION_EVENTS: Final = Bound("notification_events", ((1 / 60, 100),))
"""Those of the event entity, whose attributes are stored."""
PROGRESS_EVENTS: Final = Bound("progress_events", ((1 / 60, 100),))
"""The same for reports of progress: a long call sends hundreds."""
CONVERSATION_EVENTS: Final = Bound("conversation_events", ((1 / 2, 100),))


class DeviceBounds:
    """The bounds of one device, and how often each was exceeded."""

    def __init__(self) -> None:
        self._buckets: dict[Bound, list[TokenBucket]] = {}
        self.exceeded = Counter[str]()

    def take(self, bound: Bound) -> bool:
        """Count an event; False if it exceeds the bound."""
        if self.delay(bound):
            self.exceeded[bound.name] += 1
            return False
        now = loop_time()
        for bucket in self._buckets[bound]:
            bucket.take(now)
        return True

    def delay(self, bound: Bound) -> float:
        """Return the seconds until an event is within the bound."""
        if bound not in self._buckets:
            self._buckets[bound] = [TokenBucket(rate=rate, burst=burst) for rate, burst in bound.limits]
        now = loop_time()
        return max(bucket.delay(now) for bucket in self._buckets[bound])
