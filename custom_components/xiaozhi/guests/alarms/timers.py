"""Voice timers: those set on a device ring on it.

A timer belongs to the device that it was set on, as long as that device stays connected. One on WebSocket is
out of reach when a timer ends, so Home Assistant refuses to set a timer on it, unless a loudspeaker rings.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
import math
from typing import Any, Final

from homeassistant.components.intent import TimerEventType, TimerInfo, async_register_timer_handler
from homeassistant.core import CALLBACK_TYPE, callback
from homeassistant.helpers import intent
from homeassistant.util import dt as dt_util
from homeassistant.util.hass_dict import HassKey
import voluptuous as vol

from ...const import DOMAIN
from ...device.device import Device
from ...device.owned import Owned
from ...device.state import SETTINGS
from ...settings import MOMENT, from_stored, stored
from ...texts.translated import async_text
from ...util.event_loop import loop_time
from ...util.text import one_line, plain_markdown
from ...voice.pipelines import spoken_language
from .ring import Bell, Ring, RingEnd, TimerTimeouts, async_report, can_ring_idle

_KNOWN: Final[HassKey[set[str]]] = HassKey(f"{DOMAIN}_timers")
"""Ids of the running timers that were set since Home Assistant started; all others are gone."""
# These decide whether timers are taken.
_FOLLOWED: Final = ("linked", "link", "timers", SETTINGS)
_MOST: Final = 30
# Characters of a name.
_MAX_NAME: Final = 100


class TimerEvent(StrEnum):
    """Kinds of events of a timer."""

    FINISHED = "timer_finished"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTimer:
    """A timer that was set on a device."""

    name: str = stored(str)
    """Name that the user has given; empty if there is none."""
    seconds: int = stored(int)
    """Length of the timer."""
    ends_at: datetime | None = stored(vol.Maybe(MOMENT))
    """None while it is paused."""


TIMERS: Final = Owned(key="timers", read=partial(from_stored, SetTimer))
"""Timers that were set on a device and have not rung."""


@callback
def next_timer_end(device: Device) -> datetime | None:
    """Return when the next timer of a device ends; None if none runs."""
    ends = (timer.ends_at for timer in TIMERS.of(device.state).values() if timer.ends_at is not None)
    now = dt_util.utcnow()
    return min((end for end in ends if end > now), default=None)


class VoiceTimers:
    """Follows the timers of one device, and rings when they end.

    Each is stored with the device's state until it has rung or was reported, by the id that Home Assistant
    gave it: Home Assistant itself forgets them when it is restarted, and they are then started again.
    """

    def __init__(self, device: Device, bell: Bell) -> None:
        self._hass = hass = device.hass
        self._device = device
        self._bell = bell
        self._known = hass.data.setdefault(_KNOWN, set())
        self._unregister: CALLBACK_TYPE | None = None
        self._unlisten: CALLBACK_TYPE | None = None
        self._rings: dict[str, asyncio.Task[None]] = {}
        """Timers that ring, or wait for the device to be back."""
        self._recovering: asyncio.Task[None] | None = None

    @property
    def rings(self) -> bool:
        """Whether a timer rings, or waits for the device to be back."""
        return bool(self._rings)

    @callback
    def silence(self) -> bool:
        """Stop the ring; return whether there was one."""
        rang = tuple(self._rings)
        self._forget(rang)
        return bool(rang)

    @callback
    def start(self) -> CALLBACK_TYPE:
        """Take timers from now on, and go on with stored ones. Returns a function that ends this."""
        self._unlisten = self._device.record.listen(_FOLLOWED, self._device_changed)
        self._device_changed()
        kept, now = TIMERS.of(self._device.state), dt_util.utcnow()
        lost: list[str] = []
        left: dict[str, int] = {}
        for key, timer in kept.items():
            is_known = key in self._known
            seconds = -math.inf if timer.ends_at is None else (timer.ends_at - now).total_seconds()
            if timer.ends_at is None and is_known:
                continue
            if seconds <= -TimerTimeouts.unreachable:
                # It is late, or it was paused: only a running timer can be started again.
                lost.append(key)
            elif seconds <= 0:
                if not is_known:
                    self._fire(timer)
                self._is_due(key, -seconds)
            elif not is_known:
                # A wrong clock must not make it a timer of years.
                left[key] = min(math.ceil(seconds), timer.seconds)
        if lost or left:
            self._recovering = self._device.create_task(self._recover(lost, left), "start timers again")
        return self._stop

    @callback
    def _stop(self) -> None:
        for end in (self._unlisten, self._unregister):
            if end is not None:
                end()
        self._unlisten = self._unregister = None
        for task in (self._recovering, *self._rings.values()):
            if task is not None:
                task.cancel()

    @callback
    def _device_changed(self) -> None:
        """Take timers as long as the device stays connected, and those that run in any case."""
        device = self._device
        wanted = (device.state.linked and can_ring_idle(device)) or bool(TIMERS.of(device.state))
        if wanted and self._unregister is None and (device_id := device.registry_id) is not None:
            self._unregister = async_register_timer_handler(self._hass, device_id, self._happened)
        elif not wanted and self._unregister is not None:
            self._unregister()
            self._unregister = None

    @callback
    def _happened(self, event: TimerEventType, timer: TimerInfo) -> None:
        timers = TIMERS.of(self._device.state)
        if event is TimerEventType.CANCELLED:
            self._forget([timer.id])
            return
        if timer.id not in timers:
            if event is not TimerEventType.STARTED:
                # It was refused; Home Assistant goes on counting.
                return
            if len(self._known & timers.keys()) >= _MOST:
                raise intent.IntentHandleError(f"{_MOST} timers run already on {self._device.name}")
        ends_at = dt_util.utcnow() + timedelta(seconds=timer.seconds_left)
        paused = event is not TimerEventType.FINISHED and not timer.is_active
        known = SetTimer(
            name=one_line(timer.name or "", _MAX_NAME),
            seconds=timer.created_seconds,
            ends_at=None if paused else ends_at,
        )
        self._known.add(timer.id)
        self._device.record.update(timers={**timers, timer.id: known})
        if event is TimerEventType.FINISHED:
            self._fire(known)
            self._is_due(timer.id)

    @callback
    def _fire(self, timer: SetTimer) -> None:
        self._device.events.fire(TimerEvent.FINISHED, name=timer.name, seconds=timer.seconds)

    @callback
    def _forget(self, keys: Iterable[str]) -> None:
        gone = set(keys)
        self._known -= gone
        for key in gone:
            if (ring := self._rings.pop(key, None)) is not None and ring is not asyncio.current_task():
                ring.cancel()
        timers = {key: timer for key, timer in TIMERS.of(self._device.state).items() if key not in gone}
        self._device.record.update(timers=timers)

    async def _recover(self, lost: list[str], left: Mapping[str, int]) -> None:
        """Start timers again that a restart of Home Assistant has ended, and report those that are lost."""
        kept = TIMERS.of(self._device.state)
        for key, seconds in left.items():
            slots: dict[str, Any] = {"seconds": {"value": seconds}}
            if name := kept[key].name:
                slots["name"] = {"value": name}
            try:
                await intent.async_handle(
                    self._hass,
                    DOMAIN,
                    intent.INTENT_START_TIMER,
                    slots,
                    language=spoken_language(self._hass, self._device),
                    device_id=self._device.registry_id,
                )
            except intent.IntentError:
                lost.append(key)
            else:
                self._forget([key])
        if lost:
            await self._report("timers_lost", lost)

    @callback
    def _is_due(self, key: str, late: float = 0) -> None:
        deadline = loop_time() + TimerTimeouts.unreachable - late
        self._rings[key] = self._device.create_task(self._ring(key, deadline), "ring")

    async def _ring(self, key: str, deadline: float) -> None:
        """Ring for a timer that has ended, until the user ends it or it has rung long enough."""
        name = one_line(TIMERS.of(self._device.state)[key].name)
        language = spoken_language(self._hass, self._device)
        text = await async_text(
            self._hass, "timer_ended_named" if name else "timer_ended", language, timer=name
        )
        if await self._bell.ring(Ring(is_alarm=False, text=text), deadline) is RingEnd.MISSED:
            await self._report("timers_missed", [key])
        else:
            self._forget([key])

    async def _report(self, key: str, timers: list[str]) -> None:
        """Notify the owner of timers that have not rung, and forget them."""
        kept = TIMERS.of(self._device.state)
        await async_report(self._device, key, [_description(kept[timer]) for timer in timers])
        self._forget(timers)


def _description(timer: SetTimer) -> str:
    minutes, seconds = divmod(timer.seconds, 60)
    duration = f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return f"{plain_markdown(one_line(timer.name))} ({duration})" if timer.name else duration
