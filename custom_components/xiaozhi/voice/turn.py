"""One turn of a held conversation: its claim, its question and what follows."""

import asyncio
from dataclasses import replace
import logging
from typing import TYPE_CHECKING, Any, Final

from homeassistant.core import callback

from ..announcements.announcement_speech import text_utterance, voice_language
from ..announcements.room_sound import Said, said_in_house
from ..device.bounds import Bound
from ..device.device import Device
from ..device.events import ConversationEvent
from ..device.turn_times import TurnStep
from ..protocol.boards import replaces_lines
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.state_table import Interruption
from ..protocol.conversation.turn_audio import TurnAudio
from ..protocol.messages import ListenMode
from ..protocol.timeouts import ConversationTimeouts
from ..settings import ConversationStyle
from ..timeouts import VoiceTimeouts
from ..util.event_loop import log_failure, loop_time
from .assist_run import AssistRun, TurnResult
from .early_transcripts import ProgressiveTranscripts
from .interruption_by_speaking import is_echo, listen_for_interruption, says
from .pipelines import chosen_pipeline
from .questions import Question, Recording
from .repeated_prompt import repeats_prompt
from .speech_input import SpeechInput
from .turn_errors import (
    ANSWERED_ELSEWHERE,
    NO_SPEECH,
    OWN_ECHO,
)
from .wake_word_arbitration import Claim, hears_silently

if TYPE_CHECKING:
    from .conversations import HeldConversation

_LOGGER = logging.getLogger(__name__)

# Seconds between two comparisons with other devices that may have heard the same person.
_COMPARISONS: Final = 0.25


class Turn:
    """One turn of a conversation."""

    def __init__(self, held: HeldConversation, audio: TurnAudio, last: TurnResult | None) -> None:
        """`last` is the result of the turn before; None if the device was woken for this one."""
        self.device: Device = held.device
        self.conversation: Conversation = held.conversation
        self.audio = audio
        self.satellite = held.voice.satellite
        self.question: Question | None = None
        """The question of an automation that this turn answers."""
        self._held = held
        self._voice = held.voice
        self._last = last
        self._overheard: list[Said] = []
        """Texts that were being said when this turn began, here or by media players."""
        if last is not None and last.spoken_over is not None:
            self._overheard.append(last.spoken_over)
        self._has_heard_messages = False
        """Whether this turn was only to hear messages."""
        self._just_woken = False
        """Whether this turn follows a wake word, which a noise may have been."""
        self._assist: AssistRun | None = None
        """None until it is known how to listen."""
        self._answered_elsewhere: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when another device answers this turn."""

    async def take(self) -> TurnResult:
        """Run the turn until it has ended or is interrupted. Raises `LinkClosedError`."""
        running = asyncio.create_task(self._finish(), name="turn")
        tasks: list[asyncio.Task[Any]] = [running]
        if self._may_be_spoken_over:
            listening = listen_for_interruption(
                self.conversation, self._hears_only_the_user, self._voice.shared.detectors
            )
            tasks.append(asyncio.create_task(listening, name="listening meanwhile"))
        for task in tasks:
            task.add_done_callback(log_failure)
            self._voice.track(task)
        interruption = asyncio.create_task(self.conversation.interruption())
        elsewhere = self._answered_elsewhere
        try:
            await asyncio.wait((running, interruption, elsewhere), return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_ended, is_elsewhere = running.done(), elsewhere.done()
            answer = self._end(is_heard=has_ended)
            self._leave_question()
            self._voice.shared.arbitration.turn_over(elsewhere)
            for each in (*tasks, interruption):
                each.cancel()
            await asyncio.wait((running,), timeout=VoiceTimeouts.ending)
        if has_ended:
            return running.result()
        if is_elsewhere or interruption.result() is Interruption.CLOSED:
            return TurnResult()
        is_spoken_over = interruption.result() is Interruption.SPOKEN_OVER
        self._voice.speaks_on(TurnStep.FIRST_PACKET if is_spoken_over else TurnStep.DETECTED)
        if is_spoken_over:
            self.device.events.fire(ConversationEvent.INTERRUPTED)
        if interruption.result() is not Interruption.NEXT_TURN:
            await self.conversation.stop_speaking()
        return TurnResult(
            asked_back=self._answers_assistant, goes_on=True, spoken_over=answer if is_spoken_over else None
        )

    @property
    def _may_be_spoken_over(self) -> bool:
        """Whether the owner lets speech interrupt the answer, and the device can hear it."""
        return self.audio.start.mode is ListenMode.REALTIME and self.device.settings.interrupt_by_speaking

    def _hears_only_the_user(self) -> bool:
        """Whether a voice beside the answer is the user's.

        A singer would be taken for the user, and so would another loudspeaker: a comparison with its sound
        was tried, and is not reliable (docs/measurements.md).
        """
        return not self._voice.announcements.only_music and self.device.settings.loudspeaker is None

    @property
    def is_patient(self) -> bool:
        """Whether a program listens for as long as it stays."""
        is_spoken = self.audio.start.question is None and self.audio.start.mode is not ListenMode.MANUAL
        return is_spoken and self.device.state.is_program

    @property
    def recording(self) -> Recording | None:
        """The voice message that this turn is, if it is one."""
        return self.question if isinstance(self.question, Recording) else None

    def hurries(self) -> bool:
        """Whether speech has to begin at once, although the turn is patient: something is to be said."""
        return self.is_patient and self._voice.announcements.waiting

    @property
    def _answers_assistant(self) -> bool:
        """Whether the last turn ended with a question of the assistant."""
        return self._last is not None and self._last.asked_back

    @callback
    def _end(self, *, is_heard: bool) -> Said | None:
        """Drop later events of the pipeline, and show idle. Returns the answer; `is_heard` if to its end."""
        run, self._assist = self._assist, None
        if run is None:
            return None
        run.end()
        # Who has heard the answer was not cut off.
        if run.taught_patience and not (is_heard and run.times.response):
            self._voice.last_times = run.times
        if self._voice.satellite.enabled:
            self._voice.satellite.tts_response_finished()
        return run.answer.speech

    async def _finish(self) -> TurnResult:
        bounds = self.device.bounds
        await asyncio.sleep(bounds.delay(Bound.TURNS))
        bounds.take(Bound.TURNS)
        no_speech = VoiceTimeouts.no_speech
        if self.is_patient or self._last is not None:
            follow_up_wait = self.device.settings.follow_up_wait
            no_speech = ConversationTimeouts.program if self.is_patient else follow_up_wait
            self.audio.extend(no_speech)
        await self._run(no_speech)
        if (run := self._assist) is None or run.error == ANSWERED_ELSEWHERE:
            return TurnResult(goes_on=self._has_heard_messages)
        result = run.result
        if self.recording is not None:
            # Also without a word: its outcome is known.
            self.recording.end("")
        has_failed = not (result.answered or result.refused)
        if has_failed:
            self.device.events.fire(ConversationEvent.FAILED, reason=result.error or "unknown")
        if (has_failed or (result.refused and not self._expects(result))) and self.recording is None:
            await run.show_error()
        if self.question is not None and self.question.answered:
            await self._thank()
        return replace(result, goes_on=await self._go_on(result))

    def _expects(self, refused: TurnResult) -> bool:
        """Whether a turn without a command needs no explanation.

        The user has stopped it, or the device has heard itself, or has listened by itself.
        """
        may_be_silent = self._last is not None or self.is_patient
        is_silent = refused.error == NO_SPEECH and may_be_silent
        return self.audio.stopped or refused.error == OWN_ECHO or is_silent

    async def _go_on(self, result: TurnResult) -> bool:
        """Make waiting announcements, and listen again or prepare the end; return whether it goes on."""
        conversation = self.conversation
        is_open = self.device.settings.conversation_style is ConversationStyle.OPEN
        listens_again = result.asked_back or (is_open and result.answered)
        if (
            await self._voice.announcements.speak(conversation)
            or await self._held.hear_messages()
            or listens_again
        ):
            await conversation.end_answer()
            return True
        is_silent = result.error == NO_SPEECH and not (self.audio.stopped or conversation.answering)
        if self.device.state.is_program and not is_silent:
            await self._stay()
            return True
        await conversation.loudspeaker.wait_played()
        if (session := self.device.session) is not None:
            await session.read_at_rest()
        if self.audio.start.question is not None and conversation.answering:
            # Programs type, also those that pass for a device.
            await conversation.end_answer()
            await asyncio.sleep(VoiceTimeouts.typed)
        return False

    async def _stay(self) -> None:
        """Let a program listen again when it wants to. It hangs up by itself."""
        if self.conversation.answering:
            await self.conversation.end_answer()
        else:
            await self.conversation.end_turn(silently=self.audio.stopped)
        if (session := self.device.session) is not None:
            await session.read_at_rest()

    async def _thank(self) -> None:
        """Acknowledge the answer to a question of an automation, or a message: no assistant does."""
        hass = self.device.hass
        pipeline = chosen_pipeline(hass, self.device, self._held.woken_by)
        if self.question is None or not (text := await self.question.thanks(hass, voice_language(pipeline))):
            return
        if self._voice.announcements.waiting and self.recording is None:
            # What is said next is acknowledgement enough. Of a message, only this says what became of it.
            return
        await self._voice.announcements.acknowledge(self.conversation, text_utterance(hass, text, pipeline))

    async def _run(self, no_speech: float) -> None:
        voice, device, start = self._voice, self.device, self.audio.start
        followed_up = self._last is not None
        if start.question is not None:
            speech_input = SpeechInput(device, chosen_pipeline(device.hass, device))
            await self._begin(speech_input, no_speech).run()
            return
        by_button = start.mode is ListenMode.MANUAL
        self._just_woken = not (by_button or followed_up)
        self._overheard += said_in_house(device)
        if not self._is_woken_by_a_person():
            _LOGGER.debug("%s: a media player said the wake word for a device", device.name)
            return
        # After an answer, the device listens by itself.
        is_claimed = not by_button and (start.wake_word is not None or not followed_up)
        claim = self._claim() if is_claimed else Claim.NEW
        if claim is Claim.ELSEWHERE:
            _LOGGER.debug("%s: another device answers this wake word", device.name)
            return
        # Which of several is the nearest is not known yet: that one plays them after its turn.
        is_alone = not voice.shared.arbitration.competing(device.mac)
        is_asked = voice.satellite.questions.pending is not None
        if self._just_woken and is_alone and not is_asked and await self._held.hear_messages():
            self._has_heard_messages = self.conversation.answering
            if self._has_heard_messages:
                await self.conversation.end_answer()
                return
        if not followed_up:
            voice.speaks_on(TurnStep.DETECTED)
        self._take_question()
        if self.recording is not None:
            self.audio.extend(VoiceTimeouts.message)
            speech_input = await voice.shared.inputs.recording(device, by_button=by_button)
        else:
            speech_input = await voice.shared.inputs.speech_input(
                device,
                self._held.woken_by,
                by_button=by_button,
                answers_question=self._answers_assistant or self.question is not None,
            )
        comparing = asyncio.create_task(self._compare(), name="comparing")
        comparing.add_done_callback(log_failure)
        run = self._begin(speech_input, no_speech, is_repeated=claim is Claim.AGAIN)
        try:
            await run.run()
        finally:
            comparing.cancel()
            speech_input.close()
        if run.error == ANSWERED_ELSEWHERE:
            voice.shared.arbitration.withdraw(device.mac)

    @callback
    def _is_woken_by_a_person(self) -> bool:
        """Note a wake word, or that the device has begun without one; False if a media player said it."""
        record, state, word = self.device.record, self.device.state, self.audio.start.wake_word
        if word is None:
            if self._just_woken:
                record.set_state(state.after_silent_waking())
            return True
        if any(says(said.text, word) for said in self._overheard):
            return False
        self._held.woken_by = word
        record.set_state(state.after_wake_word(word))
        return True

    @callback
    def _claim(self) -> Claim:
        """Claim the turn, which other devices may have heard, too."""
        state, start = self.device.state, self.audio.start
        return self._voice.shared.arbitration.claim(
            self.device.mac,
            start.wake_word,
            loop_time(),
            self.audio.loudness,
            self._answered_elsewhere,
            asked=self.satellite.questions.pending is not None,
            silent=hears_silently(state.chip, state.wake_words, state.silent_wakings),
        )

    @callback
    def _begin(self, speech_input: SpeechInput, no_speech: float, *, is_repeated: bool = False) -> AssistRun:
        run = AssistRun(self, speech_input, no_speech, is_repeated=is_repeated)
        board = self.device.state.board
        if isinstance(speech_input.early, ProgressiveTranscripts) and board and replaces_lines(board):
            speech_input.early.show = run.show_progress
        self._assist = run
        return run

    @callback
    def _take_question(self) -> None:
        """Let this turn answer the question of an automation, if there is one."""
        self.question = self._voice.satellite.questions.pending
        if self.question is not None:
            self.question.turn = asyncio.current_task()

    @callback
    def _leave_question(self) -> None:
        """Leave a question that this turn has not answered to the next one."""
        if self.question is not None:
            self.question.leave()
            self.question = None

    @callback
    def refuse(self, transcript: str) -> str | None:
        """Return the code of the error if a transcript is not to be acted on."""
        if any(is_echo(transcript, said.text) for said in self._overheard):
            return OWN_ECHO
        if self._just_woken and self.question is None and repeats_prompt(self.device.hass, transcript):
            return NO_SPEECH
        self.conversation.person_at = loop_time()
        self._voice.shared.arbitration.answer(self.device.mac, loop_time())
        if self._answered_elsewhere.done():
            return ANSWERED_ELSEWHERE
        if self.question is not None:
            self.question.end(transcript.strip())
        return None

    async def _compare(self) -> None:
        """Compare this device with those that began to listen before it."""
        while competing := self._voice.shared.arbitration.competing(self.device.mac):
            await asyncio.sleep(_COMPARISONS)
            for loudness in competing:
                await loudness.hear_wake_word()
            self._voice.shared.arbitration.compare(loop_time())
