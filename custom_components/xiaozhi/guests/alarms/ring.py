"""The ring of a timer or an alarm, as loud and as long as the device can."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
import logging
from typing import Final

import audioop
from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import CALLBACK_TYPE, Event, EventStateChangedData, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.event import async_track_state_change_event
from homeassistant.util.ulid import ulid_now

from ...announcements.announcement_errors import sound_error
from ...announcements.announcement_speech import text_utterance
from ...announcements.announcer import Announcer
from ...announcements.delivery import Delivery
from ...announcements.heard import End
from ...announcements.other_loudspeaker import chosen_player
from ...announcements.utterance import Rank, Utterance
from ...device.device import Device
from ...device.state import STATUS_READ
from ...protocol.audio.timer_sound import TIMER_SOUND_SECONDS, timer_sound
from ...protocol.conversation.conversation import Conversation
from ...protocol.messages import DOWNLINK
from ...protocol.transport.link import LinkKind
from ...texts.notifications import async_notify
from ...texts.translated import async_text
from ...util.event_loop import loop_time, within
from ...util.text import plain_name
from ...voice.pipelines import chosen_pipeline, spoken_language

_LOGGER = logging.getLogger(__name__)

BELL: Final = "bell"
"""Key of changes of `Bell.has_due`."""

# Keys of changes after which a device may be able to ring. A refused ring is retried when the status is read.
_FOLLOWED: Final = ("linked", "link", "firmware", "conversation", STATUS_READ)
# Loudness of an alarm from its beginning on, and seconds for which each lasts.
_STEPS: Final = (0.25, 0.5, 0.75, 1.0)
_STEP_SECONDS: Final = 15
# Of a reminder, which is said several times.
_REPETITIONS: Final = 3
_PAUSE_SECONDS: Final = 12


class TimerTimeouts:
    """Time-outs and pauses of timers and alarms, in seconds."""

    ring: float = 60
    """For which a timer rings with sound of our own."""
    show: float = 30
    """The same with alerts, which make a short sound."""
    retry: float = 5
    """From the end of a ring that was not heard, or not to its end, until it is tried again."""
    unreachable: float = 600
    """For a device that is away to come back."""
    alarm: float = 600
    """For which an alarm rings, with sound or with alerts."""
    snooze: float = 540
    after_stop: float = 120
    """For which a stopped alarm can still be snoozed: to say so, one wakes the device, which stops it."""
    poll: float = 60
    """Between two polls of the clock, which may be set, and of the alarms."""


class RingEnd(StrEnum):
    """End of a ring."""

    STOPPED = "stopped"
    """The user stopped it, or spoke after it was said in a conversation."""
    OVER = "over"
    """It has rung long enough."""
    MISSED = "missed"
    """It could not be heard until its deadline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """A timer or alarm that is to ring."""

    is_alarm: bool
    """Whether it is an alarm or a reminder, and at the volume of announcements."""
    text: str
    """On the screen, and said in a conversation."""
    speaks: bool = False
    """Whether the text is said also while the device is idle, instead of ringing on and on."""
    on_start: Callable[[], None] = lambda: None
    """Called whenever it begins to be heard."""

    @property
    def wakes(self) -> bool:
        """Whether it rings long and with increasing loudness, up to the volume of announcements."""
        return self.is_alarm and not self.speaks

    @property
    def seconds(self) -> float:
        """Length of the ring."""
        return TimerTimeouts.alarm if self.is_alarm else TimerTimeouts.ring

    @property
    def alert_seconds(self) -> float:
        """Length of the alert on a device that cannot speak."""
        return TimerTimeouts.alarm if self.wakes else TimerTimeouts.show

    @property
    def rank(self) -> Rank:
        """Its place among utterances."""
        return Rank.ALARM if self.is_alarm else Rank.TIMER


@callback
def can_ring_idle(device: Device) -> bool:
    """Whether something can ring while a device is idle: an idle one on WebSocket cannot be reached."""
    hass, player = device.hass, chosen_player(device)
    if device.state.link is not LinkKind.WEBSOCKET or player is None:
        return device.state.link is not LinkKind.WEBSOCKET
    # A player may come later than we do.
    is_there = hass.states.get(player) is not None or er.async_get(hass).async_get(player) is not None
    return is_there or not hass.is_running


@dataclass(eq=False, slots=True)
class _Due:
    """A ring that was not heard yet, or not long enough."""

    ring: Ring
    deadline: float
    """Loop time until which it may begin."""
    end: asyncio.Future[RingEnd]
    began: float | None = None
    """Since when it is heard."""

    @property
    def until(self) -> float:
        """Loop time at which it is over."""
        return self.deadline if self.began is None else self.began + self.ring.seconds

    def left(self, of: float) -> float:
        """Return the remaining seconds `of` a ring or an alert."""
        return of if self.began is None else max(of - (loop_time() - self.began), 0)

    def finish(self, end: RingEnd) -> None:
        """End it."""
        if not self.end.done():
            self.end.set_result(end)


class Bell:
    """Rings on one device. Of several things the most important sounds, and names the others."""

    def __init__(self, device: Device, announcer: Announcer) -> None:
        self._hass = device.hass
        self._device = device
        self._announcer = announcer
        self._changed = asyncio.Event()
        self._due: list[_Due] = []
        """All that rings, the most important first."""
        self._ringing: asyncio.Task[None] | None = None
        self._conversation: Conversation | None = None
        """The conversation in which it was said last."""

    @callback
    def start(self) -> CALLBACK_TYPE:
        """Follow whether the device can ring. Returns a function that ends this."""
        return self._device.record.listen(_FOLLOWED, self._changed.set)

    async def ring(self, ring: Ring, deadline: float) -> RingEnd:
        """Ring as soon as it can be heard, if that is before `deadline`; return the end of it."""
        due = _Due(ring, deadline, asyncio.get_running_loop().create_future())
        self._due = sorted([*self._due, due], key=lambda each: (each.ring.rank, each.ring.speaks))
        self._ring_anew()
        self._device.record.notify(BELL)
        try:
            return await due.end
        finally:
            self._due.remove(due)
            self._device.record.notify(BELL)
            if due.end.cancelled():
                self._ring_anew()

    @property
    def has_due(self) -> bool:
        """Whether something rings, or waits until it can."""
        return bool(self._due)

    @property
    def _open(self) -> list[_Due]:
        return [each for each in self._due if not each.end.done()]

    @callback
    def _ring_anew(self) -> None:
        """Ring for what is due now, and for nothing else."""
        if self._ringing is not None:
            self._ringing.cancel()
        self._ringing = self._device.create_task(self._ring(), "ring") if self._open else None

    async def _ring(self) -> None:
        """Ring until all that is due has ended, even if other sounds interrupt it."""
        try:
            while due := self._open:
                self._changed.clear()
                heard = await self._announcer.say(await self._utterance(due))
                if heard.by_person:
                    self._stop(due)
                elif heard.end is End.DONE and heard.how is Delivery.CONVERSATION:
                    if await self._is_answered():
                        self._stop(due)
                elif heard.end is End.DONE:
                    due[0].finish(RingEnd.OVER)
                elif heard.end is not End.REPLACED:
                    _LOGGER.debug("%s did not ring, or not to its end: %s", self._device.name, heard.error)
                    await self._wait(min(due[0].until, loop_time() + TimerTimeouts.retry))
                for each in due:
                    if each.until <= loop_time():
                        each.finish(RingEnd.MISSED if each.began is None else RingEnd.OVER)
        except Exception as err:  # noqa: BLE001 - raised where it was set, and logged there
            for each in self._open:
                each.end.set_exception(err)
        finally:
            # Its text would stay on the screen until somebody wakes the device.
            if self._device.conversation is None and not self._open:
                with suppress(HomeAssistantError):
                    await self._device.commands.clear_screen()

    def _stop(self, due: Iterable[_Due]) -> None:
        for each in due:
            each.finish(RingEnd.STOPPED)

    async def _is_answered(self) -> bool:
        """Wait for the end of the conversation in which it was said; return whether somebody was there.

        The device may answer a false wake word, so only speech or a button after it counts.
        """
        said_at, conversation = loop_time(), self._conversation
        if conversation is not None:
            await within(TimerTimeouts.poll, conversation.closed.wait())
        return conversation is not None and conversation.person_at > said_at

    async def _utterance(self, due: Sequence[_Due]) -> Utterance:
        first, ring = due[0], due[0].ring

        @callback
        def started(_how: Delivery) -> None:
            self._conversation = self._device.conversation
            for each in due:
                if each.began is None:
                    each.began = loop_time()
                each.ring.on_start()

        text = "; ".join(dict.fromkeys(each.ring.text for each in due))
        language = spoken_language(self._hass, self._device)
        return Utterance(
            rank=ring.rank,
            status=await async_text(self._hass, "alarm" if ring.is_alarm else "timer", language),
            text=text,
            speech=partial(self._sound, first, text),
            text_begins=TIMER_SOUND_SECONDS,
            alert_seconds=first.left(ring.alert_seconds),
            on_start=started,
            at_announcement_volume=ring.is_alarm,
        )

    async def _wait(self, until: float) -> None:
        """Wait for a change after which it may be able to ring."""
        player = chosen_player(self._device)

        @callback
        def player_changed(event: Event[EventStateChangedData]) -> None:
            if (old := event.data["old_state"]) is None or old.state == STATE_UNAVAILABLE:
                self._changed.set()

        stop = async_track_state_change_event(self._hass, [player] if player else [], player_changed)
        try:
            await within(until - loop_time(), self._changed.wait())
        finally:
            stop()

    def _sound(self, due: _Due, text: str, how: Delivery) -> AsyncGenerator[bytes]:
        """In a conversation, ring once and say the text; otherwise ring on, or say it several times."""
        if how is Delivery.CONVERSATION:
            return self._spoken(text, how, 1)
        if due.ring.speaks:
            return self._spoken(text, how, _REPETITIONS)
        return self._rung(due.ring, due.left(due.ring.seconds))

    async def _spoken(self, text: str, how: Delivery, times: int) -> AsyncGenerator[bytes]:
        strike = await self._hass.async_add_executor_job(timer_sound, DOWNLINK.sample_rate)
        spoken = text_utterance(self._hass, text, chosen_pipeline(self._hass, self._device))
        for number in range(times):
            # A second at a time: each piece is encoded in one go.
            for _ in range(_PAUSE_SECONDS if number else 0):
                yield bytes(2 * DOWNLINK.sample_rate)
            yield strike
            try:
                async with aclosing(spoken.speech(how)) as speech:
                    async for pcm in speech:
                        yield pcm
            except Exception as err:  # noqa: BLE001 - speech engines may raise anything
                # The bell rings, and the text is on the screen. Failures are logged there.
                sound_error(err, self._device)

    async def _rung(self, ring: Ring, seconds: float) -> AsyncGenerator[bytes]:
        strikes = await self._hass.async_add_executor_job(_strikes, ring.wakes)
        first = round((ring.seconds - seconds) / TIMER_SOUND_SECONDS)
        for number in range(first, round(ring.seconds / TIMER_SOUND_SECONDS)):
            step = int(number * TIMER_SOUND_SECONDS / _STEP_SECONDS)
            yield strikes[min(step, len(strikes) - 1)]


async def async_report(device: Device, key: str, what: Iterable[str]) -> None:
    """Notify the owner of unheard timers or alarms, described in Markdown, with the texts of a key."""
    named = {key.partition("_")[0]: ", ".join(what), "name": plain_name(device.name)}
    await async_notify(device.hass, key, f"{key}_{device.mac}_{ulid_now()}", **named)


def _strikes(rises: bool) -> list[bytes]:
    """Return the sound of the bell, or the same at each step of loudness."""
    strike = timer_sound(DOWNLINK.sample_rate)
    return [audioop.mul(strike, 2, step) for step in _STEPS] if rises else [strike]
