"""How the turns of all devices are listened to: what ends them, and whether they are transcribed early."""

from dataclasses import dataclass, field, replace
from functools import partial

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import (
    Pipeline,
    VadSensitivity,
)
from homeassistant.core import HomeAssistant, callback

from ..device.device import Device
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
from .engine_override import Engine, OverridingEngine
from .pipelines import chosen_pipeline, transcribes_early
from .satellite_states import SatelliteStates
from .speech_detectors import SpeechDetectors, TurnDetector
from .understood_commands import UnderstoodCommands


@dataclass(eq=False, slots=True)
class SpeechInput:
    """How one turn is listened to, and the pipeline that it goes to."""

    pipeline: Pipeline
    detector: TurnDetector | None = None
    """What finds speech and its end."""
    pipeline_silence: float | None = None
    """Seconds of silence by which the pipeline finds the end, if it has to."""
    override_engine: OverridingEngine | None = None
    """What transcribes in the place of the pipeline's engine; None if that is as good."""
    early: EarlyTranscripts | None = None
    """Early transcripts, if there are any."""
    calls: EngineCalls = field(default_factory=EngineCalls)
    """The use of the engine by all devices."""

    @property
    def ending(self) -> EndOfTurn:
        """What has decided that the turn has ended, where a detector has found the end."""
        return EndOfTurn.PAUSE if self.early is None else self.early.ending

    @callback
    def began(self) -> None:
        """Somebody speaks."""
        self.calls.speaking.add(self)

    @callback
    def understood(self) -> None:
        """The engine has nothing more to do for the turn."""
        self.calls.speaking.discard(self)

    @callback
    def close(self) -> None:
        """End the turn."""
        self.understood()
        if self.early is not None:
            self.early.ended = True


class SpeechInputs:
    """What all devices share in listening."""

    def __init__(self, hass: HomeAssistant, detectors: SpeechDetectors, create_task: CreateTask) -> None:
        """Use the detectors of the gateway. Tasks end with the gateway."""
        self.detectors = detectors
        self.chosen_by_owner = set[str]()
        """Subentries of the devices whose owner has chosen early transcripts instead of being given them.

        A device that is deleted and added again has agreed to nothing.
        """
        self._hass = hass
        self._create_task = create_task
        self._commands = UnderstoodCommands(hass)
        self._engines: dict[str, EngineCalls] = {}

    async def speech_input(
        self,
        device: Device,
        satellite: SatelliteStates,
        woken_by: str | None,
        *,
        by_button: bool,
        asked_back: bool,
    ) -> SpeechInput:
        """Return how to listen to a turn of a conversation that was `woken_by` a wake word.

        The user ends a turn `by_button`. One that answers the assistant, which `asked_back`, is no command.
        """
        hass = self._hass
        pipeline = chosen_pipeline(hass, device, woken_by)
        engine_id = pipeline.stt_engine
        engine: Engine | None = None
        if engine_id is not None:
            engine = stt.async_get_speech_to_text_engine(hass, engine_id)
        calls = self._engines.setdefault(engine_id or "", EngineCalls())
        answers_question = asked_back or satellite.question_pending
        chosen = device.subentry_id in self.chosen_by_owner
        fixed_pause = self._fixed_pause(satellite)
        pause = fixed_pause or VadSensitivity.DEFAULT
        if by_button:
            engine, settings = None, UNTIL_RELEASED
        elif (
            engine is None
            or fixed_pause
            or not transcribes_early(hass, pipeline, engine, chosen_by_owner=chosen)
        ):
            engine, settings = None, FIXED_PAUSES[pause]
            if answers_question:
                settings = replace(settings, begin=SHORTEST_WORD)
        else:
            settings = ANSWER_TO_QUESTION if answers_question else QUICK_AND_PATIENT
        detector = await self.detectors.async_load(settings)
        speech_input = SpeechInput(pipeline, detector, calls=calls)
        if detector is None and not by_button:
            speech_input.pipeline_silence = VadSensitivity.to_seconds(pause)
        speech_input.override_engine = engine_in_script(hass, pipeline)
        if engine is not None and detector is not None:
            engine = speech_input.override_engine or engine
            is_understood = partial(
                self._commands.async_is_understood, pipeline=pipeline, device_id=device.registry_id
            )
            speech_input.early = EarlyTranscripts(
                speech_input,
                engine,
                calls,
                detector,
                None if answers_question else is_understood,
                self._create_task,
                device.timeouts.voice,
            )
            speech_input.override_engine = OverridingEngine(engine, speech_input.early.transcribe)
        return speech_input

    @callback
    def _fixed_pause(self, satellite: SatelliteStates) -> VadSensitivity | None:
        """Return the pause that the owner has chosen; None for *By what was said*."""
        entity_id = satellite.vad_sensitivity_entity_id
        state = self._hass.states.get(entity_id) if entity_id else None
        # It has no choice while it is being restored, and none if it is disabled.
        return VadSensitivity(state.state) if state and state.state in VadSensitivity else None
