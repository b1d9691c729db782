"""What Home Assistant's satellite does not offer: typed questions, and an end of speech that we find.

`async_accept_pipeline_from_satellite` takes only audio, and always has the pipeline's own detector find the
end of speech. Here the same is done around runs of our own: the conversation with the assistant, the context,
what the assistant is told beside the next command, and a question whose answer somebody waits for. These are
private members of the satellite. They are used in this module only, and `tests/rules/test_private_parts.py`
fails when they or that method change.
"""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any, Final, override

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import (
    AudioSettings,
    Pipeline,
    PipelineEvent,
    PipelineStage,
)
from homeassistant.components.assist_pipeline.pipeline import PipelineInput, PipelineRun
from homeassistant.components.assist_satellite import (
    AssistSatelliteAnswer,
    AssistSatelliteEntity,
    SatelliteBusyError,
)
from homeassistant.components.assist_satellite.const import PREANNOUNCE_URL
from homeassistant.components.assist_satellite.entity import AssistSatelliteState
from homeassistant.core import Context, callback
from homeassistant.helpers.chat_session import ChatSession, async_get_chat_session

from .engine_override import EngineOverride
from .speech_format import speech_options
from .speech_input import SpeechInput

# The states that a conversation goes through, in their order.
_STATES: Final = (
    AssistSatelliteState.IDLE,
    AssistSatelliteState.LISTENING,
    AssistSatelliteState.PROCESSING,
    AssistSatelliteState.RESPONDING,
)


class CoreSatellite(AssistSatelliteEntity):
    """A satellite that finds the end of speech by itself if it likes, and that can be asked in writing.

    Only one run at a time is allowed. The caller ends a run by cancelling it.
    """

    _asking = False
    _conversing = False
    _reached = 0
    """Which of the states this conversation has shown."""
    phase = AssistSatelliteState.IDLE
    """What the satellite does now, also in the later turns of a conversation."""

    @cached_property
    def _announcing(self) -> asyncio.Lock:
        return asyncio.Lock()

    async def async_accept_speech_from_satellite(
        self,
        audio: AsyncIterable[bytes],
        pipeline: Pipeline,
        audio_settings: AudioSettings,
        *,
        wake_word: str | None,
        is_repeated: bool,
        speech_input: SpeechInput,
    ) -> None:
        """Run a pipeline on 16 kHz mono 16-bit PCM. One without a voice ends with the text of the answer.

        Home Assistant drops a run whose wake word it knows from the last two seconds, unless `is_repeated`.
        The engine that transcribes is the pipeline's, or the one that `speech_input` puts in its place.
        """
        if self._wake_word_intercept_future:
            # Somebody wants to know the wake word only, and Home Assistant runs no pipeline.
            await self.async_accept_pipeline_from_satellite(audio, wake_word_phrase=wake_word)
            return
        with (
            self._running() as (context, session, prompt),
            self._engine_override(speech_input, pipeline) as engine_override,
        ):
            run = PipelineRun(
                self.hass,
                context=context,
                pipeline=pipeline if engine_override is None else engine_override.pipeline,
                start_stage=PipelineStage.STT,
                end_stage=PipelineStage.STT if self._ask_question_future else _last_stage(pipeline),
                event_callback=partial(self._on_run_event, engine_override),
                tts_audio_output=speech_options(self.hass, pipeline.tts_engine),
                audio_settings=audio_settings,
            )
            await PipelineInput(
                run=run,
                session=session,
                stt_metadata=stt.SpeechMetadata(
                    language="",
                    format=stt.AudioFormats.WAV,
                    codec=stt.AudioCodecs.PCM,
                    bit_rate=stt.AudioBitRates.BITRATE_16,
                    sample_rate=stt.AudioSampleRates.SAMPLERATE_16000,
                    channel=stt.AudioChannels.CHANNEL_MONO,
                ),
                stt_stream=audio,
                wake_word_phrase=None if is_repeated else wake_word,
                conversation_extra_system_prompt=prompt,
                device_id=self._device_id,
                satellite_id=self.entity_id,
            ).execute(validate=True)

    async def async_accept_text_from_satellite(self, question: str, pipeline: Pipeline) -> None:
        """Run a pipeline on a text. One without a voice ends with the text of the answer."""
        with self._running() as (context, session, prompt):
            run = PipelineRun(
                self.hass,
                context=context,
                pipeline=pipeline,
                start_stage=PipelineStage.INTENT,
                end_stage=_last_stage(pipeline),
                event_callback=self._internal_on_pipeline_event,
                tts_audio_output=speech_options(self.hass, pipeline.tts_engine),
            )
            await PipelineInput(
                run=run,
                session=session,
                intent_input=question,
                conversation_extra_system_prompt=prompt,
                device_id=self._device_id,
                satellite_id=self.entity_id,
            ).execute(validate=True)

    @override
    async def async_internal_announce(
        self,
        message: str | None = None,
        media_id: str | None = None,
        preannounce: bool = True,
        preannounce_media_id: str = PREANNOUNCE_URL,
    ) -> None:
        """Announce when what was to be announced before has been; Home Assistant would refuse it."""
        async with self._announcing:
            await super().async_internal_announce(message, media_id, preannounce, preannounce_media_id)

    @override
    async def async_internal_start_conversation(
        self,
        start_message: str | None = None,
        start_media_id: str | None = None,
        extra_system_prompt: str | None = None,
        preannounce: bool = True,
        preannounce_media_id: str = PREANNOUNCE_URL,
    ) -> None:
        """Begin in turn, as `async_internal_announce`."""
        async with self._announcing:
            await super().async_internal_start_conversation(
                start_message, start_media_id, extra_system_prompt, preannounce, preannounce_media_id
            )

    @override
    async def async_internal_ask_question(
        self,
        question: str | None = None,
        question_media_id: str | None = None,
        preannounce: bool = True,
        preannounce_media_id: str = PREANNOUNCE_URL,
        answers: list[dict[str, Any]] | None = None,
    ) -> AssistSatelliteAnswer | None:
        """Ask in turn, as `async_internal_announce`."""
        async with self._announcing:
            return await super().async_internal_ask_question(
                question, question_media_id, preannounce, preannounce_media_id, answers
            )

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
        if self._asking:
            raise SatelliteBusyError
        answer = asyncio.get_running_loop().create_future()

        @callback
        def may_be_answered() -> None:
            self._ask_question_future = answer

        self._asking = True
        try:
            async with self._announcing:
                await ask(may_be_answered)
            await asyncio.wait((answer,), timeout=seconds)
        finally:
            self._asking = False
            if self._ask_question_future is answer:
                self._ask_question_future = None
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
    @override
    def _set_state(self, state: AssistSatelliteState) -> None:
        """Show a state, but each only once in a conversation: every change is a line in Activity."""
        self.phase = state
        if not self._conversing:
            super()._set_state(state)
        elif (at := _STATES.index(state)) > self._reached:
            self._reached = at
            super()._set_state(state)
        else:
            self.async_write_ha_state()

    @callback
    def conversation_over(self) -> None:
        """Show what the satellite does without a conversation; nobody answers a question any more."""
        self._conversing, self._reached = False, 0
        if self.state != self.phase:
            self._set_state(self.phase)
        if self._ask_question_future is not None and not self._ask_question_future.done():
            self._ask_question_future.set_result(None)

    @property
    def question_pending(self) -> bool:
        """Whether what is said next answers a question of an automation."""
        return self._ask_question_future is not None

    @contextmanager
    def _engine_override(
        self, speech_input: SpeechInput, pipeline: Pipeline
    ) -> Generator[EngineOverride | None]:
        engine_override = speech_input.engine_override(self.hass, pipeline)
        try:
            yield engine_override
        finally:
            if engine_override is not None:
                engine_override.remove()

    @callback
    def _on_run_event(self, engine_override: EngineOverride | None, event: PipelineEvent) -> None:
        if engine_override is not None:
            engine_override.on_pipeline_event(event)
        self._internal_on_pipeline_event(event)

    @property
    def _device_id(self) -> str | None:
        return self.registry_entry.device_id if self.registry_entry else None

    @contextmanager
    def _running(self) -> Generator[tuple[Context, ChatSession, str | None]]:
        """Go on with the satellite's conversation in a run, which is told what only the next run is told."""
        prompt, self._extra_system_prompt = self._extra_system_prompt, None
        context = Context()
        self.async_set_context(context)
        self._run_has_tts = False
        self._conversing = True
        with async_get_chat_session(self.hass, self._conversation_id) as session:
            self._conversation_id = session.conversation_id
            yield context, session, prompt


def _last_stage(pipeline: Pipeline) -> PipelineStage:
    return PipelineStage.INTENT if pipeline.tts_engine is None else PipelineStage.TTS
