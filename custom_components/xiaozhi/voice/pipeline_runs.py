"""A run of an Assist pipeline for one device, on speech whose end we find, or on a typed question."""

from collections.abc import AsyncIterable, Callable

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import (
    AudioSettings,
    PipelineEvent,
    PipelineEventType,
    PipelineStage,
)
from homeassistant.components.assist_pipeline.pipeline import PipelineInput, PipelineRun
from homeassistant.core import Context, callback

from ..protocol.conversation.state_table import TurnStart
from .engine_override import engine_override
from .satellite_states import SatelliteStates
from .speech_format import speech_options
from .speech_input import SpeechInput


async def run_pipeline(
    satellite: SatelliteStates,
    start: TurnStart,
    speech_input: SpeechInput,
    audio: AsyncIterable[bytes],
    take_event: Callable[[PipelineEvent], bool],
    *,
    is_repeated: bool,
) -> None:
    """Run a pipeline on 16 kHz mono 16-bit PCM, or on a typed question. The caller ends it by cancelling it.

    `take_event` returns False, and drops an event, if the turn has ended: a late event reaches nobody.
    Home Assistant drops a run whose wake word it knows from the last two seconds, unless it `is_repeated`. A
    pipeline without a voice ends with the text of the answer.
    """
    hass = satellite.hass
    is_typed = start.question is not None
    if satellite.wake_word_awaited and not is_typed:
        await satellite.async_accept_pipeline_from_satellite(audio, wake_word_phrase=start.wake_word)
        return
    pipeline = speech_input.pipeline
    context = Context()
    satellite.async_set_context(context)
    with (
        satellite.pipeline_run(pipeline) as (session, prompt),
        engine_override(hass, pipeline, speech_input.override_engine) as (pipeline_to_run, engine_is_known),
    ):

        @callback
        def on_event(event: PipelineEvent) -> None:
            if event.type is PipelineEventType.RUN_START:
                engine_is_known()
            if take_event(event):
                satellite.show_stage(event)

        end = PipelineStage.INTENT if pipeline.tts_engine is None else PipelineStage.TTS
        if satellite.question_pending and not is_typed:
            # The transcript goes to an automation, and not to the assistant.
            end = PipelineStage.STT
        silence = speech_input.pipeline_silence
        await PipelineInput(
            run=PipelineRun(
                hass,
                context=context,
                pipeline=pipeline_to_run,
                start_stage=PipelineStage.INTENT if is_typed else PipelineStage.STT,
                end_stage=end,
                event_callback=on_event,
                tts_audio_output=speech_options(hass, pipeline.tts_engine),
                audio_settings=AudioSettings(
                    is_vad_enabled=silence is not None, silence_seconds=silence or 0
                ),
            ),
            session=session,
            conversation_extra_system_prompt=prompt,
            device_id=satellite.device.registry_id,
            satellite_id=satellite.entity_id,
            intent_input=start.question,
            stt_metadata=stt.SpeechMetadata(
                language="",
                format=stt.AudioFormats.WAV,
                codec=stt.AudioCodecs.PCM,
                bit_rate=stt.AudioBitRates.BITRATE_16,
                sample_rate=stt.AudioSampleRates.SAMPLERATE_16000,
                channel=stt.AudioChannels.CHANNEL_MONO,
            ),
            stt_stream=audio,
            wake_word_phrase=None if is_repeated else start.wake_word,
        ).execute(validate=True)
