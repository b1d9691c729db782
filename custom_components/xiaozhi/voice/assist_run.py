"""A run of Assist for one turn: speech into the pipeline, its events onto the screen and loudspeaker."""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
import logging
from math import inf
from typing import TYPE_CHECKING, Any, Final

from homeassistant.components.assist_pipeline import PipelineEvent, PipelineEventType
from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..announcements.conversation_speech import time_to_read
from ..announcements.room_sound import Said
from ..device.events import ConversationEvent
from ..device.state import RESPONSE
from ..device.turn_times import TurnStep, TurnTimes
from ..protocol import messages
from ..protocol.conversation.caption_text import has_words
from ..protocol.faces import Face
from ..protocol.messages import ListenMode
from ..protocol.transport.link import LinkClosedError
from ..timeouts import VoiceTimeouts
from ..util.event_loop import loop_time
from .answer import Answer
from .patience import after_turn
from .pipeline_runs import run_pipeline
from .speech_input import SpeechInput
from .speech_to_text import checked_transcript
from .spoken_audio import SpokenAudio
from .turn_errors import (
    ASSISTANT_HANGS,
    NO_SPEECH,
    RECOGNITION_HANGS,
    SPEECH_FAILED,
    SPEECH_HANGS,
    UNHEARD,
    TurnError,
    async_error_text,
)

if TYPE_CHECKING:
    from .turn import Turn

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """The result of a turn, and whether the conversation goes on after it."""

    answered: bool = False
    asked_back: bool = False
    """Whether the answer ends with a question of the assistant."""
    refused: bool = False
    """Whether there was nothing to act on: no failure."""
    error: str | None = None
    """Code of the error; empty for one without a code."""
    goes_on: bool = False
    spoken_over: Said | None = None
    """The answer over which the user speaks in the next turn."""


# Errors after which the text of the answer is known, but not spoken.
_VOICE_ERRORS: Final = frozenset({SPEECH_FAILED, SPEECH_HANGS})
# The types of events are documented, the names of their members are not. The first piece of a streamed answer
# is a first word, too.
_STEPS: Final = {
    "stt-vad-end": TurnStep.DETECTED,
    "stt-end": TurnStep.TRANSCRIPT,
    "intent-end": TurnStep.FIRST_WORD,
}


class AssistRun:
    """Runs Assist for one turn of a conversation.

    Pipeline events come from a callback; one task takes them in order and talks to the device, another plays.
    """

    def __init__(self, held: Turn, speech_input: SpeechInput, no_speech: float, *, is_repeated: bool) -> None:
        """Speech may begin for `no_speech` seconds; in a patient turn, the pipeline runs from then on.

        With `is_repeated`, Home Assistant knows the wake word already.
        """
        self.held = held
        self.speech_input = speech_input
        self._is_repeated = is_repeated
        self.device = held.device
        self.conversation = held.conversation
        self._hass = held.device.hass
        self._audio = held.audio
        self._no_speech = no_speech
        self._is_push_to_talk = held.audio.start.mode is ListenMode.MANUAL
        self.answer = Answer(
            self.device, self.conversation, partial(self.passed, TurnStep.FIRST_SOUND), self.speaks
        )
        self.error: str | None = None
        """Code of the error; None without one, empty for one without a code."""
        self.times = TurnTimes()
        self.taught_patience = False
        """Whether the last of the device's pauses is that of this turn."""
        self._events: asyncio.Queue[PipelineEvent | None] = asyncio.Queue()
        self._token: str | None = None
        self._acknowledges = False
        self._pipeline: asyncio.Task[None] | None = None
        self._playing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._speech_ended = False
        self._silent_for = 0.0
        self._reported = False
        self._ended = False

    @property
    def result(self) -> TurnResult:
        """The result of the turn after its run."""
        answered = self.error is None
        return TurnResult(
            answered=answered,
            asked_back=answered and self.answer.asks_back,
            refused=self.error in UNHEARD,
            error=self.error,
        )

    @callback
    def end(self) -> None:
        """Take no more events of the run, which may not let itself be cancelled."""
        self._ended = True
        self._stop_timer()

    @callback
    def take_event(self, event: PipelineEvent) -> bool:
        """Take an event of this turn's pipeline run; False if the turn has ended.

        Raises `TurnError`, which ends the run.
        """
        if self._ended:
            return False
        data = event.data or {}
        if (trace := self._audio.trace) is not None:
            trace.text("pipeline", (data.get("stt_output") or {}).get("text"), event=str(event.type))
        match str(event.type):
            case "stt-start" | "stt-vad-start":
                self._wait_for_transcript(data)
            case "stt-vad-end":
                self._wait_at_most(VoiceTimeouts.recognition)
            case "stt-end":
                self.speech_input.understood()
                if (code := self.held.refuse(checked_transcript(data["stt_output"]["text"]))) is not None:
                    raise TurnError(code)
                self._wait_at_most(VoiceTimeouts.quiet)
            case _:
                self._wait_at_most(VoiceTimeouts.quiet)
        if (step := _STEPS.get(event.type)) is not None or _content(data):
            self.passed(step or TurnStep.FIRST_WORD)
        self._events.put_nowait(event)
        return True

    async def run(self) -> None:
        """Run the turn until the answer is sent. Raises `LinkClosedError` when the device goes away."""
        try:
            if self._audio.start.question is not None:
                self.passed(TurnStep.TRANSCRIPT)
                await self._heard(self._audio.start.question)
            if not self.held.is_patient:
                self._wait_at_most(VoiceTimeouts.quiet)
            async with asyncio.TaskGroup() as group:
                # Somebody who holds a button may think for as long as they hold it.
                patience = inf if self._is_push_to_talk else self._no_speech
                spoken = SpokenAudio(
                    self._audio,
                    self.speech_input,
                    patience,
                    self.held.hurries,
                    is_patient=self.held.is_patient,
                )
                listening = group.create_task(self._listen(spoken))
                self._pipeline = group.create_task(self._run(spoken))
                # Also if it is cancelled before it has begun, since nothing was said.
                self._pipeline.add_done_callback(lambda _: self._events.put_nowait(None))
                self._pipeline.add_done_callback(lambda _: listening.cancel())
                group.create_task(self._follow(group))
        except ExceptionGroup as errors:
            if broken_off := errors.subgroup(LinkClosedError):
                raise LinkClosedError(str(broken_off.exceptions[0])) from errors
            raise
        finally:
            self._stop_timer()
        if self.answer.speech.complete:
            self._report_answer()
        if self.error is None or (self.answer.speech.complete and self.error in _VOICE_ERRORS):
            rest = await self.answer.speech.show_rest()
            if rest and (self.error or self._playing is None):
                await time_to_read(self.conversation)

    async def show_error(self) -> None:
        """Show the error on the screen, and give time to read it."""
        text = await async_error_text(self._hass, self.error or "", self.speech_input.pipeline.language)
        await self.conversation.show(messages.face(Face.CONFUSED))
        await self.conversation.show(messages.tts_caption(text))
        await time_to_read(self.conversation)

    async def _run(self, spoken: SpokenAudio) -> None:
        try:
            if self.held.is_patient:
                await spoken.begun.wait()
                self._wait_at_most(VoiceTimeouts.quiet)
            async with aclosing(spoken.for_pipeline()) as audio:
                if (recording := self.held.recording) is None:
                    await run_pipeline(
                        self.held.satellite,
                        self.speech_input,
                        self._audio.start,
                        audio,
                        self.take_event,
                        is_repeated=self._is_repeated,
                        is_answer=self.held.question is not None,
                    )
                else:
                    self._stop_timer()
                    await recording.record(self._audio, audio)
                    recording.cut_pause(self._silent_for)
        except (HomeAssistantError, RuntimeError) as err:
            # Errors of Home Assistant's pipelines have codes, too.
            code = getattr(err, "code", "")
            if not code:
                # A pipeline that cannot even start, because a part of it was deleted.
                _LOGGER.warning("The voice pipeline could not start: %s", err)
            self._fail(code)

    async def _listen(self, spoken: SpokenAudio) -> None:
        if await spoken.listen():
            self._all_heard(spoken.silent_for)
        else:
            self.give_up(NO_SPEECH)

    @callback
    def _all_heard(self, silent_for: float | None) -> None:
        """Note the end of the audio. Speech ended so many seconds before; None if that is unknown."""
        self._speech_ended = True
        if self.answer.begun:
            return
        if silent_for is not None:
            self._silent_for = silent_for
            self.times.ended_by = self.speech_input.ending.value
            if self.speech_input.teaches_patience:
                self.taught_patience = True
                pauses = after_turn(self.device.state.pauses, self.speech_input.longest_pause)
                self.device.record.update(pauses=pauses)
            self.times.passed(TurnStep.SPEECH_ENDED, loop_time() - silent_for)
            if (trace := self._audio.trace) is not None:
                trace.note("speech", event="ended by", reason=self.times.ended_by)
        self.passed(TurnStep.DETECTED)
        self._wait_at_most(VoiceTimeouts.recognition)
        self._events.put_nowait(PipelineEvent(PipelineEventType("stt-vad-end")))

    @callback
    def _wait_for_transcript(self, data: dict[str, Any]) -> None:
        if self._speech_ended:
            self._wait_at_most(VoiceTimeouts.recognition)
            return
        self._stop_timer()
        if self.speech_input.pipeline_silence is None:
            # The audio will end; the computer may only be too busy to listen to all of it yet.
            return
        # Only the pipeline's own detector reports the beginning of speech; an engine's own does not.
        if (data.get("audio_processing") or {}).get("requires_external_vad"):
            patience = min(self._no_speech, VoiceTimeouts.pipeline_silence)
            self._timer = self._hass.loop.call_later(patience, self.give_up, NO_SPEECH)
        else:
            # Nor does such an engine report the end.
            self._wait_at_most(VoiceTimeouts.transcript)

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        while (event := await self._events.get()) is not None:
            data = event.data or {}
            match str(event.type):
                case "run-start":
                    self._token = (data.get("tts_output") or {}).get("token")
                # A device whose button is held would record no more, and not report its release.
                case "stt-vad-end" if self._audio.ended or not self._is_push_to_talk:
                    await self.answer.prepare()
                case "stt-end":
                    # Whisper's text begins with a space.
                    await self._heard(data["stt_output"]["text"].strip())
                case "intent-progress":
                    self.answer.add(_content(data))
                    if data.get("tts_start_streaming"):
                        self._play(group)
                case "intent-end":
                    self.answer.understood(data["intent_output"])
                case "tts-start":
                    self._acknowledges = data.get("acknowledge_override") is True
                case "tts-end":
                    self._token = data["tts_output"]["token"]
                    self._play(group)
                case "error":
                    self._fail(data.get("code", ""))

    @callback
    def _wait_at_most(self, seconds: float) -> None:
        self._stop_timer()
        if self._ended:
            return
        self._timer = self._hass.loop.call_later(seconds, self._engine_hangs, seconds)

    @callback
    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @callback
    def _engine_hangs(self, seconds: float) -> None:
        if self.conversation.loudspeaker.held_up:
            # The engine has delivered; the device is busy.
            self._wait_at_most(seconds)
            return
        if not self.answer.begun:
            code = RECOGNITION_HANGS
        else:
            code = SPEECH_HANGS if self.answer.speech.complete else ASSISTANT_HANGS
        _LOGGER.warning("Nothing has come from the voice pipeline for %.0f seconds: %s", seconds, code)
        self.give_up(code)

    @callback
    def give_up(self, code: str) -> None:
        """End the turn with an error."""
        self._fail(code)
        for task in (self._pipeline, self._playing):
            if task is not None:
                task.cancel()

    @callback
    def _fail(self, code: str) -> None:
        if self.error is None:
            self.error = code

    async def show_progress(self, text: str) -> None:
        """Show the text so far, while somebody still speaks."""
        if not self._speech_ended:
            with suppress(LinkClosedError):
                await self.conversation.show(messages.transcript(text))

    async def _heard(self, text: str) -> None:
        recognizer = self.speech_input.recognizer
        speaker = {"speaker": recognizer.speaker} if recognizer and recognizer.speaker else {}
        self.device.events.fire(ConversationEvent.HEARD, text, **speaker)
        await self.answer.begin(text)

    @callback
    def _play(self, group: asyncio.TaskGroup) -> None:
        # A text without a word is only shown: engines have no sound for it, or fail.
        said = self.answer.speech
        is_silent = said.complete and bool(said.text) and not has_words(said.text)
        if self._playing is None and self._token and (self._acknowledges or not is_silent):
            self._playing = group.create_task(self._speak(self._token))

    async def _speak(self, token: str) -> None:
        if not await self.answer.speak(token, as_it_is=self._acknowledges):
            self._fail(SPEECH_FAILED)
        self.passed(TurnStep.ALL_SENT)
        self.device.record.notify(RESPONSE)

    @callback
    def passed(self, step: TurnStep) -> None:
        """Note that a step is passed."""
        self.times.passed(step, loop_time())

    @callback
    def speaks(self) -> None:
        """Note that a packet of the answer is sent."""
        self._wait_at_most(VoiceTimeouts.quiet)
        self.passed(TurnStep.FIRST_PACKET)
        if self.answer.speech.complete:
            self._report_answer()

    @callback
    def _report_answer(self) -> None:
        """Report the answer once, when the first packet of it has been sent."""
        if not self._reported:
            self._reported = True
            self._hass.loop.call_soon(self._answered, self.answer.speech.text)

    @callback
    def _answered(self, text: str) -> None:
        self.device.conversations.add_answer(text, self.times)
        self.device.record.notify(RESPONSE)


def _content(data: dict[str, Any]) -> str:
    """Return the text of a streamed piece of the answer."""
    content = (data.get("chat_log_delta") or {}).get("content")
    return content if isinstance(content, str) else ""
