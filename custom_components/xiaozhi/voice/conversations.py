"""The conversations of one device with Assist, one after the other."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
import logging
from typing import Any

from homeassistant.core import callback

from ..announcements.in_conversation import ConversationAnnouncements
from ..device.device import Device
from ..device.events import ConversationEvent
from ..device.turn_times import TurnStep, TurnTimes
from ..protocol import messages
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.state_table import Interruption
from ..protocol.conversation.turn_audio import TurnAudio
from ..protocol.transport.link import LinkClosedError
from ..texts.issues import TURN_FAILED, async_raise_issue
from ..timeouts import VoiceTimeouts
from ..util.event_loop import first_of, loop_time
from .assist_run import TurnResult
from .end_of_turn import EndOfTurn
from .patience import SPEAKS_ON, after_cut
from .pipelines import chosen_pipeline
from .satellite_states import SatelliteStates
from .turn import Turn
from .turn_errors import FAILED, MICROPHONE_OFF, async_error_text
from .voice import Voice

_LOGGER = logging.getLogger(__name__)


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
        self.track(self._task)
        return True

    @callback
    def track(self, task: asyncio.Task[Any]) -> None:
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
            self.satellite.questions.conversation_ended(conversation)
            await conversation.end()


class HeldConversation:
    """One conversation: turn after turn, until one side ends it."""

    def __init__(self, voice: VoiceConversations, conversation: Conversation) -> None:
        self.device = voice.device
        self.voice = voice
        self.conversation = conversation
        self.woken_by: str | None = None
        """The last wake word of this conversation."""
        self._messages = voice.announcements.kept()
        """Messages that are to be heard before the first turn, or after it."""

    async def take_turns(self) -> None:
        """Take turns until the conversation is over. Raises `LinkClosedError`."""
        last: TurnResult | None = None
        goes_on = True
        while goes_on:
            turn = await self._next_turn()
            # A question that was typed needs no microphone.
            if turn is None or (not self.device.microphone and turn.start.question is None):
                if turn is not None:
                    await self._show(MICROPHONE_OFF)
                goes_on = False
            else:
                last = await Turn(self, turn, last).take()
                goes_on = last.goes_on
            # The last look before the channel is closed: on WebSocket, there is no other occasion.
            while not goes_on and self.voice.announcements.waiting and not self.conversation.closed.is_set():
                goes_on = await self._announce()

    async def hear_messages(self) -> bool:
        """Let the person who has woken the device hear what is kept; return whether they may answer it."""
        messages, self._messages = self._messages, None
        if messages is None:
            return False
        is_asked = await self.voice.announcements.speak_kept(self.conversation, messages)
        if is_asked is None:
            # Something else is heard for now.
            self._messages = messages
            return False
        # Who presses the talk button begins another conversation.
        return is_asked or not self.conversation.pushes_to_talk

    async def show_fault(self, err: Exception) -> None:
        """Tell the person at the device, and the owner, of an error that is ours or Home Assistant's."""
        device = self.device
        while isinstance(err, ExceptionGroup):
            err = err.exceptions[0]
        device.events.fire(ConversationEvent.FAILED, reason=FAILED)
        async_raise_issue(device.hass, TURN_FAILED, name=device.name, error=type(err).__name__)
        with suppress(LinkClosedError):
            await self._show(FAILED)

    async def _show(self, code: str) -> None:
        hass, conversation = self.device.hass, self.conversation
        text = await async_error_text(hass, code, chosen_pipeline(hass, self.device).language)
        await conversation.show(messages.tts_caption(text))
        await asyncio.sleep(VoiceTimeouts.reading)

    async def _next_turn(self) -> TurnAudio | None:
        """Wait for the next turn; make announcements while the device rests."""
        while True:
            # Behind a question waits all that can wait: the button that is pressed next answers it.
            is_asked = self.voice.satellite.questions.pending is not None
            waiting = self.voice.announcements.wait(for_ring=is_asked)
            async with first_of(self.conversation.next_turn(), waiting) as (turn, _):
                if turn.done() or not self.conversation.resting:
                    return await turn
            if not await self._announce():
                await self.conversation.end_answer()

    async def _announce(self) -> bool:
        """Say what waits; return whether the device listens after that, or to who has interrupted it."""
        conversation = self.conversation
        conversation.forget_interruption()
        speaking = self.voice.announcements.speak(conversation)
        async with first_of(speaking, conversation.interruption()) as (said, interruption):
            if not interruption.done():
                if expects_answer := said.result():
                    await conversation.end_answer()
                return expects_answer
            if interruption.result() is Interruption.ABORTED:
                await conversation.stop_speaking()
            return True
