"""What a soak leaves behind in the process of Home Assistant."""

import asyncio
from collections import Counter
import ctypes
from dataclasses import dataclass, field
import gc
import logging
from typing import Final, override

from aiohttp.http_exceptions import HttpProcessingError
import psutil

_SETTLE_SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The state of the process while all devices are off."""

    memory_kib: float
    sockets: int
    tasks: Counter[str] = field(default_factory=Counter)
    """Tasks by their coroutine."""

    def left_since(self, before: State) -> list[str]:
        """List what has increased."""
        tasks = [f"{count} tasks {name}" for name, count in (self.tasks - before.tasks).items()]
        sockets = self.sockets - before.sockets
        return [*tasks, *([f"{sockets} sockets"] if sockets > 0 else [])]


class Errors(logging.Handler):
    """Keeps all logged errors.

    A request that is not HTTP is not counted: aiohttp itself logs it as an error of Home Assistant.
    """

    def __init__(self) -> None:
        """Start without errors."""
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
            return
        self.texts.append(f"{record.name}: {self.format(record)}")


def memory_kib() -> float:
    """Return the memory that this process uses, without what has been freed and is only kept for later."""
    gc.collect()
    # Only glibc keeps it, and has this function.
    if (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)
    return float(psutil.Process().memory_info().rss / 1024)


def look() -> State:
    """Return the state of this process."""
    return State(
        memory_kib=memory_kib(),
        sockets=len(psutil.Process().net_connections("all")),
        tasks=Counter(_name(task) for task in asyncio.all_tasks()),
    )


async def settle(before: State) -> State:
    """Wait until nothing is left that was not there before, for a minute at most; return the state then."""
    loop = asyncio.get_running_loop()
    end = loop.time() + _SETTLE_SECONDS
    while True:
        state = look()
        if not state.left_since(before) or loop.time() > end:
            return state
        await asyncio.sleep(0.5)


def _name(task: asyncio.Task[object]) -> str:
    coroutine = task.get_coro()
    return getattr(coroutine, "__qualname__", repr(coroutine))
