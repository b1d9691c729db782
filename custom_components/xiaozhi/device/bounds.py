"""Bounds on how often a device may cause something costly, in one table.

The bounds belong to the device, so that a new link brings no new ones.
"""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from ..util.event_loop import loop_time
from ..util.limits import TokenBucket


class Bound(StrEnum):
    """The events that are bounded."""

    CONNECTIONS = "connections"
    """Check-ins and links: each changes the registry, or states of its entities."""
    LINKS = "links"
    """Ends of links that make all entities unavailable at once: each of them is two rows of the database."""
    LISTS = "lists"
    """Lists of tools: each may remove a hundred entities and make as many."""
    MODES = "modes"
    """Changes between listening while it speaks and not: each is an entity that comes or goes."""
    TURNS = "turns"
    """Runs of a pipeline: each is four states of the satellite, and more of the engines."""
    NOTIFICATIONS = "notifications"
    """Notifications on the bus, and the states that they report."""
    NOTIFICATION_EVENTS = "notification_events"
    """Those of the event entity, whose attributes are stored."""
    PROGRESS_EVENTS = "progress_events"
    """The same for reports of progress: a long call sends hundreds."""
    CONVERSATION_EVENTS = "conversation_events"
    AI_QUESTIONS = "ai_questions"
    """Each may cost the owner money."""
    PEOPLE_QUESTIONS = "people_questions"
    QUESTION_REFUSALS = "question_refusals"
    """Refused questions that are shown in Activity."""


# Rates a second and bursts, above what a person can cause. Where there are two, the first protects the event
# loop, and the second bounds what a day adds to the database.
_BOUNDS: Final[Mapping[Bound, tuple[tuple[float, float], ...]]] = {
    Bound.CONNECTIONS: ((1 / 3, 60),),
    Bound.LINKS: ((1 / 180, 20),),
    Bound.LISTS: ((1 / 30, 10),),
    Bound.MODES: ((1 / 60, 5),),
    Bound.TURNS: ((1, 6), (1 / 15, 600)),
    Bound.NOTIFICATIONS: ((5, 20), (1 / 5, 1000)),
    Bound.NOTIFICATION_EVENTS: ((1 / 60, 100),),
    Bound.PROGRESS_EVENTS: ((1 / 60, 100),),
    Bound.CONVERSATION_EVENTS: ((1 / 2, 100),),
    Bound.AI_QUESTIONS: ((1 / 30, 5),),
    Bound.PEOPLE_QUESTIONS: ((1 / 60, 3),),
    Bound.QUESTION_REFUSALS: ((1 / 600, 3),),
}


class DeviceBounds:
    """The bounds of one device, and how often each was exceeded."""

    def __init__(self) -> None:
        self._buckets = {
            bound: tuple(TokenBucket(rate=rate, burst=burst) for rate, burst in limits)
            for bound, limits in _BOUNDS.items()
        }
        self.exceeded = Counter[str]()

    def take(self, bound: Bound) -> bool:
        """Count an event; False if it exceeds the bound."""
        if self.delay(bound):
            self.exceeded[bound] += 1
            return False
        now = loop_time()
        for bucket in self._buckets[bound]:
            bucket.take(now)
        return True

    def delay(self, bound: Bound) -> float:
        """Return the seconds until an event is within the bound."""
        now = loop_time()
        return max(bucket.delay(now) for bucket in self._buckets[bound])
