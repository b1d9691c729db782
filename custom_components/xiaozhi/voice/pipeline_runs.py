"""Runs of Assist pipelines for one device, on speech whose end we find, or on a typed question."""

from collections.abc import AsyncIterable
from dataclasses import replace
from typing import Any

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import (
    AudioSettings,
    Pipeline,
    PipelineEvent,
    PipelineEventType,
    PipelineStage,
    VadSensitivity,
)
from homeassistant.components.assist_pipeline.pipeline import PipelineInput, PipelineRun
from homeassistant.core import callback

from ..device.device import Device
from .engine_override import engine_override
from .pipelines import chosen_pipeline
from .satellite_states import SatelliteRun, SatelliteStates, TakeEvent
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
        engine = speech_input.engine_for(self._hass, pipeline)
        with (
            self._satellite.pipeline_run(pipeline, take_event) as run,
            engine_override(self._hass, pipeline, engine) as (pipeline_to_run, engine_is_known),
        ):

            @callback
            def on_event(event: PipelineEvent) -> None:
                if event.type is PipelineEventType.RUN_START:
                    engine_is_known()
                run.on_event(event)

            await self._execute(
                replace(run, on_event=on_event),
                pipeline_to_run,
                PipelineStage.STT,
                AudioSettings(
                    is_vad_enabled=ends_speech,
                    silence_seconds=VadSensitivity.to_seconds(self._fixed_pause() or VadSensitivity.DEFAULT),
                ),
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
            )

    async def run_typed(self, question: str, take_event: TakeEvent) -> None:
        """Run the chosen pipeline on a text. One without a voice ends with the text of the answer."""
        pipeline = chosen_pipeline(self._hass, self._device)
        with self._satellite.pipeline_run(pipeline, take_event) as run:
            await self._execute(run, pipeline, PipelineStage.INTENT, AudioSettings(), intent_input=question)

    async def _execute(
        self,
        run: SatelliteRun,
        pipeline: Pipeline,
        start: PipelineStage,
        audio_settings: AudioSettings,
        **given: Any,
    ) -> None:
        end = PipelineStage.INTENT if pipeline.tts_engine is None else PipelineStage.TTS
        if start is PipelineStage.STT and run.answers_question:
            end = PipelineStage.STT
        pipeline_run = PipelineRun(
            self._hass,
            context=run.context,
            pipeline=pipeline,
            start_stage=start,
            end_stage=end,
            event_callback=run.on_event,
            tts_audio_output=speech_options(self._hass, pipeline.tts_engine),
            audio_settings=audio_settings,
        )
        await PipelineInput(
            run=pipeline_run,
            session=run.session,
            conversation_extra_system_prompt=run.extra_prompt,
            device_id=self._satellite.device_id,
            satellite_id=self._satellite.entity_id,
            **given,
        ).execute(validate=True)

    @callback
    def _fixed_pause(self) -> VadSensitivity | None:
        """Return the pause that the owner has chosen; None for quick and patient."""
        entity_id = self._satellite.vad_sensitivity_entity_id
        state = self._hass.states.get(entity_id) if entity_id else None
        # It has no choice while it is being restored, and none if it is disabled.
        return VadSensitivity(state.state) if state and state.state in VadSensitivity else None
