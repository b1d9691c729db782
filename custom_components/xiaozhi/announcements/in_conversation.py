"""An announcement while the device has its audio channel open: between two turns, like an answer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Final

from homeassistant.core import callback

from ..device.device import Device
from ..errors import UserError
from ..protocol import messages
from ..protocol.conversation.caption_text import has_words
from ..protocol.conversation.conversation import Conversation
from ..protocol.faces import Face, face_of
from ..protocol.transport.link import LinkClosedError
from ..timeouts import AnnouncementTimeouts
from ..util.event_loop import first_of, loop_time, within
from .announcement_errors import sound_error
from .conversation_speech import Speech
from .delivery import Delivery
from .heard import End
from .levels import Level
from .utterance import Rank, Utterance

# Seconds to wait for further utterances at the same occasion.
_NEXT: Final = 0.1


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A waiting utterance, and its end: None if there was no occasion."""

    utterance: Utterance
    how: Delivery
    ended: asyncio.Future[End | None]
    since: float = field(default_factory=loop_time)


class ConversationAnnouncements:
    """Announcements in the conversation of a device; one utterance at a time.

    Who holds the conversation calls `speak` between two turns.
    """

    def __init__(self, device: Device, volume: Level) -> None:
        """Wait for the conversations of a device."""
        self._device = device
        self._volume = volume
        self._waiting: _Waiting | None = None
        self._there = asyncio.Event()
        self.only_music = False
        """Whether the channel is open only for music, and for utterances that interrupt it."""

    # For callers that say something.

    async def say(self, utterance: Utterance, how: Delivery) -> End | None:
        """Say something at the next occasion, and return its end.

        Returns None if the conversation ends before there is one. Raises `UserError`.
        """
        if (conversation := self._device.conversation) is None:
            return None
        waiting = _Waiting(utterance, how, asyncio.get_running_loop().create_future())
        self._put(waiting)
        try:
            async with first_of(waiting.ended, conversation.closed.wait()):
                return None if self._waiting is waiting else await waiting.ended
        finally:
            waiting.ended.cancel()
            self._take()

    async def wait_over(self) -> None:
        """Wait until there is no conversation."""
        while (conversation := self._device.conversation) is not None:
            await conversation.closed.wait()

    # For the holder of the conversation.

    @property
    def waiting(self) -> bool:
        """Whether something is to be said."""
        return self._waiting is not None

    @property
    def ring_is_late(self) -> bool:
        """Whether something that rings has waited as long as it can."""
        waiting, patience = self._waiting, AnnouncementTimeouts.ring_waits
        return waiting is not None and waiting.utterance.rings and loop_time() >= waiting.since + patience

    async def wait(self, *, for_ring: bool = False) -> None:
        """Wait until something is to be said, or `for_ring` only."""
        while self._waiting is None or (for_ring and not self._waiting.utterance.rings):
            self._there.clear()
            await self._there.wait()

    async def speak(self, conversation: Conversation) -> bool:
        """Say the waiting utterances; return whether the user is to answer. Raises `LinkClosedError`.

        The occasion belongs to a question that was asked on it: what waits is said after the answer. If this
        is cancelled, the user has interrupted it.
        """
        expects_answer = False
        try:
            while (waiting := self._take()) is not None:
                expects_answer = await self._say_at_once(conversation, waiting)
                if expects_answer:
                    break
                # An utterance that interrupts music comes at once, and so does the music after it.
                await within(_NEXT, self.wait())
        finally:
            self.only_music = False
        return expects_answer

    async def speak_kept(self, conversation: Conversation) -> bool | None:
        """Say what the parts of the device keep for who wakes it, up to a question.

        It returns at once whether there is anything; if not, other utterances wait until after the turn.
        Returns as `speak`, or None if there is nothing.
        """
        expects_answer, over = False, asyncio.Event()
        saying = asyncio.create_task(self._kept(conversation), name="say what is kept", eager_start=True)
        saying.add_done_callback(lambda _: over.set())
        try:
            while not (saying.done() or expects_answer):
                async with first_of(self.wait(), over.wait()):
                    pass
                if self.waiting and not saying.done():
                    expects_answer = await self.speak(conversation)
        finally:
            saying.cancel()
            await asyncio.wait((saying,))
        return expects_answer if saying.cancelled() or saying.result() else None

    async def _kept(self, conversation: Conversation) -> bool:
        for part in self._device.parts.values():
            if await part.before_first_turn(conversation):
                return True
        return False

    async def _say_at_once(self, conversation: Conversation, waiting: _Waiting) -> bool:
        """Say something as long as it is wanted; return whether the user is to answer it."""
        async with first_of(self._say(conversation, waiting), waiting.ended) as (speaking, ended):
            if speaking.done():
                speaking.result()
        # Nobody answers a question that failed or is no longer wanted.
        was_said = not ended.cancelled() and ended.exception() is None and ended.result() is End.DONE
        return was_said and waiting.utterance.expects_answer

    async def acknowledge(self, conversation: Conversation, utterance: Utterance) -> None:
        """Say something short, or only show it where it cannot be said. Raises `LinkClosedError`."""
        try:
            if not conversation.answering:
                await conversation.begin_answer()
            await self._speak(conversation, utterance, Delivery.CONVERSATION)
        except LinkClosedError:
            raise
        except Exception as err:  # noqa: BLE001 - speech engines may raise anything
            # Failures are logged there.
            sound_error(err, self._device)
            await conversation.show(messages.tts_caption(utterance.text))

    @callback
    def _put(self, waiting: _Waiting) -> None:
        self._waiting = waiting
        self._there.set()

    @callback
    def _take(self) -> _Waiting | None:
        waiting, self._waiting = self._waiting, None
        return waiting

    async def _say(self, conversation: Conversation, waiting: _Waiting) -> None:
        """Say something, and report how that went. Raises `LinkClosedError`."""
        utterance, ended = waiting.utterance, waiting.ended
        error: UserError | None = None
        end: End | None = None
        begun = False
        try:
            async with self._volume.changed(utterance):
                await self._check_reachable(conversation)
                if not conversation.answering:
                    await conversation.begin_answer()
                begun = True
                self.only_music |= utterance.rank is Rank.MUSIC
                end = await self._speak(conversation, utterance, waiting.how)
        except asyncio.CancelledError, LinkClosedError:
            if begun and conversation.closed.is_set():
                error = UserError("announcement_interrupted", name=self._device.name)
            end = End.WOKEN
            raise
        except Exception as err:  # noqa: BLE001 - the source of a sound may raise anything
            error = sound_error(err, self._device)
        finally:
            if not ended.done():
                if error is not None:
                    ended.set_exception(error)
                elif begun or conversation.closed.is_set():
                    ended.set_result(end if begun else None)
                else:
                    # The user began to speak first.
                    self._put(waiting)

    async def _check_reachable(self, conversation: Conversation) -> None:
        if not await conversation.is_reachable():
            raise UserError("announcement_unheard", name=self._device.name)

    async def _speak(self, conversation: Conversation, utterance: Utterance, how: Delivery) -> End:
        async def shaped(how: Delivery) -> AsyncGenerator[bytes]:
            async with aclosing(utterance.speech(how)) as pcm:
                async for piece in pcm:
                    if heard := speech.shape.take(piece):
                        yield heard

        # Pauses show the position in the text only if nothing but the text is heard.
        is_text = utterance.is_message and not utterance.text_begins and has_words(utterance.text)
        sound = replace(utterance, speech=shaped) if is_text else utterance
        speech = Speech(self._device, conversation, sound)
        speech.complete_text(utterance.text, face_of(utterance.text) or Face.NEUTRAL)
        has_begun = False

        @callback
        def begin() -> None:
            nonlocal has_begun
            if not has_begun:
                has_begun = True
                utterance.on_start(how)

        end = await speech.play(how, begin)
        await speech.show_rest()
        await conversation.loudspeaker.wait_silent()
        # It may have left unnoticed. Nobody hears what is said to it then.
        if not (speech.elsewhere or await conversation.is_there()):
            raise UserError("announcement_interrupted", name=self._device.name)
        return end
