"""Judges how complete a transcript is, in time and without acting on it."""

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Final

from homeassistant.core import HomeAssistant
from homeassistant.helpers.importlib import async_import_module

from .completeness import Completeness

if TYPE_CHECKING:
    from .verdict import Home, Known

__all__ = ["Sentences"]

_LOGGER = logging.getLogger(__name__)

# Longer than any command.
_LONGEST_TEXT: Final = 200
# Seconds after which a verdict would come too late to be of use.
_TIME_LIMIT: Final = 0.25
# Languages whose sentences are kept, of 10 MB each.
_MOST_LANGUAGES: Final = 4


class Sentences:
    """The judge of a gateway. It owns what is prepared for it."""

    def __init__(self, hass: HomeAssistant, time_limit: float = _TIME_LIMIT) -> None:
        self._hass: Final = hass
        self._time_limit: Final = time_limit
        self._lock: Final = asyncio.Lock()
        self._works = True
        self._languages: dict[str, Known] = {}
        self._triggers: tuple[tuple[str, ...], Known] | None = None
        self._home: Home | None = None

    async def warm(self, language: str, agent_id: str | None, *, prefer_local_intents: bool = False) -> None:
        """Prepare for a language, which takes the first judgement half a second otherwise. Never raises."""
        await self._safely("", language, agent_id, None, prefer_local_intents, time.monotonic() + 60)

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
        if not text or len(text) > _LONGEST_TEXT:
            return Completeness.UNKNOWN
        deadline = time.monotonic() + self._time_limit
        task = self._hass.async_create_background_task(
            self._safely(text, language, agent_id, device_id, prefer_local_intents, deadline),
            "XiaoZhi judges a sentence",
        )
        try:
            async with asyncio.timeout(self._time_limit):
                # What runs in a thread cannot be stopped, and the next must wait for it.
                return await asyncio.shield(task)
        except TimeoutError:
            return Completeness.UNKNOWN

    async def _safely(
        self,
        text: str,
        language: str,
        agent_id: str | None,
        device_id: str | None,
        prefer_local_intents: bool,
        deadline: float,
    ) -> Completeness:
        try:
            async with self._lock:
                if not self._works or time.monotonic() > deadline:
                    return Completeness.UNKNOWN
                return await self._verdict(
                    text, language, agent_id, device_id, prefer_local_intents, deadline
                )
        except Exception:
            self._works = False
            _LOGGER.exception("Home Assistant's recogniser is not as expected: pauses alone end what is said")
            return Completeness.UNKNOWN

    async def _verdict(
        self,
        text: str,
        language: str,
        agent_id: str | None,
        device_id: str | None,
        prefer_local_intents: bool,
        deadline: float,
    ) -> Completeness:
        hass = self._hass
        # Imported only now: where a new Home Assistant has changed them, only this fails.
        recogniser = await async_import_module(hass, f"{__package__}.recogniser")
        verdict = await async_import_module(hass, f"{__package__}.verdict")
        intents = None
        if recogniser.is_own_agent(agent_id) or prefer_local_intents:
            intents = await recogniser.async_language_intents(hass, language)
        triggers = recogniser.trigger_sentences(hass)
        if intents is None and not triggers:
            return Completeness.UNKNOWN
        lists = await recogniser.async_home_lists(hass)

        def decide() -> Completeness:
            sources = []
            if triggers:
                if self._triggers is None or self._triggers[0] != triggers:
                    known = verdict.Known(recogniser.trigger_intents(triggers, language), language)
                    self._triggers = triggers, known
                sources.append(self._triggers[1])
            if intents is not None:
                known = self._languages.pop(language, None)
                if known is None or known.intents is not intents:
                    known = verdict.Known(intents, language)
                self._languages[language] = known
                while len(self._languages) > _MOST_LANGUAGES:
                    del self._languages[next(iter(self._languages))]
                sources.append(known)
            if self._home is None or self._home.lists is not lists:
                self._home = verdict.Home(lists, language)
            completeness: Completeness = verdict.verdict(question, sources, self._home)
            return completeness

        question = verdict.Question(
            text,
            recogniser.area_context(hass, device_id),
            recogniser.intents_left_to(hass, agent_id),
            deadline,
        )
        try:
            return await hass.async_add_executor_job(decide)
        except verdict.OutOfTimeError:
            return Completeness.UNKNOWN
