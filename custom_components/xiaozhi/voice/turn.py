"""One turn of a conversation: whose it is, how it is listened to, and what is understood."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, replace
import logging
from math import inf
from typing import Final

from homeassistant.core import callback

from ..announcements.in_conversation import ConversationAnnouncements
from ..announcements.other_loudspeaker import Said, said_in_house
from ..device.events import ConversationEvent
from ..protocol.audio.uplink_timeline import UPLINK_SAMPLE_RATE
from ..protocol.boards import replaces_lines
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.turn_audio import TurnAudio
from ..protocol.messages import ListenMode
from ..protocol.timeouts import ConversationTimeouts
from ..timeouts import VoiceTimeouts
from ..util.event_loop import first_of, log_failure, loop_time
from .assist_run import AssistRun
from .early_transcripts import ProgressiveTranscripts
from .interruption_by_speaking import is_echo, says
from .pipelines import chosen_pipeline
from .questions import AskedTurn, Question
from .repeated_prompt import repeats_prompt
from .satellite_states import SatelliteStates
from .speech_input import SpeechInput
from .spoken_audio import SpokenAudio
from .turn_errors import ANSWERED_ELSEWHERE, NO_SPEECH, OWN_ECHO, UNHEARD
from .voice import Voice
from .wake_word_arbitration import Claim, hears_silently

_LOGGER = logging.getLogger(__name__)

# Seconds between two comparisons with other devices that may have heard the same person.
_COMPARISONS: Final = 0.25
# Seconds of the pause at the end of a recorded answer that are kept.
_PAUSE_KEPT: Final = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnResult:
    """The result of a turn, and whether the conversation goes on after it."""

    answered: bool = False
    asked_back: bool = False
    """Whether the answer ends with a question of the assistant."""
    error: str | None = None
    """Code of the error; empty for one without a code."""
    woken_by: str | None = None
    """The last wake word of the conversation."""
    goes_on: bool = False
    spoken_over: Said | None = None
    """The answer over which the user speaks in the next turn."""


class Turn:
    """One turn of a conversation. Sending raises `LinkClosedError`."""

    def __init__(
        self,
        satellite: SatelliteStates,
        shared: Voice,
        conversation: Conversation,
        audio: TurnAudio,
        last: TurnResult | None,
    ) -> None:
        """`last` is the result of the turn before; None if the device was woken for this one."""
        self.audio = audio
        self.woken_by = audio.start.wake_word or (None if last is None else last.woken_by)
        """The last wake word of the conversation."""
        self.answered_elsewhere: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when another device answers this turn."""
        self.is_typed = audio.start.question is not None
        self.answers_assistant = last is not None and last.asked_back
        """True if the last turn ended with a question of the assistant."""
        self.satellite = satellite
        self._device = satellite.device
        self._announcements: ConversationAnnouncements = satellite.announcer.in_conversation
        self._shared = shared
        self.conversation = conversation
        self._by_button = audio.start.mode is ListenMode.MANUAL
        self.follows = last is not None
        """False in the first turn of a conversation."""
        self._overheard: list[Said] = [last.spoken_over] if last and last.spoken_over else []
        """Texts that were being said when this turn began, here or by media players."""
        self.question: Question | None = None
        """The question that this turn answers."""
        self.is_repeated = False
        """Whether Home Assistant knows the wake word already."""
        self.assist: AssistRun | None = None
        """None until it is known how to listen, and if the words are recorded."""

    @property
    def _just_woken(self) -> bool:
        """Whether this turn follows a wake word, which a noise may have been."""
        return not (self._by_button or self.follows or self.is_typed)

    @property
    def _is_patient(self) -> bool:
        """Whether a program listens for as long as it stays."""
        return not (self.is_typed or self._by_button) and self._device.state.is_program

    @property
    def may_begin_with_messages(self) -> bool:
        """Whether what is kept for who has woken the device is heard now.

        Which of several devices is the nearest is not known yet: that one plays them after its turn.
        """
        is_alone = not self._shared.arbitration.competing(self._device.mac)
        return self._just_woken and is_alone and self.satellite.questions.open is None

    @callback
    def claim(self) -> bool:
        """Note a wake word, and return whether this device is meant by it, as far as that is known."""
        if self.is_typed:
            return True
        self._overheard += said_in_house(self._device)
        if not self._is_woken_by_a_person():
            _LOGGER.debug("%s: a media player said the wake word for a device", self._device.name)
            return False
        state, start = self._device.state, self.audio.start
        claim = Claim.NEW
        # After an answer, the device listens by itself.
        if not self._by_button and (start.wake_word is not None or not self.follows):
            claim = self._shared.arbitration.claim(
                self._device.mac,
                start.wake_word,
                loop_time(),
                self.audio.loudness,
                self.answered_elsewhere,
                asked=self.satellite.questions.open is not None,
                silent=hears_silently(state.chip, state.wake_words, state.silent_wakings),
            )
        if claim is Claim.ELSEWHERE:
            _LOGGER.debug("%s: another device answers this wake word", self._device.name)
        self.is_repeated = claim is Claim.AGAIN
        return claim is not Claim.ELSEWHERE

    @callback
    def _is_woken_by_a_person(self) -> bool:
        """Note a wake word, or that the device has begun without one; False if a media player said it."""
        record, word = self._device.record, self.audio.start.wake_word
        if word is None:
            if self._just_woken:
                record.set_state(self._device.state.after_silent_waking())
            return True
        if any(says(said.text, word) for said in self._overheard):
            return False
        record.set_state(self._device.state.after_wake_word(word))
        return True

    async def run(self) -> TurnResult:
        """Listen to the user, and answer."""
        question = self.question = None if self.is_typed else self.satellite.questions.open
        comparing = asyncio.create_task(self._compare(), name="comparing")
        comparing.add_done_callback(log_failure)
        try:
            if question is None:
                result = await self._listen()
            else:
                with question.heard():
                    result = await (self._record(question) if question.is_recorded else self._listen())
        finally:
            comparing.cancel()
        if self.assist is not None and result.error not in {None, ANSWERED_ELSEWHERE}:
            await self._explain(self.assist)
        if question is not None and question.turn.done() and (turn := question.turn.result()) is not None:
            await self._reply(question, turn)
            result = replace(result, asked_back=result.asked_back or turn.asks_back)
        return result

    @callback
    def end(self) -> Said | None:
        """Drop later events of the pipeline, and show idle. Returns the answer."""
        self._shared.arbitration.turn_over(self.answered_elsewhere)
        if (run := self.assist) is None:
            return None
        if not run.ended:
            run.end()
            if self.satellite.enabled:
                self.satellite.tts_response_finished()
        return run.answer.speech

    def _spoken(self, speech_input: SpeechInput) -> SpokenAudio:
        no_speech = VoiceTimeouts.no_speech
        if self._is_patient or self.follows:
            follow_up_wait = self._device.settings.follow_up_wait
            no_speech = ConversationTimeouts.program if self._is_patient else follow_up_wait
            self.audio.extend(no_speech)
        return SpokenAudio(
            self.audio,
            speech_input,
            # Somebody who holds a button may think for as long as they hold it.
            inf if self._by_button else no_speech,
            self._hurries,
            is_patient=self._is_patient,
        )

    def _hurries(self) -> bool:
        """Whether speech has to begin now: in a patient turn if something is to be said, else if it rings."""
        if self._is_patient:
            return self._announcements.waiting
        return self.question is None and not self._by_button and self._announcements.ring_is_late

    async def _listen(self) -> TurnResult:
        """Let Assist understand and answer what is said, or was typed."""
        device, shared = self._device, self._shared
        if self.is_typed:
            speech_input = SpeechInput(device, chosen_pipeline(device.hass, device))
        else:
            speech_input = await shared.inputs.speech_input(
                device,
                self.woken_by,
                by_button=self._by_button,
                answers_question=self.answers_assistant or self.question is not None,
            )
        run = self.assist = AssistRun(self, self._spoken(speech_input))
        board = device.state.board
        if isinstance(speech_input.early, ProgressiveTranscripts) and board and replaces_lines(board):
            speech_input.early.show = run.show_progress
        await run.run()
        if run.error == ANSWERED_ELSEWHERE:
            shared.arbitration.withdraw(device.mac)
        answered = run.error is None
        return TurnResult(
            answered=answered,
            asked_back=answered and run.answer.asks_back,
            error=run.error,
            woken_by=self.woken_by,
        )

    async def _record(self, question: Question) -> TurnResult:
        """Record what is said, up to its end, a minute or the end of the turn."""
        self.audio.extend(VoiceTimeouts.message)
        spoken = self._spoken(await self._shared.inputs.recording(self._device, by_button=self._by_button))
        sound = bytearray()
        is_over = False

        async def collect() -> None:
            async with aclosing(spoken.for_pipeline()) as pieces:
                async for pcm in pieces:
                    sound.extend(pcm)
                    if len(sound) >= VoiceTimeouts.message * 2 * UPLINK_SAMPLE_RATE:
                        return

        try:
            async with first_of(collect(), spoken.listen()) as (collecting, listening):
                if not collecting.done() and listening.result():
                    await collecting
            if (pause := round(UPLINK_SAMPLE_RATE * ((spoken.silent_for or 0) - _PAUSE_KEPT))) > 0:
                del sound[-2 * pause :]
            is_over = True
        finally:
            # By its button, the device ends what was said, and closes the channel.
            if sound or is_over:
                question.end(AskedTurn(sound=bytes(sound), cut_off=self.audio.cut_off))
        return TurnResult(answered=bool(sound), error=None if sound else NO_SPEECH, woken_by=self.woken_by)

    async def _explain(self, run: AssistRun) -> None:
        """Show an error that the user does not expect.

        The user has stopped the turn, or the device has heard itself, has listened by itself or is to ring.
        """
        is_refused = run.error in UNHEARD
        if not is_refused:
            self._device.events.fire(ConversationEvent.FAILED, reason=run.error or "unknown")
        is_silent = run.error == NO_SPEECH and (self.follows or self._is_patient or self._hurries())
        if not (is_refused and (self.audio.stopped or run.error == OWN_ECHO or is_silent)):
            await run.show_error()

    async def _reply(self, question: Question, turn: AskedTurn) -> None:
        """Say the reply of who has asked; without one, thanks: no assistant does."""
        await question.left.wait()
        if not turn.reply:
            # What is said next is thanks enough.
            if question.is_recorded or self._announcements.waiting:
                return
            turn.reply.append(("question_answered", {}))
        reply = await turn.reply_by(self._device, self.woken_by)
        await self._announcements.acknowledge(self.conversation, reply)

    @callback
    def refuse(self, transcript: str) -> str | None:
        """Return the code of the error if a transcript is not to be acted on."""
        if any(is_echo(transcript, said.text) for said in self._overheard):
            return OWN_ECHO
        if self._just_woken and self.question is None and repeats_prompt(self._device.hass, transcript):
            return NO_SPEECH
        self.conversation.person_at = loop_time()
        self._shared.arbitration.answer(self._device.mac, loop_time())
        if self.answered_elsewhere.done():
            return ANSWERED_ELSEWHERE
        if self.question is not None:
            self.question.end(AskedTurn(transcript=transcript.strip()))
        return None

    async def _compare(self) -> None:
        """Compare this device with those that began to listen before it."""
        while competing := self._shared.arbitration.competing(self._device.mac):
            await asyncio.sleep(_COMPARISONS)
            for loudness in competing:
                await loudness.hear_wake_word()
            self._shared.arbitration.compare(loop_time())
