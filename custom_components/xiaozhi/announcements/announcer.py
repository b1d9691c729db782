"""Decides how something is said to a device, one thing at a time."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final, override

from homeassistant.components.assist_pipeline import Pipeline
from homeassistant.core import CALLBACK_TYPE, Context, callback
from homeassistant.exceptions import HomeAssistantError

from ..const import MAX_MESSAGE
from ..device.device import Device
from ..device.guest import DevicePart
from ..device.state import QUIET
from ..errors import UserError
from ..protocol.conversation.caption_text import captions, speaking_time
from ..protocol.faces import Face, face_of
from ..texts.translated import async_text
from ..timeouts import AnnouncementTimeouts
from ..tools.stock_tools import STATUS_TOOL
from ..util.event_loop import loop_time, within
from ..util.ranked_lock import RankedLock
from ..util.text import one_line
from .announcement_errors import refusal, sound_error
from .announcement_speech import one_after_other, text_utterance, voice_language
from .delivery import Delivery, delivery_to, woken
from .heard import BY_PERSON, End, EndedByPersonError, Heard
from .in_conversation import ConversationAnnouncements
from .levels import Level
from .other_loudspeaker import PlayerFault, delivery_in_room, other_loudspeaker, report
from .to_idle_device import IdleAnnouncement
from .utterance import Rank, Utterance

# Seconds until volume and brightness have to be restored: a gateway that stops waits for 3.
_CLOSING: Final = 2.5
RINGS: Final = "rings"
"""Key of changes of `Announcer.rings`."""
_IN_CHANNEL: Final = frozenset({Delivery.CONVERSATION, Delivery.MUSIC})
_WORDS: Final = {
    End.WOKEN: "announcement_interrupted",
    End.STOPPED: "announcement_stopped_by_user",
    End.REPLACED: "announcement_replaced",
    End.QUIET: "do_not_disturb",
    End.FAULT: "announcement_stopped",
}
"""Keys of the texts for the user, unless the fault has its own."""


@dataclass(slots=True, eq=False)
class _Said:
    """An utterance that waits or is being said."""

    utterance: Utterance
    scope: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    over: asyncio.Event = field(default_factory=asyncio.Event)
    how: Delivery = Delivery.NONE
    """How it has begun to be heard."""
    ended_by: End | None = None
    """The end of it; None if its caller has ended it."""
    fault: tuple[str, PlayerFault] | None = None
    """The media player that has not said it, and the reason."""
    replaced_by: Rank | None = None
    lasts_until: float = 0.0
    """Until then no ring ends it: it has interrupted one."""
    end_refusal: CALLBACK_TYPE | None = None
    """Lets conversations be held again after a ring."""

    @property
    def rings_long(self) -> bool:
        """Whether a bell goes on and on; in a conversation, it is heard once at the next occasion."""
        return self.utterance.rings and self.how not in {Delivery.NONE, Delivery.CONVERSATION}

    def end(self, by: End, rank: Rank | None = None) -> None:
        """Stop saying it."""
        if self.ended_by is None:
            self.ended_by, self.replaced_by = by, rank
            self.scope.reschedule(loop_time())


class Announcer(DevicePart):
    """Says and plays on one device all that its user has not asked for, the most important first.

    Music is interrupted by everything else, and may begin again after that.
    """

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._volume, self._brightness = Level(device, "volume"), Level(device, "brightness")
        self.in_conversation = ConversationAnnouncements(device, self._volume)
        """Announcements between two turns of a conversation."""
        self._lock = RankedLock()
        self._all = set[_Said]()
        self._now: _Said | None = None
        """The utterance that is being said."""
        self._free_at = 0.0
        """Time until which the device may still be busy with an ended utterance."""
        self._closed = False
        device.record.listen([QUIET], self._end_disturbing)

    @property
    def can_announce(self) -> bool:
        """Whether a text can be said, or at least shown, now."""
        if self.device.quiet_levels is not None:
            return False
        match delivery_in_room(self.device):
            case Delivery.TEXT:
                return self.device.settings.shows_announcements
            case delivery:
                return delivery is not Delivery.NONE

    @property
    def is_busy(self) -> bool:
        """Whether something is being said for which no conversation is waited."""
        return self._now is not None and not self.in_conversation.waiting

    @callback
    def check_may_disturb(self, context: Context | None = None) -> None:
        """Check that the device may disturb, or that somebody has asked it for this. Raises `UserError`.

        With the context of a call, a user may have done so, and otherwise who talks to it.
        """
        conversation = self.device.conversation
        talks = conversation is not None and not (conversation.resting or self.in_conversation.only_music)
        by_user = context is not None and context.user_id is not None
        if self.device.quiet_levels is not None and not (talks or by_user):
            raise self._error("do_not_disturb")

    @callback
    def _end_disturbing(self) -> None:
        for said in tuple(self._all):
            if self._disturbs(said.utterance):
                said.end(End.QUIET)

    @callback
    def _disturbs(self, utterance: Utterance) -> bool:
        """Whether something must not be heard: music has been asked for, or was begun before."""
        return self.device.quiet_levels is not None and utterance.rank.disturbs

    @callback
    def check_sound(self) -> None:
        """Check that the device can play a sound now. Raises `UserError`."""
        if delivery_to(self.device) not in {Delivery.CONVERSATION, Delivery.NOTIFY}:
            raise refusal(self.device, has_text=False)

    async def say(self, utterance: Utterance) -> Heard:
        """Say something in its turn, and return how it was heard. Cancelling stops it."""
        said = _Said(utterance)
        end, error = End.FAULT, None
        try:
            async with said.scope:
                self._all.add(said)
                if self._closed:
                    raise self._error("announcement_stopped")
                if self._disturbs(utterance):
                    raise self._error("do_not_disturb")
                async with self._turn_for(said):
                    end = await self._say(said)
        except TimeoutError:
            if said.ended_by is None:
                raise
            end = said.ended_by
        except HomeAssistantError as err:
            error = err
        finally:
            if said.end_refusal is not None:
                said.end_refusal()
            self._all.discard(said)
            self._show_ring(said)
            said.over.set()
        if error is None and end is not End.DONE:
            error = self._error(_WORDS[end], EndedByPersonError if end in BY_PERSON else UserError)
        return Heard(how=said.how, end=end, error=error, replaced_by=said.replaced_by)

    async def ask(
        self,
        question: str,
        pipeline: Pipeline,
        may_be_answered: Callable[[], None],
        on_start: Callable[[Delivery], None],
        tone: bytes = b"",
    ) -> None:
        """Ask for an automation, and return when the user may answer. Raises `HomeAssistantError`.

        `on_start` is that of the utterance; `may_be_answered` is called as soon as speech may be the answer.
        In a conversation the device listens after the question and a tone. Otherwise it cannot, and the
        question says how to answer. A user who interrupts the question may be about to answer it.
        """
        hass = self.device.hass
        if self.device.conversation is not None:
            asked = text_utterance(hass, question, pipeline, expects_answer=True)
            asked = replace(asked, on_start=on_start)
            if tone:
                # The user has asked to be recorded, also where nothing is to disturb.
                asked = replace(asked, rank=Rank.ANSWER, speech=one_after_other(asked.speech, tone))
            # A ring that could not wait longer comes before the question.
            while (heard := await self.say(asked)).end is End.REPLACED:
                pass
            # The conversation may be over before there is an occasion.
            if heard.how is not Delivery.NONE:
                if heard.end is not End.WOKEN:
                    heard.check()
                may_be_answered()
                return
        how_to = await async_text(hass, "question_how_to_answer", voice_language(pipeline))

        def begun(how: Delivery) -> None:
            on_start(how)
            # A conversation that has begun meanwhile ends after the question.
            if how not in _IN_CHANNEL:
                may_be_answered()

        while_idle = text_utterance(hass, f"{question} {how_to}", pipeline)
        heard = await self.say(replace(while_idle, rank=Rank.QUESTION, on_start=begun))
        if heard.end is not End.WOKEN:
            heard.check()
            await self.in_conversation.wait_over()
        may_be_answered()

    async def stop(self) -> None:
        """End what is being said or played, and what waits for its turn."""
        await self._end_all(End.STOPPED)

    @override
    async def async_close(self) -> None:
        """End everything, for good."""
        self._closed = True
        over_at = loop_time() + _CLOSING
        await self._end_all(End.FAULT)
        await asyncio.gather(*(level.async_close(over_at) for level in (self._volume, self._brightness)))

    async def _end_all(self, by: End) -> None:
        for said in (ending := tuple(self._all)):
            said.end(by)
        for said in ending:
            await said.over.wait()

    @asynccontextmanager
    async def _turn_for(self, said: _Said) -> AsyncGenerator[None]:
        """Wait until nothing as important is said; what disturbs raises `UserError` if that takes long.

        Music ends at once; after some seconds a ring ends what is less important, and what disturbs
        interrupts a ring, which goes on after it.
        """
        rank, rings, give_up = said.utterance.rank, said.utterance.rings, AnnouncementTimeouts.waits
        timer: asyncio.TimerHandle | None = None

        @callback
        def interrupt(*, has_waited: bool = True) -> None:
            nonlocal timer
            if (now := self._now) is not None:
                other = now.utterance.rank
                if rings:
                    gives_way = other > rank and loop_time() >= now.lasts_until
                elif gives_way := has_waited and rank.disturbs and now.rings_long:
                    said.lasts_until = loop_time() + give_up
                if (has_waited and gives_way) or (other is Rank.MUSIC and rank is not other):
                    now.end(End.REPLACED, rank)
            timer = asyncio.get_running_loop().call_later(AnnouncementTimeouts.ring_waits, interrupt)

        interrupt(has_waited=False)
        try:
            await self._lock.acquire(rank, None if rings or rank is Rank.MUSIC else give_up)
        except TimeoutError as err:
            raise self._error("announcement_waited", seconds=f"{give_up:.0f}") from err
        finally:
            if timer is not None:
                timer.cancel()
        self._now = said
        try:
            yield
        finally:
            self._now = None
            self._lock.release()

    async def _say(self, said: _Said) -> End:
        """Say something in the best way for now, and in another if nothing was heard."""
        device, utterance = self.device, replace(said.utterance, on_start=partial(self._begun, said))
        elsewhere = utterance.may_be_elsewhere and not utterance.expects_answer
        while True:
            how = (delivery_in_room if elsewhere and said.fault is None else delivery_to)(device)
            if how is Delivery.CONVERSATION and utterance.rings and self.in_conversation.only_music:
                how = Delivery.MUSIC
            match how:
                case Delivery.CONVERSATION | Delivery.MUSIC:
                    if (end := await self.in_conversation.say(utterance, how)) is None:
                        self._free_at = loop_time() + AnnouncementTimeouts.idle
                case Delivery.ROOM_PLAYER:
                    end = await self._say_in_room(said, utterance)
                case Delivery.NOTIFY if not utterance.expects_answer:
                    end = await self._notify(said, utterance)
                case Delivery.TEXT if utterance.rings:
                    end = await self._show_until_woken(said, utterance)
                case Delivery.TEXT if device.settings.shows_announcements and utterance.is_message:
                    end = await self._show(utterance)
                case _:
                    raise refusal(
                        device,
                        has_text=utterance.is_message,
                        expects_answer=utterance.expects_answer,
                        player=said.fault[0] if said.fault else None,
                    )
            if end is not None:
                return end

    @callback
    def _begun(self, said: _Said, how: Delivery) -> None:
        if said.fault is not None and how is not Delivery.ROOM_PLAYER:
            report(self.device, *said.fault)
            said.fault = None
        if how not in _IN_CHANNEL:
            self._refuse_conversations(said)
        said.how = how
        self._show_ring(said)
        said.utterance.on_start(how)

    @property
    def rings(self) -> bool:
        """Whether a ring is heard."""
        return any(said.utterance.rings and said.how is not Delivery.NONE for said in self._all)

    @callback
    def _show_ring(self, said: _Said) -> None:
        if said.utterance.rings:
            self.device.record.notify(RINGS)

    @callback
    def _refuse_conversations(self, said: _Said) -> None:
        """Refuse conversations during a ring."""
        if said.utterance.rings and said.end_refusal is None:
            said.end_refusal = self.device.conversations.hold(lambda _conversation: False)

    async def _say_in_room(self, said: _Said, utterance: Utterance) -> End | None:
        """Have the player of the room say it, and show the text; None if it is to be said in another way."""
        device, showing, end = self.device, None, None
        if (loudspeaker := other_loudspeaker(device)) is None:
            return None
        patience = AnnouncementTimeouts.ring_waits if utterance.rings else AnnouncementTimeouts.waits
        playback = loudspeaker.play(utterance, Delivery.ROOM_PLAYER, patience)

        @callback
        def check() -> None:
            if device.conversation is not None:
                playback.stop(End.WOKEN)

        unlisten = device.record.listen(["conversation"], check)
        try:
            if begun := await playback.start():
                utterance.on_start(Delivery.ROOM_PLAYER)
                if utterance.is_message and device.state.linked:
                    showing = device.create_task(self._show_beside(utterance), "show announcement")
            end = await playback.ended
        except Exception as err:
            raise sound_error(err, device) from err
        finally:
            unlisten()
            playback.stop(End.WOKEN)
            if showing is not None and end is not End.DONE:
                showing.cancel()
        if isinstance(end, End):
            return None if end is End.WOKEN and not begun else end
        if end is not PlayerFault.CHANGED:
            said.fault = playback.player, end
        return None

    async def _show_beside(self, utterance: Utterance) -> None:
        with suppress(HomeAssistantError):
            await self._show(replace(utterance, on_start=lambda _: None))

    async def _notify(self, said: _Said, utterance: Utterance) -> End | None:
        """Let the idle device play it; return None if it has begun a conversation instead."""
        notification = IdleAnnouncement(self.device, utterance, free_at=self._free_at)
        pause = AnnouncementTimeouts.cancelled
        try:
            async with self._volume.changed(utterance):
                end = await notification.play()
                pause = {None: AnnouncementTimeouts.idle, End.DONE: 0}.get(end, pause)
        finally:
            self._free_at = loop_time() + pause
        if end is None and delivery_to(self.device) is Delivery.NOTIFY:
            if utterance.rings:
                return await self._show_until_woken(said, utterance)
            raise self._error("announcement_not_taken")
        return end

    async def _show(self, utterance: Utterance) -> End:
        """Show it, one screen after the other."""
        emotion = face_of(utterance.text) or Face.NEUTRAL
        parts = captions(one_line(utterance.text, len(utterance.text)), MAX_MESSAGE)
        for number, part in enumerate(parts):
            await self.device.commands.show(status=utterance.status, message=part, emotion=emotion)
            utterance.on_start(Delivery.TEXT)
            if number + 1 < len(parts):
                await asyncio.sleep(speaking_time(part))
        return End.DONE

    async def _show_until_woken(self, said: _Said, utterance: Utterance) -> End:
        """Show it with a sound, again and again."""
        self._refuse_conversations(said)
        pause, commands = AnnouncementTimeouts.between_alerts, self.device.commands
        async with self._volume.changed(utterance):
            with woken(self.device) as is_woken:
                for number in range(round(utterance.alert_seconds / pause)):
                    await commands.show(status=utterance.status, message=utterance.text, emotion=Face.HAPPY)
                    if number == 0:
                        if STATUS_TOOL in self.device.tools:
                            # Only a poll shows that the device still has power.
                            await commands.call_tool(STATUS_TOOL)
                        utterance.on_start(Delivery.TEXT)
                    if await within(pause, is_woken.wait()):
                        return End.WOKEN
        return End.DONE

    def _error(self, key: str, kind: type[UserError] = UserError, **placeholders: str) -> UserError:
        return kind(key, name=self.device.name, **placeholders)
