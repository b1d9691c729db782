"""A lock that is given to its waiters in the order of their ranks."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from heapq import heappop, heappush
from itertools import count


class RankedLock:
    """Held by one at a time. The waiter of the lowest rank comes first, and of one rank the earliest."""

    def __init__(self) -> None:
        self._held = False
        self._count = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def hold(self, rank: int, patience: float | None = None) -> AsyncGenerator[None]:
        """Hold the lock. Raises `TimeoutError` if it is not free within `patience` seconds."""
        await self.acquire(rank, patience)
        try:
            yield
        finally:
            self.release()

    async def acquire(self, rank: int, patience: float | None = None) -> None:
        """Hold the lock until `release`. Raises as `hold`."""
        if not self._held:
            self._held = True
            return
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (rank, next(self._count), ready))
        try:
            async with asyncio.timeout(patience):
                await ready
        except asyncio.CancelledError, TimeoutError:
            if not ready.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give the lock to the next waiter."""
        while self._waiting:
            ready = heappop(self._waiting)[2]
            if not ready.done():
                ready.set_result(None)
                return
        self._held = False
