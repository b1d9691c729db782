"""Time of the event loop, waiting for one thing or another, errors of tasks and loops, and closing."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Coroutine
from contextlib import AbstractContextManager, asynccontextmanager
import logging
from types import TracebackType
from typing import Any, Final, override

from .text import one_line

_LOGGER = logging.getLogger(__name__)

# Home Assistant waits ten seconds for the tasks of an unloaded entry.
_PATIENCE: Final = 3


def loop_time() -> float:
    """Return the monotonic seconds of the running event loop."""
    return asyncio.get_running_loop().time()


async def sleep_until(time: float) -> None:
    """Sleep until `loop_time` reaches a time."""
    await asyncio.sleep(max(0.0, time - loop_time()))


async def within(seconds: float | None, work: Awaitable[object]) -> bool:
    """Await something for so many seconds at most, and return whether it ended in time."""
    try:
        async with asyncio.timeout(seconds) as scope:
            await work
    except TimeoutError:
        if not scope.expired():
            raise
        return False
    return True


@asynccontextmanager
async def first_of[A, B](
    one: Coroutine[Any, Any, A] | asyncio.Future[A], other: Coroutine[Any, Any, B] | asyncio.Future[B]
) -> AsyncGenerator[tuple[asyncio.Future[A], asyncio.Future[B]]]:
    """Wait until one of two has ended, and yield both; what still runs is cancelled at the end, and awaited.

    A future that is no task is left alone: others wait for it, too.
    """
    both = asyncio.ensure_future(one), asyncio.ensure_future(other)
    tasks = [each for each in both if isinstance(each, asyncio.Task)]
    for task in tasks:
        task.add_done_callback(log_failure)
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        yield both
    finally:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)


async def close_all(*closings: Coroutine[Any, Any, None], patience: float = _PATIENCE) -> None:
    """Await all closings at the same time, each for `patience` seconds at most.

    Failures are logged, and do not affect the other closings. Each begins at once, even if the caller gives
    up.
    """

    async def close(closing: Coroutine[Any, Any, None]) -> None:
        async with asyncio.timeout(patience):
            await closing

    begun = [asyncio.create_task(close(closing), eager_start=True) for closing in closings]
    for failure in await asyncio.gather(*begun, return_exceptions=True):
        if isinstance(failure, Exception):
            _LOGGER.error("Something could not be closed: %r", failure, exc_info=failure)


class LogAndGoOn(AbstractContextManager[None, bool]):
    """Keeps a loop with untrusted calls alive: logs an exception of the block, and suppresses it.

    Each kind of exception is logged once with its traceback, then at debug level.
    """

    def __init__(self, logger: logging.Logger, what: str) -> None:
        """`what` is the message for the log."""
        self._logger = logger
        self._what = what
        self._logged: set[type[BaseException]] = set()

    @override
    def __exit__(
        self, kind: type[BaseException] | None, err: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if kind is None or not isinstance(err, Exception):
            return False
        level = logging.DEBUG if kind in self._logged else logging.ERROR
        self._logged.add(kind)
        self._logger.log(level, "%s", self._what, exc_info=err)
        return True


def log_failure(task: asyncio.Task[Any]) -> None:
    """Retrieve the error of an ended task, for which nobody may wait any more."""
    if not task.cancelled() and (err := task.exception()) is not None:
        _LOGGER.debug("%s ended: %s", task.get_name(), one_line(str(err)))
