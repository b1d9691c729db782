"""Runs of Assist pipelines for one device, on speech whose end we find, or on a typed question."""

from collections.abc import AsyncIterable, Generator
from contextlib import contextmanager

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import (
    AudioSettings,
    Pipeline,
    PipelineEvent,
    PipelineStage,
    VadSensitivity,
)
from homeassistant.components.assist_pipeline.pipeline import PipelineInput, PipelineRun
from homeassistant.core import callback

from ..device.device import Device
from .engine_override import EngineOverride
from .pipelines import chosen_pipeline
from .satellite_states import SatelliteStates, TakeEvent
from .speech_format import speech_options
from .speech_input import SpeechInput, SpeechInputs


class PipelineRuns:
    """Runs the pipelines of one device. The caller ends a run by cancelling it."""

    def __init__(self, device: Device, satellite: SatelliteStates, speech_inputs: SpeechInputs) -> None:
        """Show each run in the states of the satellite."""
        self._hass = device.hass
        self._device = device
        self._satellite = satellite
        self._speech_inputs = speech_inputs

    async def speech_input(self, woken_by: str | None, *, by_button: bool, asked_back: bool) -> SpeechInput:
        """Return how to listen to a turn of a conversation that was `woken_by` a wake word.

        The user ends a turn `by_button`. One that answers the assistant, which `asked_back`, is no command.
        """
        pipeline = chosen_pipeline(self._hass, self._device, woken_by)
        if by_button:
            return await self._speech_inputs.for_button(pipeline)
        return await self._speech_inputs.speech_input(
            self._device.subentry_id,
            pipeline,
            self._fixed_pause(),
            device_id=self._satellite.device_id,
            answers_question=asked_back or self._satellite.question_pending,
            timeouts=self._device.timeouts.voice,
        )

    async def run_spoken(
        self,
        audio: AsyncIterable[bytes],
        take_event: TakeEvent,
        *,
        wake_word: str | None,
        woken_by: str | None,
        is_repeated: bool,
        ends_speech: bool,
        speech_input: SpeechInput,
    ) -> None:
        """Run a pipeline on 16 kHz mono 16-bit PCM, the end of which it finds if it `ends_speech`.

        The conversation was `woken_by` a wake word, also if this turn was not. Home Assistant drops a run
        whose wake word it knows from the last two seconds, unless `is_repeated`. One without a voice ends
        with the text of the answer.
        """
        if self._satellite.wake_word_awaited:
            await self._satellite.async_report_wake_word(wake_word)
            return
        pipeline = chosen_pipeline(self._hass, self._device, woken_by)
        with (
            self._satellite.pipeline_run(pipeline, take_event) as run,
            self._overridden(speech_input, pipeline) as override,
        ):

            @callback
            def on_event(event: PipelineEvent) -> None:
                if override is not None:
                    override.on_pipeline_event(event)
                run.on_event(event)

            pipeline_run = PipelineRun(
                self._hass,
                context=run.context,
                pipeline=pipeline if override is None else override.pipeline,
                start_stage=PipelineStage.STT,
                end_stage=PipelineStage.STT if run.answers_question else _last_stage(pipeline),
                event_callback=on_event,
                tts_audio_output=speech_options(self._hass, pipeline.tts_engine),
                audio_settings=AudioSettings(
                    is_vad_enabled=ends_speech,
                    silence_seconds=VadSensitivity.to_seconds(self._fixed_pause() or VadSensitivity.DEFAULT),
                ),
            )
            await PipelineInput(
                run=pipeline_run,
                session=run.session,
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
                conversation_extra_system_prompt=run.extra_prompt,
                device_id=run.device_id,
                satellite_id=run.satellite_id,
            ).execute(validate=True)

    async def run_typed(self, question: str, take_event: TakeEvent) -> None:
        """Run the chosen pipeline on a text. One without a voice ends with the text of the answer."""
        pipeline = chosen_pipeline(self._hass, self._device)
        with self._satellite.pipeline_run(pipeline, take_event) as run:
            pipeline_run = PipelineRun(
                self._hass,
                context=run.context,
                pipeline=pipeline,
                start_stage=PipelineStage.INTENT,
                end_stage=_last_stage(pipeline),
                event_callback=run.on_event,
                tts_audio_output=speech_options(self._hass, pipeline.tts_engine),
            )
            await PipelineInput(
                run=pipeline_run,
                session=run.session,
                intent_input=question,
                conversation_extra_system_prompt=run.extra_prompt,
                device_id=run.device_id,
                satellite_id=run.satellite_id,
            ).execute(validate=True)

    @contextmanager
    def _overridden(self, speech_input: SpeechInput, pipeline: Pipeline) -> Generator[EngineOverride | None]:
        override = speech_input.engine_override(self._hass, pipeline)
        try:
            yield override
        finally:
            if override is not None:
                override.remove()

    @callback
    def _fixed_pause(self) -> VadSensitivity | None:
        """Return the pause that the owner has chosen; None for quick and patient."""
        entity_id = self._satellite.vad_sensitivity_entity_id
        state = self._hass.states.get(entity_id) if entity_id else None
        # It has no choice while it is being restored, and none if it is disabled.
        return VadSensitivity(state.state) if state and state.state in VadSensitivity else None


def _last_stage(pipeline: Pipeline) -> PipelineStage:
    return PipelineStage.INTENT if pipeline.tts_engine is None else PipelineStage.TTS
