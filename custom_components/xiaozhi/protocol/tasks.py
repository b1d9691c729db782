"""Tasks whose result may be of no use when they end."""

import asyncio
import logging
from typing import Any

__all__ = ["log_failure"]

_LOGGER = logging.getLogger(__name__)


def log_failure(task: asyncio.Task[Any]) -> None:
    """Retrieve the error of a task that ended, which those who waited for it may not do any more."""
    if not task.cancelled() and (err := task.exception()) is not None:
        _LOGGER.debug("%s ended: %s", task.get_name(), err)
