"""Voice timers: those set on a device ring on it.

A timer belongs to the device that it was set on, as long as that device stays connected. One on WebSocket is
out of reach when a timer ends, so Home Assistant refuses to set a timer on it.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
import logging
from typing import Any, Final, Self

from homeassistant.components import persistent_notification
from homeassistant.components.intent import TimerEventType, TimerInfo, async_register_timer_handler
from homeassistant.core import CALLBACK_TYPE, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
import voluptuous as vol

from ..const import DOMAIN
from ..device.device import Device
from ..device.state import STATUS_READ
from ..protocol.audio.timer_sound import TIMER_SOUND_SECONDS, timer_sound
from ..protocol.conversation.conversation import Conversation
from ..protocol.faces import Face
from ..protocol.messages import DOWNLINK
from ..protocol.transport.link import LinkKind
from ..protocol.untrusted_text import one_line
from ..texts.translated import async_text
from ..tools.catalogue import STATUS_TOOL
from ..voice.announcements.announcement_speech import text_utterance
from ..voice.announcements.announcer import Announcer
from ..voice.announcements.refusals import (
    AnnouncementInterruptedError,
    AnnouncementRefusedError,
    AnnouncementStoppedError,
    Delivery,
    SoundError,
)
from ..voice.announcements.utterance import Utterance
from ..voice.pipelines import chosen_pipeline, spoken_language

_LOGGER = logging.getLogger(__name__)

_KNOWN: Final[HassKey[set[str]]] = HassKey(f"{DOMAIN}_timers")
"""Ids of the running timers that were set since Home Assistant started; all others are gone."""
# These decide whether timers are taken. A ring that was refused is tried again when the status is read.
_FOLLOWED: Final = ("linked", "link", "firmware", "conversation", "timers", STATUS_READ)
_STORED: Final = vol.Schema(
    {
        vol.Required("name"): str,
        vol.Required("seconds"): int,
        vol.Required("ends_at"): vol.Maybe(vol.All(str, datetime.fromisoformat, dt_util.as_utc)),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTimer:
    """A timer that was set on a device."""

    name: str
    """What the user calls it; empty if it has no name."""
    seconds: int
    """How long it was set for."""
    ends_at: datetime | None
    """None while it is paused."""

    @classmethod
    def from_dict(cls, data: Any) -> Self | None:
        """Read the stored form; None if it is damaged."""
        try:
            return cls(**_STORED(data))
        except vol.Invalid:
            return None

    def as_dict(self) -> dict[str, Any]:
        """Return the stored form as JSON values."""
        ends_at = self.ends_at.isoformat() if self.ends_at else None
        return {"name": self.name, "seconds": self.seconds, "ends_at": ends_at}


@callback
def next_timer_end(device: Device) -> datetime | None:
    """Return when the next timer of a device ends; None if none runs."""
    timers = map(SetTimer.from_dict, device.state.timers.values())
    return min((timer.ends_at for timer in timers if timer and timer.ends_at), default=None)


class VoiceTimers:
    """Follows the timers of one device, and rings when they end.

    Those that have not ended are stored with the device's state, by the ids that Home Assistant gave them:
    Home Assistant itself forgets them when it is restarted.
    """

    def __init__(self, device: Device, announcer: Announcer) -> None:
        self._hass = hass = device.hass
        self._device = device
        self._announcer = announcer
        self._known = hass.data.setdefault(_KNOWN, set())
        self._timeouts = device.timeouts.timers
        self._unregister: CALLBACK_TYPE | None = None
        self._unlisten: CALLBACK_TYPE | None = None
        self._changed = asyncio.Event()
        self._ended: list[TimerInfo] = []
        """Those that are to ring."""
        self._ringing: asyncio.Task[None] | None = None

    @callback
    def start(self) -> CALLBACK_TYPE:
        """Take timers from now on, and notify the owner of lost ones. Returns a function that ends this."""
        self._unlisten = self._device.listen(_FOLLOWED, self._device_changed)
        self._device_changed()
        if lost := self._take_lost():
            self._device.create_task(self._report("timers_lost", lost), "report lost timers")
        return self._stop

    @callback
    def _stop(self) -> None:
        for end in (self._unlisten, self._unregister):
            if end is not None:
                end()
        self._unlisten = self._unregister = None
        if self._ringing is not None:
            self._ringing.cancel()

    @callback
    def _device_changed(self) -> None:
        """Take timers as long as the device stays connected, and those that run in any case."""
        device = self._device
        self._changed.set()
        stays_connected = device.linked and device.state.link is LinkKind.MQTT
        wanted = stays_connected or bool(device.state.timers) or self._is_ringing
        if wanted and self._unregister is None and (device_id := device.registry_id) is not None:
            self._unregister = async_register_timer_handler(self._hass, device_id, self._happened)
        elif not wanted and self._unregister is not None:
            self._unregister()
            self._unregister = None

    @property
    def _is_ringing(self) -> bool:
        return self._ringing is not None and not self._ringing.done()

    @callback
    def _happened(self, event: TimerEventType, timer: TimerInfo) -> None:
        timers = dict(self._device.state.timers)
        timers.pop(timer.id, None)
        self._known.discard(timer.id)
        if event in (TimerEventType.STARTED, TimerEventType.UPDATED):
            ends_at = dt_util.utcnow() + timedelta(seconds=timer.seconds_left) if timer.is_active else None
            timers[timer.id] = _set_timer(timer, ends_at).as_dict()
            self._known.add(timer.id)
        elif event is TimerEventType.FINISHED:
            self._ended.append(timer)
            if not self._is_ringing:
                self._ringing = self._device.create_task(self._ring(), "ring")
        self._device.update(timers=timers)

    @callback
    def _take_lost(self) -> list[SetTimer]:
        """Remove and return the timers that a restart of Home Assistant ended, or that could not ring."""
        now = dt_util.utcnow()
        running: dict[str, dict[str, Any]] = {}
        lost: list[SetTimer] = []
        for timer_id, stored in self._device.state.timers.items():
            if (timer := SetTimer.from_dict(stored)) is None:
                continue
            if timer_id in self._known and (timer.ends_at is None or timer.ends_at > now):
                running[timer_id] = stored
            else:
                lost.append(timer)
        self._device.update(timers=running)
        return lost

    async def _ring(self) -> None:
        """Ring for the timers that have ended, until the user ends it or it has rung long enough."""
        while self._ended:
            ended = tuple(self._ended)
            self._ended.clear()
            try:
                async with asyncio.timeout(self._timeouts.unreachable):
                    if await self._ring_when_reachable(await self._text(ended)):
                        # Who ends the ring sees to all that have ended meanwhile.
                        self._ended.clear()
            except TimeoutError:
                await self._report("timers_missed", [_set_timer(timer, None) for timer in ended])
        self._ringing = None
        self._device_changed()

    async def _ring_when_reachable(self, text: str) -> bool:
        """Ring as well as the device can; return whether the user has ended it."""
        while True:
            self._changed.clear()
            if (delivery := self._announcer.delivery) is not Delivery.NONE:
                try:
                    if delivery is not Delivery.TEXT:
                        with suppress(AnnouncementRefusedError):
                            return await self._sound(text)
                    return await self._show(text)
                except HomeAssistantError as err:
                    _LOGGER.debug("%s did not ring: %s", self._device.name, err)
            await self._changed.wait()

    async def _text(self, ended: Sequence[TimerInfo]) -> str:
        names = ", ".join(one_line(timer.name) for timer in ended if timer.name)
        key = "timer_ended_named" if names else "timer_ended"
        return await async_text(self._hass, key, ended[0].language, timer=names)

    async def _sound(self, text: str) -> bool:
        """Ring with sound. Raises as `Announcer.say`."""
        woken = asyncio.Event()
        with ExitStack() as refusal:

            @callback
            def started() -> None:
                if self._announcer.delivery is Delivery.NOTIFY:
                    refusal.enter_context(self._refusing_conversations(woken))

            sound = partial(self._ring_sound, text)
            try:
                await self._announcer.say(
                    Utterance(text=text, speech=sound, text_begins=TIMER_SOUND_SECONDS, on_start=started)
                )
            except AnnouncementInterruptedError:
                # Waking the device has ended the ring; the conversation that follows is not meant.
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._timeouts.waking):
                        await woken.wait()
                return True
            except AnnouncementStoppedError:
                # By the media player.
                return True
            except SoundError as err:
                # The timer sound was played, and the text is on the screen.
                _LOGGER.warning("The end of a timer could not be spoken: %s", err)
        return False

    @contextmanager
    def _refusing_conversations(self, woken: asyncio.Event) -> Generator[None]:
        """Notify `woken` of conversations, and hold none."""

        def refuse(_conversation: Conversation) -> bool:
            woken.set()
            return False

        stop = self._device.conversations.hold(refuse)
        try:
            yield
        finally:
            stop()

    async def _ring_sound(self, text: str) -> AsyncGenerator[bytes]:
        """In a conversation, ring once and say what has ended; otherwise ring on and on."""
        strike = await self._hass.async_add_executor_job(timer_sound, DOWNLINK.sample_rate)
        yield strike
        if self._announcer.delivery is Delivery.CONVERSATION:
            spoken = text_utterance(self._hass, text, chosen_pipeline(self._hass, self._device))
            async with aclosing(spoken.speech()) as speech:
                async for pcm in speech:
                    yield pcm
            return
        for _ in range(round(self._timeouts.ring / TIMER_SOUND_SECONDS) - 1):
            yield strike

    async def _show(self, text: str) -> bool:
        """Show it with the sound of an alert, repeatedly; return whether the user has woken the device."""
        status = await async_text(self._hass, "timer", spoken_language(self._hass, self._device))
        woken = asyncio.Event()
        with self._refusing_conversations(woken):
            for number in range(round(self._timeouts.show / self._timeouts.between_alerts)):
                await self._device.commands.show(status=status, message=text, emotion=Face.HAPPY)
                if number == 0 and STATUS_TOOL in self._device.tools:
                    # Nothing else shows that the device has not lost its power.
                    await self._device.commands.call_tool(STATUS_TOOL)
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._timeouts.between_alerts):
                        await woken.wait()
                        return True
        return False

    async def _report(self, key: str, timers: Sequence[SetTimer]) -> None:
        """Notify the owner of timers that have not rung."""
        named = ", ".join(_description(timer) for timer in timers)
        persistent_notification.async_create(
            self._hass,
            await async_text(self._hass, key, name=self._device.name, timers=named),
            title=await async_text(self._hass, f"{key}_title"),
            notification_id=f"{DOMAIN}_{key}_{self._device.mac}",
        )


def _set_timer(timer: TimerInfo, ends_at: datetime | None) -> SetTimer:
    return SetTimer(name=timer.name or "", seconds=timer.created_seconds, ends_at=ends_at)


def _description(timer: SetTimer) -> str:
    duration = str(timedelta(seconds=timer.seconds))
    return f"{one_line(timer.name)} ({duration})" if timer.name else duration
