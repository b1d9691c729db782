"""Tasks that end: their errors, and closing many objects of which any may fail or hang."""

import asyncio
from collections.abc import Coroutine
import logging
from typing import Any, Final

_LOGGER = logging.getLogger(__name__)

# Home Assistant waits ten seconds for the tasks of an unloaded entry.
_PATIENCE: Final = 3


async def close_all(*closings: Coroutine[Any, Any, None], patience: float = _PATIENCE) -> None:
    """Await all closings at the same time, each for `patience` seconds at most.

    Failures are logged, and do not affect the other closings.
    """

    async def close(closing: Coroutine[Any, Any, None]) -> None:
        async with asyncio.timeout(patience):
            await closing

    for failure in await asyncio.gather(*map(close, closings), return_exceptions=True):
        if isinstance(failure, Exception):
            _LOGGER.error("Something could not be closed: %r", failure, exc_info=failure)


def log_failure(task: asyncio.Task[Any]) -> None:
    """Retrieve the error of a task that ended, which those who waited for it may not do any more."""
    if not task.cancelled() and (err := task.exception()) is not None:
        _LOGGER.debug("%s ended: %s", task.get_name(), err)
