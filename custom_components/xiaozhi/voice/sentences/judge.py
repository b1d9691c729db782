"""Judges how complete a transcript is, in time and without acting on it."""

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.importlib import async_import_module

from .completeness import Completeness
from .request import Request

if TYPE_CHECKING:
    from .knowledge import Knowledge

__all__ = ["Sentences"]

_LOGGER = logging.getLogger(__name__)

# Longer than any command.
_LONGEST_TEXT: Final = 200
# Seconds that a judgement may take, since a pause ends the turn then, and that preparations may take.
_TIME_LIMIT: Final = 0.25
_WARM_UP_LIMIT: Final = 60.0
# Failures in a row after which it is not tried again.
_MOST_FAILURES: Final = 3


class Sentences:
    """The judge of a gateway. It owns what is prepared for it, and judges one text at a time."""

    def __init__(self, hass: HomeAssistant, time_limit: float = _TIME_LIMIT) -> None:
        self._hass: Final = hass
        self._time_limit: Final = time_limit
        self._lock: Final = asyncio.Lock()
        self._knowledge: Knowledge | None = None
        self._failures = 0
        self._told = False

    async def warm(self, language: str, agent_id: str | None, *, prefer_local_intents: bool = False) -> None:
        """Prepare for a language, which takes the first judgement a second otherwise. Never raises."""
        deadline = time.monotonic() + _WARM_UP_LIMIT
        await self._judge(Request("", language, agent_id, prefer_local_intents, None, deadline))

    async def judge(
        self,
        text: str,
        *,
        language: str,
        agent_id: str | None,
        device_id: str | None,
        prefer_local_intents: bool = False,
    ) -> Completeness:
        """Return how complete a transcript is. Never raises and never acts; unknown whenever in doubt.

        `agent_id` is the pipeline's conversation engine. Another agent than Home Assistant's own knows only
        the sentences that start automations, unless the pipeline has `prefer_local_intents`.
        """
        text = text.strip()
        if not text or len(text) > _LONGEST_TEXT or self._failures >= _MOST_FAILURES:
            return Completeness.UNKNOWN
        deadline = time.monotonic() + self._time_limit
        request = Request(text, language, agent_id, prefer_local_intents, device_id, deadline)
        task = self._hass.async_create_background_task(self._judge(request), "XiaoZhi judges a sentence")
        try:
            async with asyncio.timeout(self._time_limit):
                # What runs in a thread cannot be stopped, and the next must wait for it.
                return await asyncio.shield(task)
        except TimeoutError:
            return Completeness.UNKNOWN

    async def _judge(self, request: Request) -> Completeness:
        async with self._lock:
            if self._failures >= _MOST_FAILURES or time.monotonic() > request.deadline:
                return Completeness.UNKNOWN
            try:
                if self._knowledge is None:
                    # Imported only now: where a new Home Assistant has changed what it uses, only this fails.
                    module = await async_import_module(self._hass, f"{__package__}.knowledge")
                    self._knowledge = module.Knowledge(self._hass)
                completeness = await self._knowledge.judge(request)
            except Exception:
                self._failures += 1
                if not self._told:
                    self._told = True
                    _LOGGER.exception(
                        "Home Assistant's recogniser cannot be asked whether a sentence is complete; "
                        "pauses alone tell when somebody has finished speaking"
                    )
                return Completeness.UNKNOWN
            self._failures = 0
            return completeness
