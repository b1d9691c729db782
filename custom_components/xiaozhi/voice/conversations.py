"""The conversations of one device with Assist, one after the other."""

import asyncio
from collections.abc import AsyncIterable
from dataclasses import replace
from functools import partial
import logging
from typing import Final, Protocol

from homeassistant.core import callback

from ..device.device import Device
from ..device.events import ConversationEvent
from ..device.state import RESPONSE
from ..protocol.clock import loop_time
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.table import Interruption, TurnStart
from ..protocol.conversation.turn import Turn
from ..protocol.limits import TokenBucket
from ..protocol.messages import ListenMode
from ..protocol.tasks import log_failure
from ..protocol.transport.link import LinkClosedError
from ..settings import ConversationStyle
from .announcements.in_conversation import ConversationAnnouncements
from .interruption import listen_for_interruption
from .pipelines import spoken_language
from .speech_detectors import TurnDetector
from .speech_input import SpeechInput
from .turn import TurnEnd, VoiceTurn
from .wake_word_arbitration import Claim, WakeWords

_LOGGER = logging.getLogger(__name__)

# Bounds on the pipeline runs of one device, above what a person can cause.
_RUNS_PER_SECOND: Final = 1.0
_RUNS_AT_ONCE: Final = 6
# Ends of a turn that are always explained on the screen.
_SHOWN_ENDS: Final = frozenset({TurnEnd.FAILED, TurnEnd.NOT_UNDERSTOOD})


class Pipelines(Protocol):
    """Runs the Assist pipeline of a device; its events go to the current turn."""

    async def speech_input(self, woken_by: str | None, *, by_button: bool, asked_back: bool) -> SpeechInput:
        """Return how to listen to a turn of a conversation that was `woken_by` a wake word.

        The user ends a turn `by_button`. One that answers the assistant, which `asked_back`, is no command.
        """

    async def load_interruption_detector(self) -> TurnDetector | None:
        """Return a detector of speech during an answer; None if it cannot be used."""

    async def run_spoken(
        self,
        wake_word: str | None,
        audio: AsyncIterable[bytes],
        *,
        woken_by: str | None,
        is_repeated: bool,
        ends_speech: bool,
        speech_input: SpeechInput,
    ) -> None:
        """Run it on 16 kHz mono 16-bit PCM, the end of which it finds if it `ends_speech`.

        A wake word that the device repeats is not taken for one that another satellite has heard. The
        conversation was `woken_by` a wake word, also if this turn was not.
        """

    async def run_typed(self, question: str) -> None:
        """Run it on a text."""

    def tts_response_finished(self) -> None:
        """Note that the answer has been spoken."""

    def conversation_over(self) -> None:
        """Note that nothing more is said in a conversation."""


class VoiceConversations:
    """Holds the conversations of one device, turn after turn until one side ends it."""

    def __init__(
        self,
        device: Device,
        pipelines: Pipelines,
        wake_words: WakeWords,
        announcements: ConversationAnnouncements,
    ) -> None:
        """Hold the conversations of a device with its pipelines; `wake_words` is for all devices.

        Between its turns the device says what it was not asked for.
        """
        self.turn: VoiceTurn | None = None
        """The turn that the events of the pipeline belong to."""
        self._device = device
        self._pipelines = pipelines
        self._timeouts = device.timeouts.voice
        self._wake_words = wake_words
        self._announcements = announcements
        self._task: asyncio.Task[None] | None = None
        self._woken_by: str | None = None
        """The last wake word of this conversation."""
        self._conversing = asyncio.Lock()
        self._interrupted_answer = ""
        """The answer that the user interrupted by speaking."""
        self._asked_back = False
        """Whether the last turn of this conversation ended with a question of the assistant."""
        self._runs = TokenBucket(rate=_RUNS_PER_SECOND, burst=_RUNS_AT_ONCE)

    @callback
    def begin(self, conversation: Conversation) -> None:
        """Hold a conversation; one that is still going on is cancelled."""
        self.cancel()
        self._task = self._device.create_task(self._converse(conversation), "conversation")

    @callback
    def cancel(self) -> None:
        """End the conversation that is going on."""
        if self._task is not None:
            self._task.cancel()

    async def _converse(self, conversation: Conversation) -> None:
        conversing: asyncio.Lock | None = None
        try:
            conversing = await self._wait_for_turn()
            await self._take_turns(conversation)
        except LinkClosedError as err:
            _LOGGER.debug("%s: conversation broke off: %s", self._device.name, err)
        except Exception:
            _LOGGER.exception("Unexpected error in the conversation of %s", self._device.name)
        finally:
            self._pipelines.conversation_over()
            if conversing is not None:
                conversing.release()
            await conversation.end()
            self._announcements.over()

    async def _wait_for_turn(self) -> asyncio.Lock:
        """Wait until the conversation before this one has ended; return the lock to release at the end."""
        lock = self._conversing
        try:
            async with asyncio.timeout(self._timeouts.ending):
                await lock.acquire()
        except TimeoutError:
            # One of its engines does not let itself be cancelled.
            _LOGGER.warning("A voice pipeline of %s does not end", self._device.name)
            lock = self._conversing = asyncio.Lock()
            await lock.acquire()
        return lock

    async def _take_turns(self, conversation: Conversation) -> None:
        self._woken_by = None
        self._asked_back = False
        followed_up = False
        while (turn := await self._next_turn(conversation)) is not None:
            if not await self._take_turn(conversation, turn, followed_up=followed_up):
                break
            followed_up = True

    async def _next_turn(self, conversation: Conversation) -> Turn | None:
        """Wait for the next turn; say what is to be said while the device rests."""
        while True:
            turn = asyncio.create_task(conversation.next_turn())
            announcement = asyncio.create_task(self._announcements.wait())
            try:
                await asyncio.wait((turn, announcement), return_when=asyncio.FIRST_COMPLETED)
                if turn.done() or not conversation.resting:
                    return await turn
            finally:
                turn.cancel()
                announcement.cancel()
                await asyncio.wait((turn, announcement))
            await self._speak_at_rest(conversation)

    async def _speak_at_rest(self, conversation: Conversation) -> None:
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

    async def _take_turn(self, conversation: Conversation, turn: Turn, *, followed_up: bool) -> bool:
        """Run a turn, and return whether the conversation goes on."""
        timeouts = self._timeouts
        if followed_up:
            timeouts = replace(timeouts, no_speech=self._device.settings.follow_up_wait)
            turn.extend(timeouts.no_speech)
        voice_turn = self.turn = VoiceTurn(
            self._device.hass,
            conversation,
            turn,
            timeouts=timeouts,
            # The first packet of the answer is about to be sent.
            on_answered=lambda text: self._device.hass.loop.call_soon(self._answered, text, voice_turn),
            interrupted_answer=self._interrupted_answer,
        )
        self._interrupted_answer = ""
        running = asyncio.create_task(
            self._finish_turn(conversation, voice_turn, turn, followed_up=followed_up), name="turn"
        )
        running.add_done_callback(log_failure)
        listening = self._listen_meanwhile(conversation, turn.start)
        interruption = asyncio.create_task(conversation.interruption())
        try:
            await asyncio.wait((running, interruption), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
            running.cancel()
            await asyncio.wait((running,), timeout=self._timeouts.ending)
            if interruption.result() is Interruption.CLOSED:
                return False
            if interruption.result() is Interruption.SPOKEN_OVER:
                self._interrupted_answer = voice_turn.said
                self._device.events.happened(ConversationEvent.INTERRUPTED)
            if interruption.result() is not Interruption.NEXT_TURN:
                await conversation.stop_speaking()
            return True
        finally:
            running.cancel()
            listening.cancel()
            interruption.cancel()
            # Events of a pipeline that is being cancelled must not reach the next turn.
            await asyncio.wait((running,), timeout=self._timeouts.ending)
            # The time of the last packet is known now.
            self._device.changed(RESPONSE)
            if self.turn is voice_turn:
                self.turn = None
                self._pipelines.tts_response_finished()

    @callback
    def _answered(self, text: str, voice_turn: VoiceTurn) -> None:
        self._device.conversations.answered(text, voice_turn.times)
        self._device.changed(RESPONSE)

    def _listen_meanwhile(self, conversation: Conversation, start: TurnStart) -> asyncio.Future[None]:
        """Listen to somebody who speaks over the answer, if the owner wants that and the device can."""
        if start.mode is not ListenMode.REALTIME or not self._device.settings.interrupt_by_speaking:
            nothing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            return nothing
        listening = asyncio.create_task(
            listen_for_interruption(
                conversation,
                self._pipelines.load_interruption_detector,
                # A singer would be taken for the user.
                heeds=lambda: not self._announcements.plays_music,
            ),
            name="listening for an interruption",
        )
        listening.add_done_callback(log_failure)
        return listening

    async def _finish_turn(
        self, conversation: Conversation, voice_turn: VoiceTurn, turn: Turn, *, followed_up: bool
    ) -> bool:
        await asyncio.sleep(self._runs.delay(loop_time()))
        self._runs.take(loop_time())
        if turn.start.question is not None:
            self._device.events.happened(ConversationEvent.HEARD, turn.start.question)
            end = await voice_turn.run(partial(self._run_typed, turn.start.question))
        else:
            end = await self._run_spoken(voice_turn, turn.start, followed_up=followed_up)
        self._asked_back = end is TurnEnd.ASKS_BACK
        if end is TurnEnd.ELSEWHERE:
            _LOGGER.debug("%s: another device answers this wake word", self._device.name)
            return False
        if end is TurnEnd.FAILED:
            self._device.events.happened(ConversationEvent.FAILED, reason=voice_turn.error or "unknown")
        is_open = self._device.settings.conversation_style is ConversationStyle.OPEN
        goes_on = end is TurnEnd.ASKS_BACK or (is_open and end is TurnEnd.ANSWERED)
        if end in _SHOWN_ENDS or (end is TurnEnd.SILENT and not followed_up):
            await voice_turn.show_error(spoken_language(self._device.hass, self._device))
        if await self._announcements.speak(conversation) or goes_on:
            await self._device.commands.read_at_rest(briefly=True)
            await conversation.end_answer()
            return True
        await conversation.wait_played()
        await self._device.commands.read_at_rest()
        return False

    async def _run_spoken(self, voice_turn: VoiceTurn, start: TurnStart, *, followed_up: bool) -> TurnEnd:
        if start.wake_word is not None:
            self._woken_by = start.wake_word
            self._device.state.woken(start.wake_word)
        claim = Claim.NEW
        if not voice_turn.is_push_to_talk:
            # After an answer, the device listens by itself.
            if start.wake_word is not None or not followed_up:
                claim = self._wake_words.claim(self._device.mac, start.wake_word, loop_time())
            if claim is Claim.ELSEWHERE:
                return TurnEnd.ELSEWHERE
        speech_input = await self._pipelines.speech_input(
            self._woken_by, by_button=voice_turn.is_push_to_talk, asked_back=self._asked_back
        )
        voice_turn.speech_input = speech_input
        run = partial(
            self._pipelines.run_spoken,
            start.wake_word,
            woken_by=self._woken_by,
            is_repeated=claim is Claim.AGAIN,
            ends_speech=voice_turn.pipeline_ends_speech,
            speech_input=speech_input,
        )
        try:
            end = await voice_turn.run(run)
        finally:
            speech_input.close()
        if end is TurnEnd.ELSEWHERE:
            self._wake_words.withdraw(self._device.mac)
        return end

    async def _run_typed(self, question: str, _audio: AsyncIterable[bytes]) -> None:
        await self._pipelines.run_typed(question)
