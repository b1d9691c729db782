"""The states of the satellite, around pipeline runs of our own: a run shows its stages, and its end is idle.

Home Assistant's `async_accept_pipeline_from_satellite` takes only audio, and always has the pipeline's own
detector find the end of speech. So `pipeline_runs` makes the runs, and here is what that method does around
them: the states, the chat history, the context, the extra prompt of the next command, and a
question whose answer an automation waits for. These are private members of the satellite. They are used in
this module only, and `tests/rules/test_private_parts.py` fails when they or that method change.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import cached_property
import inspect
from typing import Any, Final, override

from homeassistant.components.assist_pipeline import Pipeline, PipelineEvent
from homeassistant.components.assist_satellite import (
    AssistSatelliteAnswer,
    AssistSatelliteEntity,
    SatelliteBusyError,
)
from homeassistant.core import callback
from homeassistant.helpers.chat_session import ChatSession, async_get_chat_session

from ..device.device import Device
from .announcements.refusals import AnnouncementStoppedError, check_length

# Since Home Assistant 2026.11 it is to be said on whose behalf a satellite talks: nobody's.
_NO_USER: Final[dict[str, Any]] = (
    {"context": None} if "context" in inspect.signature(async_get_chat_session).parameters else {}
)


class SatelliteStates(AssistSatelliteEntity):
    """A satellite whose pipelines are run by `pipeline_runs`, one run at a time."""

    device: Device
    asked: asyncio.Future[str | None] | None = None
    """The answer that an automation waits for; cancelled when the satellite is removed."""

    _announcing = cached_property(lambda _: asyncio.Lock())
    _conversation_ids = cached_property[dict[str, str]](lambda _: {})
    """Ids of the chat histories, by pipeline: assistants do not share them."""

    # States.

    @contextmanager
    def pipeline_run(self, pipeline: Pipeline) -> Generator[tuple[ChatSession, str | None]]:
        """Begin a run. Yields its chat history, and an extra prompt that the assistant receives with it."""
        prompt, self._extra_system_prompt = self._extra_system_prompt, None
        self._run_has_tts = False
        # One that an automation has begun, or the pipeline's own.
        begun, self._conversation_id = self._conversation_id, None
        history = begun or self._conversation_ids.get(pipeline.id)
        with async_get_chat_session(self.hass, history, **_NO_USER) as session:
            self._conversation_ids[pipeline.id] = session.conversation_id
            yield session, prompt

    @callback
    def show_stage(self, event: PipelineEvent) -> None:
        """Show the stage that a run is in."""
        self._internal_on_pipeline_event(event)

    @callback
    @override
    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Do nothing: the turn of a run has taken the event already."""

    # The wake word that somebody waits for in Home Assistant's voice set-up.

    @property
    def wake_word_awaited(self) -> bool:
        """Whether the next wake word is all that is wanted, and no pipeline is to run."""
        return self._wake_word_intercept_future is not None

    # Announcements: in turn, where Home Assistant would refuse the second.

    @override
    async def async_internal_announce(self, message: str | None = None, *args: Any, **more: Any) -> None:
        """Announce when what was to be announced before has been."""
        check_length(self.device, message)
        async with self._announcing:
            await super().async_internal_announce(message, *args, **more)

    @override
    async def async_internal_start_conversation(
        self, start_message: str | None = None, *args: Any, **more: Any
    ) -> None:
        """Begin in turn, as `async_internal_announce`."""
        check_length(self.device, start_message)
        async with self._announcing:
            await super().async_internal_start_conversation(start_message, *args, **more)

    @override
    async def async_internal_ask_question(
        self, question: str | None = None, *args: Any, **more: Any
    ) -> AssistSatelliteAnswer | None:
        """Ask in turn, as `async_internal_announce`."""
        check_length(self.device, question)
        async with self._announcing:
            return await super().async_internal_ask_question(question, *args, **more)

    # Questions of automations.

    async def async_ask(
        self,
        ask: Callable[[Callable[[], None]], Awaitable[None]],
        answers: list[dict[str, Any]],
        seconds: float,
    ) -> AssistSatelliteAnswer | None:
        """Ask, and take what is said next for the answer, also in another conversation. None if nothing is.

        `ask` calls the function that it is given when what is said from then on may be the answer.
        Raises `SatelliteBusyError` if the answer to another question is awaited, and what `ask` raises.
        """
        if self.asked is not None:
            raise SatelliteBusyError
        answer = self.asked = asyncio.get_running_loop().create_future()

        @callback
        def may_be_answered() -> None:
            self._ask_question_future = answer

        try:
            async with self._announcing:
                await ask(may_be_answered)
            await asyncio.wait((answer,), timeout=seconds)
        finally:
            self.asked = None
            if self._ask_question_future is answer:
                self._ask_question_future = None
        if answer.cancelled():
            raise AnnouncementStoppedError("announcement_stopped", name=self.device.name)
        if not answer.done() or not (text := answer.result()):
            return None
        if not answers:
            return AssistSatelliteAnswer(id=None, sentence=text)
        return self._question_response_to_answer(text, answers)

    @contextmanager
    def question_unheard(self) -> Generator[None]:
        """Take nothing that is said meanwhile for the answer to a question."""
        answer, self._ask_question_future = self._ask_question_future, None
        try:
            yield
        finally:
            self._ask_question_future = answer

    @callback
    def conversation_ended(self) -> None:
        """Answer a question with nothing: nobody will speak any more."""
        if self._ask_question_future is not None and not self._ask_question_future.done():
            self._ask_question_future.set_result(None)

    @property
    def question_pending(self) -> bool:
        """Whether what is said next answers a question of an automation."""
        return self._ask_question_future is not None
