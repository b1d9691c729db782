"""How the turns of all devices are listened to: what ends them, and whether they are transcribed early."""

from dataclasses import replace
from functools import partial
from typing import Any

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import (
    Pipeline,
    PipelineEvent,
    PipelineEventType,
    VadSensitivity,
)
from homeassistant.core import HomeAssistant, callback

from ..protocol.clock import loop_time
from ..timeouts import VoiceTimeouts
from .chinese_script import engine_in_script
from .early_transcripts import CreateTask, EarlyTranscripts, EngineCalls
from .end_of_turn import (
    ANSWER_TO_QUESTION,
    FIXED_PAUSES,
    QUICK_AND_PATIENT,
    SHORTEST_WORD,
    UNTIL_RELEASED,
    EndOfTurn,
)
from .engine_override import EngineOverride, OverridingEngine
from .engine_trial import Trial, kind_of
from .speech_detectors import SpeechDetectors, TurnDetector
from .understood_commands import UnderstoodCommands


class SpeechInput:
    """How one turn is listened to."""

    def __init__(
        self,
        detector: TurnDetector | None = None,
        calls: EngineCalls | None = None,
        trial: Trial | None = None,
    ) -> None:
        """Find speech and its end with a detector; None if the pipeline or a button has to find the end."""
        self.detector = detector
        self.early: EarlyTranscripts | None = None
        """Early transcripts, if there are any."""
        self.override_engine: OverridingEngine | None = None
        """What transcribes in the place of the pipeline's engine."""
        self.engine_id: str | None = None
        """The engine that is meant, if the pipeline still has it."""
        self._calls = calls
        self._trial = trial
        self._ended_at: float | None = None

    @property
    def ending(self) -> EndOfTurn:
        """What has decided that the turn has ended, where a detector has found the end."""
        return EndOfTurn.PAUSE if self.early is None else self.early.ending

    def engine_override(self, hass: HomeAssistant, pipeline: Pipeline) -> EngineOverride | None:
        """Let a run of the pipeline use an engine of ours; None if its own is as good."""
        engine = self.override_engine
        if engine is None or self.engine_id != pipeline.stt_engine:
            engine = engine_in_script(hass, pipeline)
        return None if engine is None else EngineOverride(hass, pipeline, engine)

    @callback
    def began(self) -> None:
        """Somebody speaks."""
        if self._calls is not None:
            self._calls.speaking(self)

    @callback
    def heard_all(self, silent_for: float | None) -> None:
        """All of the audio is there."""
        if silent_for is not None:
            self._ended_at = loop_time()

    @callback
    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Follow the run of the pipeline."""
        if event.type is not PipelineEventType.STT_END or self._calls is None:
            return
        self._calls.understood(self)
        if self._trial is not None and self._ended_at is not None and self.early is None:
            self._trial.plain(loop_time() - self._ended_at)

    @callback
    def close(self) -> None:
        """End the turn."""
        if self._calls is not None:
            self._calls.understood(self)
        if self.early is not None:
            self.early.close()


class SpeechInputs:
    """What all devices share in listening, and what each has found out about its engine.

    Devices are known by their subentry: one that is deleted and added again has agreed to nothing.
    """

    def __init__(self, hass: HomeAssistant, detectors: SpeechDetectors, create_task: CreateTask) -> None:
        """Use the detectors of the gateway. Tasks end with the gateway."""
        self.chosen_by_owner = set[str]()
        """Subentries of the devices whose owner has chosen early transcripts instead of being given them."""
        self._hass = hass
        self._detectors = detectors
        self._create_task = create_task
        self._commands = UnderstoodCommands(hass)
        self._engines: dict[str, EngineCalls] = {}
        self._trials: dict[tuple[str, str], Trial] = {}

    async def speech_input(
        self,
        subentry_id: str,
        pipeline: Pipeline,
        sensitivity: VadSensitivity | None,
        *,
        device_id: str | None,
        answers_question: bool,
        timeouts: VoiceTimeouts,
    ) -> SpeechInput:
        """Return how to listen to a turn of a device. None for `sensitivity` is quick and patient."""
        fixed = FIXED_PAUSES[sensitivity or VadSensitivity.DEFAULT]
        if answers_question:
            fixed = replace(fixed, begin=SHORTEST_WORD)
        engine = pipeline.stt_engine and stt.async_get_speech_to_text_engine(self._hass, pipeline.stt_engine)
        if not engine or not pipeline.stt_engine:
            return SpeechInput(await self._detectors.async_load(fixed))
        calls = self._calls_of(pipeline.stt_engine)
        trial = self._trials.setdefault((subentry_id, pipeline.stt_engine), Trial(kind_of(engine)))
        chosen = subentry_id in self.chosen_by_owner
        if sensitivity is not None or not trial.transcribes_early(chosen_by_owner=chosen):
            return SpeechInput(await self._detectors.async_load(fixed), calls, trial)
        settings = ANSWER_TO_QUESTION if answers_question else QUICK_AND_PATIENT
        detector = await self._detectors.async_load(settings)
        speech_input = SpeechInput(detector, calls, trial)
        if detector is not None:
            is_understood = None
            if not answers_question:
                is_understood = partial(
                    self._commands.async_is_understood, pipeline=pipeline, device_id=device_id
                )
            engine = engine_in_script(self._hass, pipeline) or engine
            speech_input.early = EarlyTranscripts(
                speech_input, engine, calls, trial, detector, is_understood, timeouts
            )
            speech_input.override_engine = OverridingEngine(engine, speech_input.early.transcribe)
            speech_input.engine_id = pipeline.stt_engine
        return speech_input

    async def for_button(self, pipeline: Pipeline) -> SpeechInput:
        """Return how to listen to a turn that a button ends."""
        detector = await self._detectors.async_load(UNTIL_RELEASED)
        return SpeechInput(detector, self._calls_of(pipeline.stt_engine) if pipeline.stt_engine else None)

    def describe(self, subentry_id: str) -> list[dict[str, Any]]:
        """Return what a device has found out about its engines, for diagnostics."""
        return [
            {"id": engine_id, "dropped": self._engines[engine_id].dropped, **trial.describe()}
            for (owner, engine_id), trial in self._trials.items()
            if owner == subentry_id
        ]

    def _calls_of(self, engine_id: str) -> EngineCalls:
        return self._engines.setdefault(engine_id, EngineCalls(self._create_task))
