"""What a network does to datagrams: loses, overtakes, doubles and delays them."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
import random
from typing import Final

__all__ = ["UdpWeather", "WeatheredPath"]

# A packet that is to be overtaken does not wait longer than this for the one that overtakes it.
_MAX_OVERTAKEN_SECONDS: Final = 0.2
_APART_SECONDS: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class UdpWeather:
    """How bad it is, in each direction. The same seed gives the same fate to the same packets."""

    loss: float = 0.0
    """Percent of the packets that are lost."""
    reorder: float = 0.0
    """Percent that the next packet overtakes."""
    duplicate: float = 0.0
    """Percent that come twice."""
    jitter: float = 0.0
    """Milliseconds that packets are delayed at most; they stay in order."""
    seed: int = 0

    @property
    def fine(self) -> bool:
        """Whether nothing happens."""
        return not (self.loss or self.reorder or self.duplicate or self.jitter)


class WeatheredPath:
    """One direction of a network."""

    def __init__(self, weather: UdpWeather, direction: str, deliver: Callable[[bytes], None]) -> None:
        """`direction` tells apart paths of the same seed; `deliver` gets what arrives."""
        self.lost = self.reordered = self.doubled = 0
        """How many packets suffered it."""
        self._weather = weather
        self._deliver = deliver
        self._random = random.Random(f"{weather.seed} {direction}")
        self._due = 0.0
        self._overtaken: bytes | None = None
        self._timers: set[asyncio.TimerHandle] = set()

    def send(self, datagram: bytes) -> None:
        """Give a datagram to the network."""
        if self._weather.fine:
            self._deliver(datagram)
            return
        # All four are drawn for each packet, so that one fault does not change the luck of another.
        lost, overtaken, doubled = (self._random.uniform(0, 100) for _ in range(3))
        delay = self._random.uniform(0, self._weather.jitter) / 1000
        if lost < self._weather.loss:
            self.lost += 1
            return
        copies = 1
        if doubled < self._weather.duplicate:
            self.doubled += 1
            copies = 2
        for _ in range(copies):
            self._later(delay, lambda: self._arrive(datagram, overtaken < self._weather.reorder))

    def close(self) -> None:
        """Drop what is still on its way."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
        self._overtaken = None

    def _arrive(self, datagram: bytes, overtaken: bool) -> None:
        waiting, self._overtaken = self._overtaken, None
        if overtaken and waiting is None:
            self.reordered += 1
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
