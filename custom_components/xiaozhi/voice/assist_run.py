"""A run of Assist for one turn: speech into the pipeline, its events onto the screen and loudspeaker."""

import asyncio
from contextlib import aclosing, suppress
from functools import partial
import logging
from typing import TYPE_CHECKING, Any, Final

from homeassistant.components.assist_pipeline import PipelineEvent, PipelineEventType
from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..announcements.conversation_speech import time_to_read
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
from .speech_to_text import checked_transcript
from .spoken_audio import SpokenAudio
from .turn_errors import (
    ASSISTANT_HANGS,
    NO_SPEECH,
    RECOGNITION_HANGS,
    SPEECH_FAILED,
    SPEECH_HANGS,
    TurnError,
    async_error_text,
)

if TYPE_CHECKING:
    from .turn import Turn

_LOGGER = logging.getLogger(__name__)

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

    def __init__(self, turn: Turn, spoken: SpokenAudio) -> None:
        """Take what is spoken, or was typed, in a turn."""
        self.device = turn.satellite.device
        self.answer = Answer(
            self.device, turn.conversation, partial(self.passed, TurnStep.FIRST_SOUND), self._speaks
        )
        self.error: str | None = None
        """Code of the error; None without one, empty for one without a code."""
        self.times = TurnTimes()
        self._turn = turn
        self._conversation = turn.conversation
        self._spoken, self._audio, self._input = spoken, spoken.audio, spoken.input
        self._events: asyncio.Queue[PipelineEvent | None] = asyncio.Queue()
        self._working: list[asyncio.Task[None]] = []
        """The pipeline, and the playing of its answer."""
        self._timer: asyncio.TimerHandle | None = None
        self._reported = False
        self.ended = False
        """Whether events of the run are dropped."""

    @property
    def taught_patience(self) -> bool:
        """Whether the last of the device's pauses is that of this turn."""
        return self.times.ended_by is not None and self._input.teaches_patience

    @callback
    def end(self) -> None:
        """Take no more events of the run, which may not let itself be cancelled."""
        self.ended = True
        self._stop_timer()

    @callback
    def take_event(self, event: PipelineEvent) -> bool:
        """Take an event of this turn's pipeline run; False if the turn has ended.

        Raises `TurnError`, which ends the run.
        """
        if self.ended:
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
                self._input.understood()
                if (code := self._turn.refuse(checked_transcript(data["stt_output"]["text"]))) is not None:
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
            if not self._spoken.is_patient:
                self._wait_at_most(VoiceTimeouts.quiet)
            async with asyncio.TaskGroup() as group:
                listening = group.create_task(self._listen())
                pipeline = group.create_task(self._run())
                self._working.append(pipeline)
                # Also if it is cancelled before it has begun, since nothing was said.
                pipeline.add_done_callback(lambda _: self._events.put_nowait(None))
                pipeline.add_done_callback(lambda _: listening.cancel())
                group.create_task(self._follow(group))
        except ExceptionGroup as errors:
            if broken_off := errors.subgroup(LinkClosedError):
                raise LinkClosedError(str(broken_off.exceptions[0])) from errors
            raise
        finally:
            self._stop_timer()
            self._input.close()
        said = self.answer.speech
        if said.complete:
            self._report_answer()
        if self.error is None or (said.complete and self.error in _VOICE_ERRORS):
            rest = await said.show_rest()
            if rest and (self.error or self.times.response is None):
                await time_to_read(self._conversation)

    async def show_error(self) -> None:
        """Show the error on the screen, and give time to read it."""
        text = await async_error_text(self.device.hass, self.error or "", self._input.pipeline.language)
        await self._conversation.show(messages.face(Face.CONFUSED))
        await self._conversation.show(messages.tts_caption(text))
        await time_to_read(self._conversation)

    async def _run(self) -> None:
        try:
            if self._spoken.is_patient:
                await self._spoken.begun.wait()
                self._wait_at_most(VoiceTimeouts.quiet)
            async with aclosing(self._spoken.for_pipeline()) as audio:
                await run_pipeline(
                    self._turn.satellite,
                    self._input,
                    self._audio.start,
                    audio,
                    self.take_event,
                    is_repeated=self._turn.is_repeated,
                    is_answer=self._turn.question is not None,
                )
        except (HomeAssistantError, RuntimeError) as err:
            # Errors of Home Assistant's pipelines have codes, too.
            code = getattr(err, "code", "")
            if not code:
                # A pipeline that cannot even start, because a part of it was deleted.
                _LOGGER.warning("The voice pipeline could not start: %s", err)
            self._fail(code)

    async def _listen(self) -> None:
        if not await self._spoken.listen():
            self.give_up(NO_SPEECH)
        elif not self.answer.begun:
            self._all_heard()

    @callback
    def _all_heard(self) -> None:
        """Note the end of the audio, and that of the speech, if it is known."""
        if (silent_for := self._spoken.silent_for) is not None:
            self.times.ended_by = self._input.ending.value
            if self._input.teaches_patience:
                pauses = after_turn(self.device.state.pauses, self._input.longest_pause)
                self.device.record.update(pauses=pauses)
            self.times.passed(TurnStep.SPEECH_ENDED, loop_time() - silent_for)
            if (trace := self._audio.trace) is not None:
                trace.note("speech", event="ended by", reason=self.times.ended_by)
        self.passed(TurnStep.DETECTED)
        self._wait_at_most(VoiceTimeouts.recognition)
        self._events.put_nowait(PipelineEvent(PipelineEventType("stt-vad-end")))

    @callback
    def _wait_for_transcript(self, data: dict[str, Any]) -> None:
        if self.times.has_passed(TurnStep.DETECTED):
            self._wait_at_most(VoiceTimeouts.recognition)
            return
        self._stop_timer()
        if self._input.pipeline_silence is None:
            # The audio will end; the computer may only be too busy to listen to all of it yet.
            return
        # Only the pipeline's own detector reports the beginning of speech; an engine's own does not.
        if (data.get("audio_processing") or {}).get("requires_external_vad"):
            patience = min(self._spoken.patience, VoiceTimeouts.pipeline_silence)
            self._timer = self.device.hass.loop.call_later(patience, self.give_up, NO_SPEECH)
        else:
            # Nor does such an engine report the end.
            self._wait_at_most(VoiceTimeouts.transcript)

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        token: str | None = None
        acknowledges = is_playing = False
        while (event := await self._events.get()) is not None:
            data = event.data or {}
            plays = False
            match str(event.type):
                case "run-start":
                    token = (data.get("tts_output") or {}).get("token")
                # A device whose button is held would record no more, and not report its release.
                case "stt-vad-end" if self._audio.ended or self._audio.start.mode is not ListenMode.MANUAL:
                    await self.answer.prepare()
                case "stt-end":
                    # Whisper's text begins with a space.
                    await self._heard(data["stt_output"]["text"].strip())
                case "intent-progress":
                    self.answer.add(_content(data))
                    plays = bool(data.get("tts_start_streaming"))
                case "intent-end":
                    self.answer.understood(data["intent_output"])
                case "tts-start":
                    acknowledges = data.get("acknowledge_override") is True
                case "tts-end":
                    token, plays = data["tts_output"]["token"], True
                case "error":
                    self._fail(data.get("code", ""))
            if plays and token and not is_playing and (acknowledges or self._is_sayable):
                is_playing = True
                self._working.append(group.create_task(self._speak(token, as_it_is=acknowledges)))

    @property
    def _is_sayable(self) -> bool:
        """Whether the answer has a word. Engines have no sound for one without, or fail: it is only shown."""
        said = self.answer.speech
        return not (said.complete and said.text) or has_words(said.text)

    @callback
    def _wait_at_most(self, seconds: float) -> None:
        self._stop_timer()
        if self.ended:
            return
        self._timer = self.device.hass.loop.call_later(seconds, self._engine_hangs, seconds)

    @callback
    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @callback
    def _engine_hangs(self, seconds: float) -> None:
        if self._conversation.loudspeaker.held_up:
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
        for task in self._working:
            task.cancel()

    @callback
    def _fail(self, code: str) -> None:
        if self.error is None:
            self.error = code

    async def show_progress(self, text: str) -> None:
        """Show the text so far, while somebody still speaks."""
        if not self.times.has_passed(TurnStep.DETECTED):
            with suppress(LinkClosedError):
                await self._conversation.show(messages.transcript(text))

    async def _heard(self, text: str) -> None:
        recognizer = self._input.recognizer
        speaker = {"speaker": recognizer.speaker} if recognizer and recognizer.speaker else {}
        self.device.events.fire(ConversationEvent.HEARD, text, **speaker)
        await self.answer.begin(text)

    async def _speak(self, token: str, *, as_it_is: bool) -> None:
        if not await self.answer.speak(token, as_it_is=as_it_is):
            self._fail(SPEECH_FAILED)
        self.passed(TurnStep.ALL_SENT)
        self.device.record.notify(RESPONSE)

    @callback
    def passed(self, step: TurnStep) -> None:
        """Note that a step is passed."""
        self.times.passed(step, loop_time())

    @callback
    def _speaks(self) -> None:
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
            self.device.hass.loop.call_soon(self._answered, self.answer.speech.text)

    @callback
    def _answered(self, text: str) -> None:
        self.device.conversations.add_answer(text, self.times)
        self.device.record.notify(RESPONSE)


def _content(data: dict[str, Any]) -> str:
    """Return the text of a streamed piece of the answer."""
    content = (data.get("chat_log_delta") or {}).get("content")
    return content if isinstance(content, str) else ""
