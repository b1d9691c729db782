"""Network impairments of datagrams: loss, reordering, duplication and delay."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
import random
from typing import Final

# A packet that is to be overtaken waits no longer than this for the next one.
_MAX_OVERTAKEN_SECONDS: Final = 0.2
_APART_SECONDS: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpImpairment:
    """Impairments in each direction. The same seed has the same effect on the same packets."""

    loss: float = 0.0
    """Percentage of packets that are lost."""
    reorder: float = 0.0
    """Percentage of packets that the next one overtakes."""
    duplicate: float = 0.0
    """Percentage of packets that arrive twice."""
    jitter: float = 0.0
    """Longest delay of packets in milliseconds; they stay in order."""
    seed: int = 0

    @property
    def none(self) -> bool:
        """Whether packets are not impaired."""
        return not (self.loss or self.reorder or self.duplicate or self.jitter)


class ImpairedPath:
    """One direction of a network."""

    def __init__(self, impairment: UdpImpairment, direction: str, deliver: Callable[[bytes], None]) -> None:
        """`direction` distinguishes paths of the same seed; `deliver` is called with what arrives."""
        self._impairment = impairment
        self._deliver = deliver
        self._random = random.Random(f"{impairment.seed} {direction}")
        self._due = 0.0
        self._overtaken: bytes | None = None
        self._timers: set[asyncio.TimerHandle] = set()

    def send(self, datagram: bytes) -> None:
        """Send a datagram."""
        if self._impairment.none:
            self._deliver(datagram)
            return
        # All four are drawn for each packet, so that one impairment does not change the effect of another.
        lost, overtaken, doubled = (self._random.uniform(0, 100) for _ in range(3))
        delay = self._random.uniform(0, self._impairment.jitter) / 1000
        if lost < self._impairment.loss:
            return
        for _ in range(2 if doubled < self._impairment.duplicate else 1):
            self._later(delay, lambda: self._arrive(datagram, overtaken < self._impairment.reorder))

    def close(self) -> None:
        """Drop packets that have not arrived yet."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._overtaken = None

    def _arrive(self, datagram: bytes, overtaken: bool) -> None:
        waiting, self._overtaken = self._overtaken, None
        if overtaken and waiting is None:
            self._overtaken = datagram
            self._at(asyncio.get_running_loop().time() + _MAX_OVERTAKEN_SECONDS, self._release)
            return
        self._deliver(datagram)
        if waiting is not None:
            self._deliver(waiting)

    def _release(self) -> None:
        waiting, self._overtaken = self._overtaken, None
        if waiting is not None:
            self._deliver(waiting)

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        now = asyncio.get_running_loop().time()
        self._due = max(self._due + _APART_SECONDS, now + seconds)
        if self._due <= now:
            action()
        else:
            self._at(self._due, action)

    def _at(self, time: float, action: Callable[[], None]) -> None:
        def run() -> None:
            self._timers.discard(timer)
            action()

        timer = asyncio.get_running_loop().call_at(time, run)
        self._timers.add(timer)
