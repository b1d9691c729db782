"""Bounds on the resources that a real or pretended device can use, the same for every transport.

Callers pass the time in monotonic seconds.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from math import inf
from typing import Final


class FloodError(Exception):
    """A link delivers more than any device can produce."""


# After a `delay`, an event is allowed although the sum of the times is not exact.
_ROUNDING: Final = 1e-6


class TokenBucket:
    """Allows events worth `burst` at once and `rate` a second in the long run."""

    __slots__ = ("_burst", "_rate", "_tokens", "_updated")

    def __init__(self, *, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._updated = -inf

    def take(self, now: float, cost: float = 1) -> bool:
        """Count an event at `now`; False if it exceeds the limit."""
        self._tokens = min(self._burst, self._tokens + (now - self._updated) * self._rate)
        self._updated = now
        if self._tokens < cost - _ROUNDING:
            return False
        self._tokens -= cost
        return True

    def delay(self, now: float) -> float:
        """Return the seconds from `now` until an event is allowed."""
        missing = 1 - self._tokens - (now - self._updated) * self._rate
        return missing / self._rate if missing > _ROUNDING else 0.0


class FloodGuard:
    """Ends a link that floods.

    A device sends up to 50 packets a second (20 ms each), 33 more at once after a wake word, and a handful of
    messages; after a gap of the network, those of some seconds come in one burst.
    """

    def __init__(self) -> None:
        self._messages = TokenBucket(rate=100, burst=100)
        self._message_bytes = TokenBucket(rate=128 * 1024, burst=512 * 1024)
        self._packets = TokenBucket(rate=400, burst=400)
        self._malformed = TokenBucket(rate=2, burst=20)

    def message(self, now: float, size: int) -> None:
        """Count a JSON message of `size` bytes, valid or not. Raises `FloodError`."""
        if not self._messages.take(now):
            raise FloodError("more than 100 messages a second")
        if not self._message_bytes.take(now, size):
            raise FloodError("more than 128 KiB of messages a second")

    def packet(self, now: float) -> None:
        """Count an audio packet, valid or not. Raises `FloodError`."""
        if not self._packets.take(now):
            raise FloodError("more than 400 audio packets a second")

    def malformed(self, now: float) -> None:
        """Count a message or packet that was dropped. Raises `FloodError`."""
        if not self._malformed.take(now):
            raise FloodError("too many malformed messages")


@dataclass(slots=True)
class LinkCounters:
    """Traffic of one link, for diagnostics. Bytes include framing."""

    messages_in: int = 0
    messages_out: int = 0
    packets_in: int = 0
    packets_out: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    malformed: int = 0
    """Messages and packets that were dropped as unreadable."""
    unknown: int = 0
    """Messages of unknown types."""


class PendingConnections[Connection: Hashable]:
    """Unauthenticated connections, bounded in number.

    When there are too many, the address with the most loses its oldest one: a flood displaces only its own
    connections, and a device that connects meanwhile gets in. Where every connection comes from another
    address, the oldest goes, but not those of an address from which a device was let in before.
    """

    _MAX_KNOWN: Final = 512
    _MAX_OF_KNOWN: Final = 8
    """Beyond that, the connections of a known address are like those of a stranger."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._addresses: dict[Connection, str] = {}
        self._known: dict[str, None] = {}

    def enter(self, connection: Connection, address: str) -> Connection | None:
        """Add a connection; return the one that it displaces, which may be itself, or None."""
        self._addresses[connection] = address
        if len(self._addresses) <= self._capacity:
            return None
        counts = Counter(self._addresses.values())
        strangers = [
            address
            for address, count in counts.items()
            if address not in self._known or count > self._MAX_OF_KNOWN
        ]
        crowded = max(strangers or counts, key=counts.__getitem__)
        oldest = next(pending for pending, where in self._addresses.items() if where == crowded)
        del self._addresses[oldest]
        return oldest

    def let_in(self, connection: Connection) -> None:
        """Remove a connection that is authenticated, and remember its address."""
        if (address := self._addresses.pop(connection, None)) is None:
            return
        self._known.pop(address, None)
        self._known[address] = None
        if len(self._known) > self._MAX_KNOWN:
            del self._known[next(iter(self._known))]

    def leave(self, connection: Connection) -> None:
        """Remove a connection that is closed. May be called twice."""
        self._addresses.pop(connection, None)

    def close(self) -> list[Connection]:
        """Admit no more connections; return the pending ones."""
        connections = list(self._addresses)
        self._addresses.clear()
        self._capacity = 0
        return connections
