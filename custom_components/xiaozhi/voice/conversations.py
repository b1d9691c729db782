"""The conversations of one device with Assist, one after the other."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
import logging
from typing import Any, Final

from homeassistant.core import callback

from ..announcements.announcement_speech import text_utterance, voice_language
from ..announcements.in_conversation import ConversationAnnouncements
from ..announcements.room_sound import said_in_house
from ..device.bounds import Bound
from ..device.device import Device
from ..device.events import ConversationEvent
from ..device.turn_times import TurnStep, TurnTimes
from ..protocol import messages
from ..protocol.boards import replaces_lines
from ..protocol.clock import loop_time
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.state_table import Interruption, TurnStart
from ..protocol.conversation.turn_audio import Turn
from ..protocol.messages import ListenMode
from ..protocol.tasks import log_failure
from ..protocol.timeouts import ConversationTimeouts
from ..protocol.transport.link import LinkClosedError
from ..settings import ConversationStyle
from ..texts.translated import async_text
from ..timeouts import VoiceTimeouts
from .early_transcripts import ProgressiveTranscripts
from .end_of_turn import INTERRUPTION, EndOfTurn
from .interruption_by_speaking import is_echo, listen_for_interruption, says
from .patience import SPEAKS_ON, after_cut
from .pipeline_runs import run_pipeline
from .pipelines import chosen_pipeline
from .questions import Question
from .repeated_prompt import repeats_prompt
from .satellite_states import SatelliteStates
from .speech_input import SpeechInput
from .turn import VoiceTurn
from .turn_errors import (
    ANSWERED_ELSEWHERE,
    MICROPHONE_OFF,
    NO_SPEECH,
    OWN_ECHO,
    UNHEARD,
    async_error_text,
)
from .voice import Voice
from .wake_word_arbitration import Claim, hears_silently

_LOGGER = logging.getLogger(__name__)

# Seconds between two comparisons with other devices that may have heard the same person.
_COMPARISONS: Final = 0.25


@dataclass(eq=False, slots=True)
class VoiceConversations:
    """Holds the conversations of one device; a new one takes the place of one that is still going on."""

    device: Device
    satellite: SatelliteStates
    """Shows the conversations in its states."""
    shared: Voice
    announcements: ConversationAnnouncements
    """Announcements between two turns."""
    last_times: TurnTimes = field(default_factory=TurnTimes)
    """When the last turn that has taught patience passed its steps."""
    _task: asyncio.Task[None] | None = None
    _unfinished: set[asyncio.Task[Any]] = field(default_factory=set)

    @callback
    def begin(self, conversation: Conversation) -> bool:
        """Hold a conversation; one that is still going on is cancelled."""
        self.cancel()
        before = tuple(self._unfinished)
        self._task = self.device.create_task(self._hold(conversation, before), "conversation")
        self.is_to_end(self._task)
        return True

    @callback
    def is_to_end(self, task: asyncio.Task[Any]) -> None:
        """Let the next conversation wait for the end of a task."""
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)

    @callback
    def cancel(self) -> None:
        """End the conversation that is going on."""
        if self._task is not None:
            self._task.cancel()

    @callback
    def speaks_on(self, step: TurnStep) -> None:
        """Learn from somebody who speaks: soon after this step of the last turn, they were cut off."""
        times, self.last_times = self.last_times, TurnTimes()
        if times.ended_by == EndOfTurn.PAUSE and times.since(step, loop_time()) < SPEAKS_ON:
            self.device.record.update(pauses=after_cut(self.device.state.pauses))

    @callback
    def settings_changed(self) -> None:
        """End the conversation that is going on if the microphone was switched off."""
        if not self.device.microphone:
            self.cancel()

    async def _hold(self, conversation: Conversation, before: Collection[asyncio.Task[Any]]) -> None:
        try:
            ending = VoiceTimeouts.ending
            if before and (hanging := (await asyncio.wait(before, timeout=ending))[1]):
                # One of its engines does not let itself be cancelled. Later conversations do not wait again.
                self._unfinished -= hanging
                _LOGGER.warning("A voice pipeline of %s does not end", self.device.name)
            await _HeldConversation(self, conversation).take_turns()
        except LinkClosedError as err:
            _LOGGER.debug("%s: conversation broke off: %s", self.device.name, err)
        except Exception:
            _LOGGER.exception("Unexpected error in the conversation of %s", self.device.name)
        finally:
            self.satellite.questions.conversation_ended(conversation)
            await conversation.end()


class _HeldConversation:
    """One conversation: turn after turn, until one side ends it."""

    def __init__(self, voice: VoiceConversations, conversation: Conversation) -> None:
        self._device = voice.device
        self._voice = voice
        self._conversation = conversation
        self._announcements = voice.announcements
        self._voice_turn: VoiceTurn | None = None
        """The turn that runs; None until it is known how to listen to it."""
        self._woken_by: str | None = None
        """The last wake word of this conversation."""
        self._overheard: list[Callable[[], str]] = []
        """Getters of the texts that were being said when this turn began, here or by media players."""
        self._just_woken = False
        """Whether this turn follows a wake word, which a noise may have been."""
        self._asked_back = False
        """Whether the last turn ended with a question of the assistant."""
        self._question: Question | None = None
        """The question of an automation that this turn answers."""
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when another device answers this turn."""

    async def take_turns(self) -> None:
        followed_up = False
        while (turn := await self._next_turn()) is not None:
            # A question that was typed needs no microphone.
            if not self._device.microphone and turn.start.question is None:
                await self._show_microphone_off()
                break
            if not await self._take_turn(turn, followed_up=followed_up):
                break
            followed_up = True

    async def _show_microphone_off(self) -> None:
        hass, conversation = self._device.hass, self._conversation
        text = await async_error_text(hass, MICROPHONE_OFF, chosen_pipeline(hass, self._device).language)
        await conversation.show(messages.tts_caption(text))
        await asyncio.sleep(VoiceTimeouts.reading)

    async def _next_turn(self) -> Turn | None:
        """Wait for the next turn; make announcements while the device rests."""
        while True:
            turn = asyncio.create_task(self._conversation.next_turn())
            announcement = asyncio.create_task(self._announcements.wait())
            try:
                await asyncio.wait((turn, announcement), return_when=asyncio.FIRST_COMPLETED)
                if turn.done() or not self._conversation.resting:
                    return await turn
            finally:
                turn.cancel()
                announcement.cancel()
                await asyncio.wait((turn, announcement))
            await self._announce_at_rest()

    async def _announce_at_rest(self) -> None:
        conversation = self._conversation
        conversation.forget_interruption()
        speaking = asyncio.create_task(self._announcements.speak(conversation))
        interruption = asyncio.create_task(conversation.interruption())
        try:
            await asyncio.wait((speaking, interruption), return_when=asyncio.FIRST_COMPLETED)
            if not interruption.done():
                speaking.result()
                await conversation.end_answer()
            elif interruption.result() is Interruption.ABORTED:
                await conversation.stop_speaking()
        finally:
            interruption.cancel()
            speaking.cancel()
            await asyncio.wait((speaking,))

    async def _take_turn(self, turn: Turn, *, followed_up: bool) -> bool:
        """Run a turn, and return whether the conversation goes on."""
        conversation = self._conversation
        lost = self._lost = asyncio.get_running_loop().create_future()
        running = asyncio.create_task(self._finish_turn(turn, followed_up=followed_up), name="turn")
        listening = asyncio.create_task(self._listen_meanwhile(turn.start), name="listening meanwhile")
        for task in (running, listening):
            task.add_done_callback(log_failure)
            self._voice.is_to_end(task)
        interruption = asyncio.create_task(conversation.interruption())
        try:
            await asyncio.wait((running, interruption, lost), return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_ended, is_lost = running.done(), lost.done()
            said = self._end_turn()
            self._leave_question()
            self._overheard = []
            self._voice.shared.arbitration.turn_over(lost)
            for each in (running, listening, interruption):
                each.cancel()
            await asyncio.wait((running,), timeout=VoiceTimeouts.ending)
        if has_ended:
            return running.result()
        if is_lost or interruption.result() is Interruption.CLOSED:
            return False
        is_spoken_over = interruption.result() is Interruption.SPOKEN_OVER
        self._voice.speaks_on(TurnStep.FIRST_PACKET if is_spoken_over else TurnStep.DETECTED)
        if is_spoken_over:
            self._overheard = [lambda: said]
            self._device.events.fire(ConversationEvent.INTERRUPTED)
        if interruption.result() is not Interruption.NEXT_TURN:
            await conversation.stop_speaking()
        return True

    @callback
    def _end_turn(self) -> str:
        """Drop what the pipeline still has for the turn, and show idle. Returns the text of its answer."""
        voice_turn, self._voice_turn = self._voice_turn, None
        if voice_turn is None:
            return ""
        voice_turn.end()
        if voice_turn.taught_patience:
            self._voice.last_times = voice_turn.times
        if self._voice.satellite.enabled:
            self._voice.satellite.tts_response_finished()
        return voice_turn.answer.text

    async def _listen_meanwhile(self, start: TurnStart) -> None:
        """Listen to somebody who speaks over the answer, if the owner wants that and the device can."""
        if start.mode is ListenMode.REALTIME and self._device.settings.interrupt_by_speaking:
            await listen_for_interruption(
                self._conversation,
                partial(self._voice.shared.detectors.async_load, INTERRUPTION),
                # A singer would be taken for the user, and so would another loudspeaker: to compare what is
                # heard with what that plays was tried, and is not reliable (docs/measurements.md).
                enabled=lambda: (
                    not self._announcements.only_music and self._device.settings.loudspeaker is None
                ),
            )

    async def _finish_turn(self, turn: Turn, *, followed_up: bool) -> bool:
        bounds = self._device.bounds
        await asyncio.sleep(bounds.delay(Bound.TURNS))
        bounds.take(Bound.TURNS)
        no_speech = VoiceTimeouts.no_speech
        if (is_patient := self._is_patient(turn)) or followed_up:
            settings = self._device.settings
            no_speech = ConversationTimeouts.program if is_patient else settings.follow_up_wait
            turn.extend(no_speech)
        await self._run(turn, no_speech, followed_up=followed_up)
        if (voice_turn := self._voice_turn) is None or voice_turn.error == ANSWERED_ELSEWHERE:
            return False
        error, is_answered = voice_turn.error, voice_turn.error is None
        has_failed = not is_answered and error not in UNHEARD
        if has_failed:
            self._device.events.fire(ConversationEvent.FAILED, reason=error or "unknown")
        self._asked_back = is_answered and voice_turn.answer.asks_back
        is_open = self._device.settings.conversation_style is ConversationStyle.OPEN
        goes_on = self._asked_back or (is_open and is_answered)
        # That nobody spoke is no surprise if the user has stopped the turn, or the device listened by itself.
        may_be_silent = followed_up or is_patient
        no_surprise = turn.stopped or error == OWN_ECHO or (may_be_silent and error == NO_SPEECH)
        if has_failed or not (is_answered or no_surprise):
            await voice_turn.show_error()
        if self._question is not None and self._question.answered:
            await self._thank()
        if await self._announcements.speak(self._conversation) or goes_on:
            await self._conversation.end_answer()
            return True
        if self._device.state.is_program and (
            turn.stopped or error != NO_SPEECH or self._conversation.answering
        ):
            await self._stay(silently=turn.stopped)
            return True
        await self._conversation.loudspeaker.wait_played()
        if (session := self._device.session) is not None:
            await session.read_at_rest()
        if turn.start.question is not None and self._conversation.answering:
            # Programs type, also those that pass for a device.
            await self._conversation.end_answer()
            await asyncio.sleep(VoiceTimeouts.typed)
        return False

    async def _stay(self, *, silently: bool) -> None:
        """Let a program listen again when it wants to. It hangs up by itself."""
        if self._conversation.answering:
            await self._conversation.end_answer()
        else:
            await self._conversation.end_turn(silently=silently)
        if (session := self._device.session) is not None:
            await session.read_at_rest()

    def _is_patient(self, turn: Turn) -> bool:
        """Whether a program listens for as long as it stays."""
        is_spoken = turn.start.question is None and turn.start.mode is not ListenMode.MANUAL
        return is_spoken and self._device.state.is_program

    async def _thank(self) -> None:
        """Acknowledge the answer to a question of an automation: no assistant has one for it."""
        hass = self._device.hass
        pipeline = chosen_pipeline(hass, self._device, self._woken_by)
        text = await async_text(hass, "question_answered", voice_language(pipeline))
        await self._announcements.acknowledge(self._conversation, text_utterance(hass, text, pipeline))

    async def _run(self, turn: Turn, no_speech: float, *, followed_up: bool) -> None:
        voice, device, start = self._voice, self._device, turn.start
        if start.question is not None:
            speech_input = SpeechInput(chosen_pipeline(device.hass, device))
            await self._begin_turn(turn, no_speech, speech_input).run()
            return
        self._overheard += said_in_house(device)
        if start.wake_word is not None:
            if any(says(text(), start.wake_word) for text in self._overheard):
                _LOGGER.debug("%s: a media player said the wake word for a device", device.name)
                return
            self._woken_by = start.wake_word
            device.record.set_state(device.state.after_wake_word(start.wake_word))
        by_button = start.mode is ListenMode.MANUAL
        if start.wake_word is None and not (by_button or followed_up):
            device.record.set_state(device.state.after_silent_waking())
        self._just_woken = not (by_button or followed_up)
        claim = Claim.NEW
        # After an answer, the device listens by itself.
        if not by_button and (start.wake_word is not None or not followed_up):
            claim = voice.shared.arbitration.claim(
                device.mac,
                start.wake_word,
                loop_time(),
                turn.loudness,
                self._lost,
                asked=voice.satellite.questions.pending is not None,
                silent=hears_silently(
                    device.state.chip, device.state.wake_words, device.state.silent_wakings
                ),
            )
        if claim is Claim.ELSEWHERE:
            _LOGGER.debug("%s: another device answers this wake word", device.name)
            return
        if not followed_up:
            voice.speaks_on(TurnStep.DETECTED)
        self._take_question()
        speech_input = await voice.shared.inputs.speech_input(
            device,
            self._woken_by,
            by_button=by_button,
            answers_question=self._asked_back or self._question is not None,
        )
        comparing = asyncio.create_task(self._compare(), name="comparing")
        comparing.add_done_callback(log_failure)
        voice_turn = self._begin_turn(turn, no_speech, speech_input, is_repeated=claim is Claim.AGAIN)
        try:
            await voice_turn.run()
        finally:
            comparing.cancel()
            speech_input.close()
        if voice_turn.error == ANSWERED_ELSEWHERE:
            voice.shared.arbitration.withdraw(device.mac)

    @callback
    def _begin_turn(
        self, turn: Turn, no_speech: float, speech_input: SpeechInput, *, is_repeated: bool = False
    ) -> VoiceTurn:
        satellite = self._voice.satellite
        run = partial(
            run_pipeline,
            satellite,
            turn.start,
            speech_input,
            self._question,
            is_repeated=is_repeated,
        )
        voice_turn = VoiceTurn(
            self._device,
            self._conversation,
            turn,
            speech_input,
            run_pipeline=run,
            refuse=self._refuse,
            no_speech=no_speech,
            hurries=(lambda: self._announcements.waiting) if self._is_patient(turn) else None,
        )
        board = self._device.state.board
        if isinstance(speech_input.early, ProgressiveTranscripts) and board and replaces_lines(board):
            speech_input.early.show = voice_turn.show_progress
        self._voice_turn = voice_turn
        return voice_turn

    @callback
    def _take_question(self) -> None:
        """Let this turn answer the question of an automation, if there is one."""
        self._question = self._voice.satellite.questions.pending
        if self._question is not None:
            self._question.turn = asyncio.current_task()

    @callback
    def _leave_question(self) -> None:
        """Leave a question that this turn has not answered to the next one."""
        if self._question is not None:
            self._question.turn = None
            self._question = None

    @callback
    def _refuse(self, transcript: str) -> str | None:
        """Return the code of the error if a transcript is not to be acted on."""
        if any(is_echo(transcript, text()) for text in self._overheard):
            return OWN_ECHO
        if self._just_woken and self._question is None and repeats_prompt(self._device.hass, transcript):
            return NO_SPEECH
        self._voice.shared.arbitration.answer(self._device.mac, loop_time())
        if self._lost.done():
            return ANSWERED_ELSEWHERE
        if self._question is not None:
            self._question.end(transcript.strip())
        return None

    async def _compare(self) -> None:
        """Find out which of the devices that were there before this one, and this one, is nearest."""
        while competing := self._voice.shared.arbitration.competing(self._device.mac):
            await asyncio.sleep(_COMPARISONS)
            for loudness in competing:
                await loudness.hear_wake_word()
            self._voice.shared.arbitration.compare(loop_time())
