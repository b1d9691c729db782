"""Listening to the turns of all devices: their end, and their early transcripts."""

from dataclasses import dataclass, field, replace

from homeassistant.components import stt
from homeassistant.components.assist_pipeline import Pipeline, VadSensitivity
from homeassistant.core import HomeAssistant, callback

from ..device.device import Device
from .chinese_script import script_converter
from .early_transcripts import EarlyTranscripts, EngineCalls, ProgressiveTranscripts
from .end_of_turn import (
    ANSWER_TO_QUESTION,
    FIXED_PAUSES,
    MESSAGE,
    QUICK_AND_PATIENT,
    SHORTEST_WORD,
    UNTIL_RELEASED,
    EndOfTurn,
)
from .patience import patience
from .pipelines import END_OF_SPEECH_SELECT, assist_select, chosen_pipeline, transcribes_early
from .speech_detectors import SpeechDetectors, TurnDetector
from .speech_to_text import Recognizer, Transcribe
from .understood_commands import UnderstoodCommands


@dataclass(eq=False, slots=True)
class SpeechInput:
    """Settings and engines for one turn, with its pipeline."""

    device: Device
    pipeline: Pipeline
    detector: TurnDetector | None = None
    """Finds speech and its end."""
    pipeline_silence: float | None = None
    """Seconds of silence by which the pipeline finds the end, if it has to."""
    recognizer: Recognizer | None = None
    """The engine of the pipeline, if there is one."""
    transcribe: Transcribe | None = None
    """Transcribes in place of the pipeline; None if the pipeline does."""
    early: EarlyTranscripts | ProgressiveTranscripts | None = None
    """Transcripts before the end of the turn, if there are any."""
    calls: EngineCalls = field(default_factory=EngineCalls)
    """The use of the engine by all devices."""
    commands: UnderstoodCommands | None = None
    """Recognises whole commands, if the words decide how long people may pause."""
    longest_pause: float = 0.0
    """Seconds of the longest pause after which speech went on, if pauses are reported."""

    @property
    def teaches_patience(self) -> bool:
        """Whether the words decide how long people may pause."""
        return self.commands is not None

    async def is_whole_command(self, text: str) -> bool:
        """Whether a text is a complete command, if that matters."""
        return self.commands is not None and await self.commands.async_is_understood(
            text, pipeline=self.pipeline, device_id=self.device.registry_id
        )

    @property
    def ending(self) -> EndOfTurn:
        """The reason for the end of the turn, if a detector has found it."""
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
    """Prepares the turns of all devices."""

    def __init__(self, hass: HomeAssistant, detectors: SpeechDetectors) -> None:
        """Use the detectors of the gateway."""
        self.detectors = detectors
        self.chosen_by_owner = set[str]()
        """Subentries of the devices whose owner has chosen early transcripts instead of being given them.

        A device that is deleted and added again has agreed to nothing.
        """
        self._hass = hass
        self._commands = UnderstoodCommands(hass)
        self._engines: dict[str, EngineCalls] = {}

    async def speech_input(
        self, device: Device, woken_by: str | None, *, by_button: bool, answers_question: bool
    ) -> SpeechInput:
        """Return the input for a turn of a conversation that was `woken_by` a wake word.

        The user ends a turn `by_button`. One that answers a question is no command.
        """
        pipeline = chosen_pipeline(self._hass, device, woken_by)
        recognizer = self._recognizer(pipeline)
        calls = self._engines.setdefault(pipeline.stt_engine or "", EngineCalls())
        fixed_pause = self._fixed_pause(device)
        pause = fixed_pause or VadSensitivity.DEFAULT
        asks_early = not (by_button or fixed_pause) and self._asks_early(device, pipeline, recognizer)
        patient = replace(QUICK_AND_PATIENT, silence=patience(device.state.pauses))
        settings = patient if asks_early else FIXED_PAUSES[pause]
        if by_button:
            settings = UNTIL_RELEASED
        elif answers_question:
            settings = ANSWER_TO_QUESTION if asks_early else replace(settings, begin=SHORTEST_WORD)
        detector = await self.detectors.async_load(settings)
        speech_input = SpeechInput(device, pipeline, detector, recognizer=recognizer, calls=calls)
        if detector is None and not by_button:
            # The pipeline finds the end of speech, and so it has to transcribe.
            speech_input.pipeline_silence = VadSensitivity.to_seconds(pause)
        elif recognizer is not None:
            if asks_early and not answers_question:
                speech_input.commands = self._commands
            self._transcribe(speech_input, recognizer, asks_early=asks_early)
        return speech_input

    async def recording(self, device: Device, *, by_button: bool) -> SpeechInput:
        """Return how to listen to a voice message, which no engine is given."""
        detector = await self.detectors.async_load_any(UNTIL_RELEASED if by_button else MESSAGE)
        return SpeechInput(device, chosen_pipeline(self._hass, device), detector)

    @callback
    def _transcribe(self, speech_input: SpeechInput, recognizer: Recognizer, *, asks_early: bool) -> None:
        """Transcribe in place of the pipeline if that is better, and early if the owner wants that."""
        if recognizer.convert is not None or recognizer.names_speakers:
            speech_input.transcribe = recognizer.transcribe
        if speech_input.detector is None or not (asks_early or recognizer.reports_progress):
            return
        kind = ProgressiveTranscripts if recognizer.reports_progress else EarlyTranscripts
        speech_input.early = kind(speech_input, recognizer, speech_input.detector)
        speech_input.transcribe = speech_input.early.transcribe

    @callback
    def _asks_early(self, device: Device, pipeline: Pipeline, recognizer: Recognizer | None) -> bool:
        if recognizer is None:
            return False
        chosen = device.subentry_id in self.chosen_by_owner
        return recognizer.reports_progress or transcribes_early(
            self._hass, pipeline, recognizer.engine, chosen_by_owner=chosen
        )

    @callback
    def _recognizer(self, pipeline: Pipeline) -> Recognizer | None:
        engine = pipeline.stt_engine and stt.async_get_speech_to_text_engine(self._hass, pipeline.stt_engine)
        return Recognizer(engine, pipeline, script_converter(self._hass, pipeline)) if engine else None

    @callback
    def _fixed_pause(self, device: Device) -> VadSensitivity | None:
        """Return the pause that the owner has chosen; None for *By what was said*."""
        entity_id = assist_select(self._hass, device, END_OF_SPEECH_SELECT)
        state = self._hass.states.get(entity_id) if entity_id else None
        # It has no choice while it is being restored, and none if it is disabled.
        return VadSensitivity(state.state) if state and state.state in VadSensitivity else None
