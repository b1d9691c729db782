"""How the turns of all devices are listened to: what ends them, and whether they are transcribed early."""

from dataclasses import replace
from functools import partial

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import (
    Pipeline,
    PipelineEvent,
    PipelineEventType,
    VadSensitivity,
)
from homeassistant.core import HomeAssistant, callback

from ..timeouts import VoiceTimeouts
from .chinese_script import engine_in_script
from .early_engines import transcribes_early
from .early_transcripts import CreateTask, EarlyTranscripts, EngineCalls
from .end_of_turn import (
    ANSWER_TO_QUESTION,
    FIXED_PAUSES,
    QUICK_AND_PATIENT,
    SHORTEST_WORD,
    UNTIL_RELEASED,
    EndOfTurn,
)
from .engine_override import OverridingEngine
from .speech_detectors import SpeechDetectors, TurnDetector
from .understood_commands import UnderstoodCommands


class SpeechInput:
    """How one turn is listened to."""

    def __init__(self, detector: TurnDetector | None = None, calls: EngineCalls | None = None) -> None:
        """Find speech and its end with a detector; None if the pipeline or a button has to find the end."""
        self.detector = detector
        self.early: EarlyTranscripts | None = None
        """Early transcripts, if there are any."""
        self.override_engine: OverridingEngine | None = None
        """What transcribes in the place of the pipeline's engine."""
        self.engine_id: str | None = None
        """The engine that is meant, if the pipeline still has it."""
        self._calls = calls

    @property
    def ending(self) -> EndOfTurn:
        """What has decided that the turn has ended, where a detector has found the end."""
        return EndOfTurn.PAUSE if self.early is None else self.early.ending

    def engine_for(self, hass: HomeAssistant, pipeline: Pipeline) -> OverridingEngine | None:
        """Return the engine of ours for a run of the pipeline; None if its own is as good."""
        engine = self.override_engine
        if engine is None or self.engine_id != pipeline.stt_engine:
            engine = engine_in_script(hass, pipeline)
        return engine

    @callback
    def began(self) -> None:
        """Somebody speaks."""
        if self._calls is not None:
            self._calls.speaking(self)

    @callback
    def on_pipeline_event(self, event: PipelineEvent) -> None:
        """Follow the run of the pipeline."""
        if event.type is PipelineEventType.STT_END and self._calls is not None:
            self._calls.understood(self)

    @callback
    def close(self) -> None:
        """End the turn."""
        if self._calls is not None:
            self._calls.understood(self)
        if self.early is not None:
            self.early.close()


class SpeechInputs:
    """What all devices share in listening."""

    def __init__(self, hass: HomeAssistant, detectors: SpeechDetectors, create_task: CreateTask) -> None:
        """Use the detectors of the gateway. Tasks end with the gateway."""
        self.chosen_by_owner = set[str]()
        """Subentries of the devices whose owner has chosen early transcripts instead of being given them.

        A device that is deleted and added again has agreed to nothing.
        """
        self._hass = hass
        self._detectors = detectors
        self._create_task = create_task
        self._commands = UnderstoodCommands(hass)
        self._engines: dict[str, EngineCalls] = {}

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
        chosen = subentry_id in self.chosen_by_owner
        if sensitivity is not None or not transcribes_early(
            self._hass, pipeline, engine, chosen_by_owner=chosen
        ):
            return SpeechInput(await self._detectors.async_load(fixed), calls)
        settings = ANSWER_TO_QUESTION if answers_question else QUICK_AND_PATIENT
        detector = await self._detectors.async_load(settings)
        speech_input = SpeechInput(detector, calls)
        if detector is not None:
            is_understood = None
            if not answers_question:
                is_understood = partial(
                    self._commands.async_is_understood, pipeline=pipeline, device_id=device_id
                )
            engine = engine_in_script(self._hass, pipeline) or engine
            speech_input.early = EarlyTranscripts(
                speech_input, engine, calls, detector, is_understood, timeouts
            )
            speech_input.override_engine = OverridingEngine(engine, speech_input.early.transcribe)
            speech_input.engine_id = pipeline.stt_engine
        return speech_input

    async def for_button(self, pipeline: Pipeline) -> SpeechInput:
        """Return how to listen to a turn that a button ends."""
        detector = await self._detectors.async_load(UNTIL_RELEASED)
        return SpeechInput(detector, self._calls_of(pipeline.stt_engine) if pipeline.stt_engine else None)

    def _calls_of(self, engine_id: str) -> EngineCalls:
        return self._engines.setdefault(engine_id, EngineCalls(self._create_task))
