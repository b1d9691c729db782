"""The conversations of one device with Assist, one after the other."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field
import logging
from typing import Any

from homeassistant.core import callback

from ..announcements.in_conversation import ConversationAnnouncements
from ..device.device import Device
from ..device.turn_times import TurnStep, TurnTimes
from ..protocol import messages
from ..protocol.conversation.conversation import Conversation
from ..protocol.conversation.state_table import Interruption
from ..protocol.conversation.turn_audio import Turn
from ..protocol.event_loop import first_of, loop_time
from ..protocol.transport.link import LinkClosedError
from ..timeouts import VoiceTimeouts
from .end_of_turn import EndOfTurn
from .held_turn import HeldTurn
from .patience import SPEAKS_ON, after_cut
from .pipelines import chosen_pipeline
from .satellite_states import SatelliteStates
from .turn import TurnResult
from .turn_errors import MICROPHONE_OFF, async_error_text
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
        try:
            ending = VoiceTimeouts.ending
            if before and (hanging := (await asyncio.wait(before, timeout=ending))[1]):
                # One of its engines cannot be cancelled. Later conversations do not wait again.
                self._unfinished -= hanging
                _LOGGER.warning("A voice pipeline of %s does not end", self.device.name)
            await HeldConversation(self, conversation).take_turns()
        except LinkClosedError as err:
            _LOGGER.debug("%s: conversation broke off: %s", self.device.name, err)
        except Exception:
            _LOGGER.exception("Unexpected error in the conversation of %s", self.device.name)
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

    async def take_turns(self) -> None:
        """Take turns until the conversation is over. Raises `LinkClosedError`."""
        last: TurnResult | None = None
        while (turn := await self._next_turn()) is not None:
            # A question that was typed needs no microphone.
            if not self.device.microphone and turn.start.question is None:
                await self._show_microphone_off()
                break
            last = await HeldTurn(self, turn, last).take()
            if not last.goes_on:
                break

    async def _show_microphone_off(self) -> None:
        hass, conversation = self.device.hass, self.conversation
        text = await async_error_text(hass, MICROPHONE_OFF, chosen_pipeline(hass, self.device).language)
        await conversation.show(messages.tts_caption(text))
        await asyncio.sleep(VoiceTimeouts.reading)

    async def _next_turn(self) -> Turn | None:
        """Wait for the next turn; make announcements while the device rests."""
        while True:
            waiting = self.voice.announcements.wait()
            async with first_of(self.conversation.next_turn(), waiting) as (turn, _):
                if turn.done() or not self.conversation.resting:
                    return await turn
            await self._announce_at_rest()

    async def _announce_at_rest(self) -> None:
        conversation = self.conversation
        conversation.forget_interruption()
        speaking = asyncio.create_task(self.voice.announcements.speak(conversation))
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
