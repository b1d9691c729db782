"""The conversations of one device with Assist, one after the other."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
import logging
from typing import Any

from homeassistant.core import callback

from ..announcements.other_loudspeaker import Said, chosen_player
from ..device.bounds import TURNS
from ..device.events import ConversationEvent
from ..device.turn_times import TurnStep, TurnTimes
from ..protocol import messages
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.state_table import Interruption
from ..protocol.conversation.turn_audio import TurnAudio
from ..protocol.messages import ListenMode
from ..protocol.transport.link import LinkClosedError
from ..settings import ConversationStyle
from ..texts.issues import TURN_FAILED, async_raise_issue
from ..timeouts import VoiceTimeouts
from ..util.event_loop import first_of, log_failure, loop_time
from .end_of_turn import EndOfTurn
from .interruption_by_speaking import listen_for_interruption
from .patience import SPEAKS_ON, after_cut
from .pipelines import chosen_pipeline
from .satellite_states import SatelliteStates
from .turn import Turn, TurnResult
from .turn_errors import ANSWERED_ELSEWHERE, FAILED, MICROPHONE_OFF, NO_SPEECH, async_error_text
from .voice import Voice

_LOGGER = logging.getLogger(__name__)


class VoiceConversations:
    """Holds the conversations of one device; a new one takes the place of one that is still going on."""

    def __init__(self, satellite: SatelliteStates, shared: Voice) -> None:
        """Show the conversations in the states of a satellite."""
        self.device = satellite.device
        self.satellite = satellite
        self.shared = shared
        self.last_times = TurnTimes()
        """When the last turn that has taught patience passed its steps."""
        self._task: asyncio.Task[None] | None = None
        self._unfinished = set[asyncio.Task[Any]]()

    @callback
    def begin(self, conversation: Conversation) -> bool:
        """Hold a conversation; one that is still going on is cancelled."""
        self.cancel()
        before = tuple(self._unfinished)
        self._task = self.track(self.device.create_task(self._hold(conversation, before), "conversation"))
        return True

    @callback
    def track[T](self, task: asyncio.Task[T]) -> asyncio.Task[T]:
        """Let the next conversation wait for the end of a task."""
        self._unfinished.add(task)
        task.add_done_callback(self._unfinished.discard)
        return task

    @callback
    def cancel(self) -> None:
        """End the conversation that is going on."""
        if self._task is not None:
            self._task.cancel()

    @callback
    def speaks_on(self, step: TurnStep) -> None:
        """Learn from speech: if it comes soon after this step of the last turn, that was cut off."""
        times, self.last_times = self.last_times, TurnTimes()
        if times.ended_by == EndOfTurn.PAUSE and times.since(step, loop_time()) < SPEAKS_ON:
            self.device.record.update(pauses=after_cut(self.device.state.pauses))

    @callback
    def settings_changed(self) -> None:
        """End the conversation that is going on if the microphone was switched off."""
        if not self.device.microphone:
            self.cancel()

    async def _hold(self, conversation: Conversation, before: Collection[asyncio.Task[Any]]) -> None:
        held = HeldConversation(self, conversation)
        try:
            ending = VoiceTimeouts.ending
            if before and (hanging := (await asyncio.wait(before, timeout=ending))[1]):
                # One of its engines cannot be cancelled. Later conversations do not wait again.
                self._unfinished -= hanging
                _LOGGER.warning("A voice pipeline of %s does not end", self.device.name)
            await held.take_turns()
        except LinkClosedError as err:
            _LOGGER.debug("%s: conversation broke off: %s", self.device.name, err)
        except Exception as err:
            _LOGGER.exception("Unexpected error in the conversation of %s", self.device.name)
            await held.show_fault(err)
        finally:
            if (question := self.satellite.questions.open) is not None:
                question.conversation_ended(conversation)
            await conversation.end()


class HeldConversation:
    """One conversation: turn after turn, until one side ends it."""

    def __init__(self, voice: VoiceConversations, conversation: Conversation) -> None:
        self._device = voice.device
        self._voice = voice
        self._announcements = voice.satellite.announcer.in_conversation
        self._conversation = conversation
        self._has_heard_kept = False
        """Whether what was kept for who wakes the device was said."""

    async def take_turns(self) -> None:
        """Take turns until the conversation is over. Raises `LinkClosedError`."""
        last: TurnResult | None = None
        goes_on = True
        while goes_on:
            audio = await self._next_turn()
            # A question that was typed needs no microphone.
            if audio is None or (not self._device.microphone and audio.start.question is None):
                if audio is not None:
                    await self._show(MICROPHONE_OFF)
                goes_on = False
            else:
                turn = Turn(self._voice.satellite, self._voice.shared, self._conversation, audio, last)
                last = await self._take(turn)
                goes_on = last.goes_on
            # The last look before the channel is closed: on WebSocket, there is no other occasion.
            while not goes_on and self._announcements.waiting and not self._conversation.closed.is_set():
                goes_on = await self._announce()

    async def show_fault(self, err: Exception) -> None:
        """Tell the person at the device, and the owner, of an error that is ours or Home Assistant's."""
        device = self._device
        while isinstance(err, ExceptionGroup):
            err = err.exceptions[0]
        device.events.fire(ConversationEvent.FAILED, reason=FAILED)
        async_raise_issue(device.hass, TURN_FAILED, name=device.name, error=type(err).__name__)
        with suppress(LinkClosedError):
            await self._show(FAILED)

    async def _show(self, code: str) -> None:
        hass, conversation = self._device.hass, self._conversation
        text = await async_error_text(hass, code, chosen_pipeline(hass, self._device).language)
        await conversation.show(messages.tts_caption(text))
        await asyncio.sleep(VoiceTimeouts.reading)

    async def _next_turn(self) -> TurnAudio | None:
        """Wait for the next turn; make announcements while the device rests."""
        while True:
            # Behind a question waits all that can wait: the button that is pressed next answers it.
            is_asked = self._voice.satellite.questions.open is not None
            waiting = self._announcements.wait(for_ring=is_asked)
            async with first_of(self._conversation.next_turn(), waiting) as (turn, _):
                if turn.done() or not self._conversation.resting:
                    return await turn
            if not await self._announce():
                await self._conversation.end_answer()

    async def _announce(self) -> bool:
        """Say what waits; return whether the device listens after that, or to who has interrupted it."""
        conversation = self._conversation
        conversation.forget_interruption()
        speaking = self._announcements.speak(conversation)
        async with first_of(speaking, conversation.interruption()) as (said, interruption):
            if not interruption.done():
                if expects_answer := said.result():
                    await conversation.end_answer()
                return expects_answer
            if interruption.result() is Interruption.ABORTED:
                await conversation.stop_speaking()
            return True

    async def _take(self, turn: Turn) -> TurnResult:
        """Take a turn until it has ended or is interrupted. Raises `LinkClosedError`."""
        running = self._voice.track(asyncio.create_task(self._complete(turn), name="turn"))
        interruption = asyncio.create_task(self._interruption(turn))
        tasks: list[asyncio.Task[Any]] = [running, interruption]
        if turn.audio.start.mode is ListenMode.REALTIME and self._device.settings.interrupt_by_speaking:
            detectors = self._voice.shared.detectors
            listening = listen_for_interruption(self._conversation, self._hears_only_the_user, detectors)
            tasks.append(asyncio.create_task(listening, name="listening meanwhile"))
        for task in tasks:
            task.add_done_callback(log_failure)
        answer: Said | None = None
        try:
            await asyncio.wait((running, interruption), return_when=asyncio.FIRST_COMPLETED)
        finally:
            has_ended = running.done()
            answer = turn.end()
            # Who has heard the answer was not cut off.
            run = turn.assist
            if run is not None and run.taught_patience and not (has_ended and run.times.response):
                self._voice.last_times = run.times
            for task in tasks:
                task.cancel()
            await asyncio.wait((running,), timeout=VoiceTimeouts.ending)
        if has_ended:
            return running.result()
        result = TurnResult(woken_by=turn.woken_by)
        if (reason := interruption.result()) is Interruption.CLOSED:
            return result
        is_spoken_over = reason is Interruption.SPOKEN_OVER
        self._voice.speaks_on(TurnStep.FIRST_PACKET if is_spoken_over else TurnStep.DETECTED)
        if is_spoken_over:
            self._device.events.fire(ConversationEvent.INTERRUPTED)
        if reason is not Interruption.NEXT_TURN:
            await self._conversation.stop_speaking()
        over = answer if is_spoken_over else None
        return replace(result, asked_back=turn.answers_assistant, goes_on=True, spoken_over=over)

    async def _interruption(self, turn: Turn) -> Interruption:
        """Wait until a turn must stop; that another device answers it ends the conversation."""
        interruption = self._conversation.interruption()
        async with first_of(interruption, turn.answered_elsewhere) as (interrupted, elsewhere):
            return Interruption.CLOSED if elsewhere.done() else interrupted.result()

    def _hears_only_the_user(self) -> bool:
        """Whether a voice beside the answer is the user's.

        A singer would be taken for the user, and so would another loudspeaker: a comparison with its sound
        was tried, and is not reliable (docs/measurements.md).
        """
        return not self._announcements.only_music and chosen_player(self._device) is None

    async def _complete(self, turn: Turn) -> TurnResult:
        """Take a turn with what comes before and after it."""
        bounds, conversation = self._device.bounds, self._conversation
        await asyncio.sleep(bounds.delay(TURNS))
        bounds.take(TURNS)
        if not turn.claim():
            return TurnResult()
        if turn.may_begin_with_messages and await self._hear_kept() and conversation.answering:
            await conversation.end_answer()
            return TurnResult(woken_by=turn.woken_by, goes_on=True)
        if not (turn.follows or turn.is_typed):
            self._voice.speaks_on(TurnStep.DETECTED)
        result = await turn.run()
        if result.error == ANSWERED_ELSEWHERE:
            return result
        return replace(result, goes_on=await self._go_on(turn, result))

    async def _hear_kept(self) -> bool:
        """Say what is kept for who has woken the device; return whether that person may answer it."""
        if self._has_heard_kept:
            return False
        # Who interrupts it hears it the next time.
        self._has_heard_kept = True
        if (is_asked := await self._announcements.speak_kept(self._conversation)) is None:
            # Something else may be heard for now.
            self._has_heard_kept = False
            return False
        # Who presses the talk button begins another conversation.
        return is_asked or not self._conversation.pushes_to_talk

    async def _go_on(self, turn: Turn, result: TurnResult) -> bool:
        """Make waiting announcements, and listen again or prepare the end; return whether it goes on."""
        conversation = self._conversation
        is_open = self._device.settings.conversation_style is ConversationStyle.OPEN
        listens_again = result.asked_back or (is_open and result.answered)
        if await self._announcements.speak(conversation) or await self._hear_kept() or listens_again:
            await conversation.end_answer()
            return True
        stays = self._device.state.is_program and (
            result.error != NO_SPEECH or turn.audio.stopped or conversation.answering
        )
        if not stays:
            await conversation.loudspeaker.wait_played()
        elif conversation.answering:
            await conversation.end_answer()
        else:
            await conversation.end_turn(silently=turn.audio.stopped)
        # To be read may take a device several seconds.
        turn.end()
        if (session := self._device.session) is not None:
            await session.read_at_rest()
        if not stays and turn.is_typed and conversation.answering:
            # Programs type, also those that pass for a device.
            await conversation.end_answer()
            await asyncio.sleep(VoiceTimeouts.typed)
        # A program listens again when it wants to, and hangs up by itself.
        return stays
