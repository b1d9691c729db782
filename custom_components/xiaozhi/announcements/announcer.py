"""Decides how something is said to a device, one thing at a time."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.core import callback
from homeassistant.exceptions import HomeAssistantError

from ..const import MAX_MESSAGE
from ..device.device import Device
from ..protocol.clock import loop_time
from ..protocol.conversation.caption_text import captions, speaking_time
from ..protocol.faces import Face, face_of
from ..protocol.messages import DOWNLINK
from ..protocol.untrusted_text import one_line
from ..texts.translated import async_text
from ..timeouts import AnnouncementTimeouts
from .announcement_errors import (
    AnnouncementError,
    AnnouncementInterruptedError,
    AnnouncementRefusedError,
    AnnouncementReplacedError,
    AnnouncementStoppedError,
    refusal,
    sound_error,
)
from .announcement_speech import text_utterance, voice_language
from .announcement_volume import AnnouncementVolume
from .delivery import Delivery, delivery_in_room, delivery_to
from .in_conversation import ConversationAnnouncements
from .room_player import RoomPlayerError, listen_for_stop, play, report
from .to_idle_device import IdleAnnouncement
from .utterance import Utterance

_STATUS: Final = "Home Assistant"


@dataclass(slots=True, eq=False)
class _Said:
    """An utterance that waits or is being said."""

    utterance: Utterance
    scope: asyncio.Timeout
    over: asyncio.Event = field(default_factory=asyncio.Event)
    ended_by: AnnouncementError | None = None
    """Why it was ended; None if its caller did."""

    def end(self, error: AnnouncementError) -> None:
        """Say no more of it."""
        if self.ended_by is None:
            self.ended_by = error
            self.scope.reschedule(loop_time())


class Announcer:
    """Says and plays on one device what its user has not asked for, in the order of the calls.

    Music, which gives way to anything else, may be begun again after that.
    """

    def __init__(self, device: Device) -> None:
        self._volume = AnnouncementVolume(device)
        self.in_conversation = ConversationAnnouncements(device, self._volume)
        """Announcements between two turns of a conversation."""
        self._device = device
        self._turn = asyncio.Lock()
        self._all = set[_Said]()
        self._now: _Said | None = None
        """The utterance that is being said."""
        self._urgent = 0
        """How many wait that something else gives way to."""
        self._free_at = 0.0
        """Until when the device may still be busy with what is over."""
        self._closed = False

    @property
    def can_announce(self) -> bool:
        """Whether a text can be said, or at least shown, now."""
        match self.delivery:
            case Delivery.TEXT:
                return self._device.settings.shows_announcements
            case delivery:
                return delivery is not Delivery.NONE

    @property
    def delivery(self) -> Delivery:
        """How something would be heard now."""
        return delivery_in_room(self._device)

    @callback
    def check_sound(self) -> None:
        """Check that the device can play a sound now. Raises `AnnouncementRefusedError`."""
        if delivery_to(self._device) not in {Delivery.CONVERSATION, Delivery.NOTIFY}:
            raise refusal(self._device, has_text=False)

    async def say(self, utterance: Utterance) -> None:
        """Say something when all that was to be said before has been; return when it has been heard.

        Raises `AnnouncementError`, and `HomeAssistantError` when the device goes away. Cancelling stops it.
        """
        if self._closed:
            raise self._stopped("announcement_stopped")
        said = _Said(utterance, scope=asyncio.timeout(None))
        try:
            async with said.scope:
                self._all.add(said)
                async with self._turn_for(said):
                    await self._say(utterance)
        except TimeoutError as err:
            raise said.ended_by or err from None
        finally:
            self._all.discard(said)
            said.over.set()

    async def ask(self, question: str, pipeline: Pipeline, may_be_answered: Callable[[], None]) -> None:
        """Ask for an automation, and return when the user may answer. Raises as `say`.

        `may_be_answered` is called when what is said from then on may be the answer. In a conversation the
        device listens after the question. Otherwise it cannot, and the question says how to answer. A user
        who interrupts the question may be about to answer it.
        """
        hass = self._device.hass
        if self.delivery is Delivery.CONVERSATION:
            in_conversation = text_utterance(hass, question, pipeline, expects_answer=True)
            # The conversation may be over before there is an occasion.
            with suppress(AnnouncementRefusedError):
                with suppress(AnnouncementInterruptedError):
                    await self.say(in_conversation)
                may_be_answered()
                return
        how = await async_text(hass, "question_how_to_answer", voice_language(pipeline))

        def begun() -> None:
            # A conversation that has begun meanwhile ends after the question.
            if self.delivery is not Delivery.CONVERSATION:
                may_be_answered()

        while_idle = text_utterance(hass, f"{question} {how}", pipeline)
        with suppress(AnnouncementInterruptedError):
            await self.say(replace(while_idle, on_start=begun))
            await self.in_conversation.wait_over()
        may_be_answered()

    async def stop(self) -> None:
        """End what is being said or played, and what waits for its turn."""
        await self._end_all("announcement_stopped_by_user")

    async def async_close(self) -> None:
        """End everything, for good."""
        self._closed = True
        await self._end_all("announcement_stopped")
        self._volume.close()

    async def _end_all(self, key: str) -> None:
        for said in (ending := tuple(self._all)):
            said.end(self._stopped(key))
        for said in ending:
            await said.over.wait()

    @asynccontextmanager
    async def _turn_for(self, said: _Said) -> AsyncGenerator[None]:
        if said.utterance.gives_way:
            await self._turn.acquire()
            while self._urgent:
                self._turn.release()
                # A cancelled call does not take its turn, and counts as urgent until its task has run.
                await asyncio.sleep(0)
                await self._turn.acquire()
        else:
            if self._now is not None and self._now.utterance.gives_way:
                self._now.end(AnnouncementReplacedError("announcement_replaced", name=self._device.name))
            self._urgent += 1
            try:
                await self._turn.acquire()
            finally:
                self._urgent -= 1
        self._now = said
        try:
            yield
        finally:
            self._now = None
            self._turn.release()

    async def _say(self, utterance: Utterance) -> None:
        in_room = self.delivery is Delivery.ROOM_PLAYER and not (utterance.stays or utterance.expects_answer)
        if in_room and await self._say_in_room(utterance):
            return
        while True:
            match delivery_to(self._device):
                case Delivery.CONVERSATION:
                    if await self.in_conversation.say(utterance):
                        return
                    self._free_at = loop_time() + AnnouncementTimeouts.idle
                case Delivery.NOTIFY if not utterance.expects_answer:
                    if await self._notify(utterance):
                        return
                case Delivery.TEXT if (
                    self._device.settings.shows_announcements
                    and utterance.is_message
                    and not utterance.needs_sound
                ):
                    await self._show(utterance, utterance.on_start)
                    return
                case _:
                    raise refusal(
                        self._device, has_text=utterance.is_message, expects_answer=utterance.expects_answer
                    )

    async def _say_in_room(self, utterance: Utterance) -> bool:
        """Have the player of the room say it, and show the text; False if it does not say it."""
        device, interrupted = self._device, asyncio.Event()
        player = device.settings.loudspeaker or ""
        heard: float | None = None
        showing: asyncio.Task[None] | None = None
        is_said = False
        ended_by: list[AnnouncementError] = []
        listeners = ExitStack()

        @callback
        def end(error: AnnouncementError) -> None:
            ended_by.append(error)
            interrupted.set()

        @callback
        def look() -> None:
            if device.conversation is not None:
                end(AnnouncementInterruptedError("announcement_interrupted", name=device.name))

        listeners.callback(device.record.listen(["conversation"], look))
        try:
            async with aclosing(
                play(device, player, utterance.speech, lambda: utterance.text, in_turn=True)
            ) as silence:
                async for piece in silence:
                    if heard is None:
                        heard = loop_time()
                        utterance.on_start()
                        stop = partial(end, self._stopped("announcement_stopped_by_user"))
                        listeners.callback(listen_for_stop(device.hass, player, stop))
                        if utterance.is_message and device.state.linked:
                            showing = device.create_task(self._show_beside(utterance), "show announcement")
                    heard += len(piece) / (2 * DOWNLINK.sample_rate)
                    with suppress(TimeoutError):
                        async with asyncio.timeout_at(heard):
                            await interrupted.wait()
                        break
            is_said = not interrupted.is_set()
        except RoomPlayerError as err:
            report(device, player, err)
            return False
        except Exception as err:
            raise sound_error(err, device) from err
        finally:
            listeners.close()
            if showing is not None and not is_said:
                showing.cancel()
        if not is_said:
            raise ended_by[0]
        return True

    async def _show_beside(self, utterance: Utterance) -> None:
        with suppress(HomeAssistantError):
            await self._show(utterance)

    async def _notify(self, utterance: Utterance) -> bool:
        """Have it played; False if the device has begun a conversation instead."""
        notification = IdleAnnouncement(self._device, utterance, free_at=self._free_at)
        pause = AnnouncementTimeouts.idle
        try:
            async with self._volume.changed(wanted=utterance.at_announcement_volume):
                if await notification.play():
                    pause = 0
                    return True
        except AnnouncementInterruptedError:
            pause = AnnouncementTimeouts.cancelled
            raise
        finally:
            self._free_at = loop_time() + pause
        if delivery_to(self._device) is Delivery.NOTIFY:
            raise AnnouncementRefusedError("announcement_not_taken", name=self._device.name)
        return False

    async def _show(self, utterance: Utterance, on_start: Callable[[], None] = lambda: None) -> None:
        """Show it, a screen after the other."""
        emotion = face_of(utterance.text) or Face.NEUTRAL
        parts = captions(one_line(utterance.text, len(utterance.text)), MAX_MESSAGE)
        for number, part in enumerate(parts):
            await self._device.commands.show(status=_STATUS, message=part, emotion=emotion)
            on_start()
            if number + 1 < len(parts):
                await asyncio.sleep(speaking_time(part))

    def _stopped(self, key: str) -> AnnouncementStoppedError:
        return AnnouncementStoppedError(key, name=self._device.name)
