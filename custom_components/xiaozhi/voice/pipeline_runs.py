"""A run of an Assist pipeline for one device, on speech whose end we find, or on a typed question.

Home Assistant promises one way into a pipeline for satellites, `async_accept_pipeline_from_satellite`. That
finds the end of speech by itself, takes no text, and knows one assistant for each satellite. So runs are made
here, of classes that are not promised. If these have changed, turns go the promised way.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Callable
from dataclasses import replace
from inspect import signature
from typing import Final

from homeassistant.components import assist_pipeline
from homeassistant.components.assist_pipeline import PipelineEvent, PipelineEventType, PipelineStage
from homeassistant.components.assist_satellite import AssistSatelliteEntity
from homeassistant.core import Context, callback
from homeassistant.helpers.chat_session import async_get_chat_session

from ..announcements.announcement_speech import speech_options
from ..protocol.conversation.state_table import TurnStart
from ..texts.issues import Part, async_report_change, has_changed
from .satellite_states import NO_USER, SatelliteStates
from .speech_input import SpeechInput
from .speech_to_text import METADATA, speech_to_text
from .turn_errors import FAILED, TurnError

_RUN: Final = (
    *("context", "pipeline", "start_stage", "end_stage", "event_callback", "tts_audio_output"),
    "audio_settings",
)
_INPUT: Final = (
    *("run", "session", "conversation_extra_system_prompt", "device_id", "satellite_id", "intent_input"),
    *("stt_metadata", "stt_stream", "wake_word_phrase"),
)
# Errors of calls that Home Assistant no longer takes.
_CHANGES: Final = (AttributeError, ImportError, TypeError)


def check_runs() -> None:
    """Raise `AttributeError` or `TypeError` if Home Assistant does not take these arguments."""
    run, given = assist_pipeline.PipelineRun, assist_pipeline.PipelineInput
    for takes, number, names in (
        (run, 1, _RUN),
        (run.accept_wake_word, 2, ()),
        (run.end, 1, ()),
        (given, 0, _INPUT),
        (given.execute, 1, ("validate",)),
        (assist_pipeline.AudioSettings, 0, ("is_vad_enabled", "silence_seconds")),
        (async_get_chat_session, 2, tuple(NO_USER)),
        (AssistSatelliteEntity._internal_on_pipeline_event, 2, ()),  # noqa: SLF001
    ):
        signature(takes).bind(*(None,) * number, **dict.fromkeys(names))


class _Watched:
    """The audio and the events of a turn, with notes of what was used."""

    def __init__(
        self, satellite: SatelliteStates, audio: AsyncIterable[bytes], take: Callable[[PipelineEvent], bool]
    ) -> None:
        self.satellite = satellite
        self._audio = audio
        self._take = take
        self.was_read = False
        self.has_begun = False

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        async for chunk in self._audio:
            self.was_read = True
            yield chunk

    @callback
    def take_event(self, event: PipelineEvent) -> None:
        if self._take(event):
            self.satellite.show_stage(event)
        # A run that could not begin ends all the same.
        self.has_begun |= str(event.type) == "run-start"


async def run_pipeline(
    satellite: SatelliteStates,
    speech_input: SpeechInput,
    start: TurnStart,
    audio: AsyncIterable[bytes],
    take: Callable[[PipelineEvent], bool],
    *,
    is_repeated: bool,
    is_answer: bool,
) -> None:
    """Run a pipeline on 16 kHz mono 16-bit PCM, or on a typed question. The caller ends it by cancelling it.

    `take` takes its events, and returns False if the turn has ended. What `is_answer` to a question of an
    automation does not go to the assistant. Home Assistant drops a run whose wake word it knows from the last
    two seconds, unless it `is_repeated`. A pipeline without a voice ends with the text of the answer. Where
    Home Assistant's runs have changed, a spoken turn goes the promised way. Raises `HomeAssistantError`.
    """
    wake_word = None if is_repeated else start.wake_word
    end = PipelineStage.INTENT if speech_input.pipeline.tts_engine is None else PipelineStage.TTS
    if is_answer:
        end = PipelineStage.STT
    is_typed = start.question is not None
    if satellite.wake_word_awaited and not is_typed:
        await satellite.run_as_home_assistant_does(audio, take, start.wake_word, end)
        return
    watched = _Watched(satellite, audio, take)
    if not has_changed(satellite.hass, Part.RUNS):
        try:
            await _run(watched, speech_input, start.question, wake_word, end)
        except _CHANGES as err:
            if watched.has_begun:
                raise
            async_report_change(satellite.hass, Part.RUNS, err)
            # That run may have taken it already.
            wake_word = None
        else:
            return
    if is_typed or watched.was_read:
        raise TurnError(FAILED)
    await satellite.run_as_home_assistant_does(audio, take, wake_word, end)


async def _run(
    watched: _Watched,
    speech_input: SpeechInput,
    question: str | None,
    wake_word: str | None,
    end: PipelineStage,
) -> None:
    """Make a run of Home Assistant's, which may have changed: raises anything then."""
    satellite = watched.satellite
    hass, pipeline = satellite.hass, speech_input.pipeline
    recognizer, transcribe = speech_input.recognizer, speech_input.transcribe
    begins_with_text = question is not None or transcribe is not None
    silence = speech_input.pipeline_silence
    context = Context()
    satellite.async_set_context(context)
    with satellite.chat_session(pipeline) as (session, begun_with):
        run = assist_pipeline.PipelineRun(
            hass,
            context=context,
            pipeline=pipeline,
            start_stage=PipelineStage.INTENT if begins_with_text else PipelineStage.STT,
            end_stage=PipelineStage.INTENT if begins_with_text and end is PipelineStage.STT else end,
            event_callback=watched.take_event,
            tts_audio_output=speech_options(hass, pipeline.tts_engine),
            audio_settings=assist_pipeline.AudioSettings(
                is_vad_enabled=silence is not None, silence_seconds=silence or 0
            ),
        )
        try:
            text, prompt = question, begun_with
            if question is not None:
                prompt = satellite.prompt_without_speaker(session, prompt)
            if transcribe is not None and recognizer is not None:
                if wake_word is not None:
                    run.accept_wake_word(wake_word)
                text = await speech_to_text(recognizer, transcribe, watched, watched.take_event)
                if end is PipelineStage.STT:
                    watched.take_event(PipelineEvent(PipelineEventType.RUN_END))
                    return
                if recognizer.names_speakers:
                    prompt = satellite.prompt_with_speaker(session, prompt, recognizer.speaker)
            await assist_pipeline.PipelineInput(
                run=run,
                session=session,
                conversation_extra_system_prompt=prompt,
                device_id=satellite.device.registry_id,
                satellite_id=satellite.entity_id,
                intent_input=text,
                stt_metadata=replace(METADATA),
                stt_stream=watched,
                wake_word_phrase=None if begins_with_text else wake_word,
            ).execute(validate=True)
        finally:
            await run.end()
