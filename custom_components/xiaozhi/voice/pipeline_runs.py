"""A run of an Assist pipeline for one device, on speech whose end we find, or on a typed question.

Home Assistant promises one way into a pipeline for satellites, `async_accept_pipeline_from_satellite`. That
finds the end of speech by itself, takes no text, and knows one assistant for each satellite. So runs are made
here, of classes that are not promised. Where these do not look as they did, turns go the promised way.
"""

from collections.abc import AsyncIterable
from dataclasses import replace
from inspect import signature
from typing import Final

from homeassistant.components import assist_pipeline
from homeassistant.components.assist_pipeline import (
    AudioSettings,
    PipelineEvent,
    PipelineEventType,
    PipelineStage,
)
from homeassistant.core import Context, callback

from ..announcements.speech_format import speech_options
from ..protocol.conversation.state_table import TurnStart
from .questions import Question
from .satellite_states import SatelliteStates, TakeEvent
from .speech_input import SpeechInput
from .speech_to_text import METADATA, speech_to_text
from .turn_errors import FAILED, TurnError

# What is used of Home Assistant's runs: classes with their parameters, and methods.
_PARAMETERS: Final = {
    "PipelineRun": (
        *("hass", "context", "pipeline", "start_stage", "end_stage", "event_callback"),
        *("tts_audio_output", "audio_settings"),
    ),
    "PipelineInput": (
        *("run", "session", "conversation_extra_system_prompt", "device_id", "satellite_id", "intent_input"),
        *("stt_metadata", "stt_stream", "wake_word_phrase"),
    ),
}
_METHODS: Final = {"PipelineRun": ("accept_wake_word", "end"), "PipelineInput": ("execute",)}


@callback
def runs_are_known() -> bool:
    """Whether Home Assistant's runs look as they are used here."""
    if not hasattr(SatelliteStates, "_internal_on_pipeline_event"):
        return False
    for name, wanted in _PARAMETERS.items():
        if not callable(kind := getattr(assist_pipeline, name, None)):
            return False
        if not {*wanted} <= {*signature(kind).parameters} or not all(
            hasattr(kind, method) for method in _METHODS[name]
        ):
            return False
    return True


async def run_pipeline(
    satellite: SatelliteStates,
    start: TurnStart,
    speech_input: SpeechInput,
    question: Question | None,
    audio: AsyncIterable[bytes],
    take_event: TakeEvent,
    *,
    is_repeated: bool,
    runs_are_known: bool,
) -> None:
    """Run a pipeline on 16 kHz mono 16-bit PCM, or on a typed question. The caller ends it by cancelling it.

    The answer to a `question` of an automation does not go to the assistant. `take_event` returns False, and
    drops an event, if the turn has ended: a late event reaches nobody. Home Assistant drops a run whose wake
    word it knows from the last two seconds, unless it `is_repeated`. A pipeline without a voice ends with the
    text of the answer. Unless `runs_are_known`, a spoken turn goes the promised way. Raises
    `HomeAssistantError`.
    """
    hass = satellite.hass
    pipeline = speech_input.pipeline
    is_typed = start.question is not None
    wake_word = None if is_repeated else start.wake_word
    end = PipelineStage.INTENT if pipeline.tts_engine is None else PipelineStage.TTS
    if question is not None:
        end = PipelineStage.STT
    if satellite.wake_word_awaited and not is_typed:
        await satellite.run_as_home_assistant_does(audio, take_event, start.wake_word, end)
        return
    if not runs_are_known:
        if is_typed:
            raise TurnError(FAILED)
        await satellite.run_as_home_assistant_does(audio, take_event, wake_word, end)
        return

    @callback
    def on_event(event: PipelineEvent) -> None:
        if take_event(event):
            satellite.show_stage(event)

    recognizer, hear = speech_input.recognizer, speech_input.hear
    begins_with_text = is_typed or hear is not None
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
            event_callback=on_event,
            tts_audio_output=speech_options(hass, pipeline.tts_engine),
            audio_settings=AudioSettings(is_vad_enabled=silence is not None, silence_seconds=silence or 0),
        )
        try:
            text, prompt = start.question, begun_with
            if hear is not None and recognizer is not None:
                if wake_word is not None:
                    run.accept_wake_word(wake_word)
                text = await speech_to_text(recognizer, hear, audio, on_event)
                if end is PipelineStage.STT:
                    on_event(PipelineEvent(PipelineEventType.RUN_END))
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
                stt_stream=audio,
                wake_word_phrase=None if begins_with_text else wake_word,
            ).execute(validate=True)
        finally:
            await run.end()
