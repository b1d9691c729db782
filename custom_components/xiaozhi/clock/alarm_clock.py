"""The alarms of one device: stored until each has rung, and never rung twice.

Each alarm is stored with the last moment for which it is done. What is later and past is due: it rings, and
is done when that has ended; after Home Assistant was off or the device away for ten minutes, it is reported.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
import logging
from typing import Final

from homeassistant.core import CALLBACK_TYPE, callback
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ..const import MAX_MESSAGE
from ..device.device import Device
from ..device.events import AlarmEvent
from ..errors import InputError, UserError
from ..protocol.clock import loop_time
from ..protocol.tasks import LogAndGoOn
from ..protocol.untrusted_text import one_line, plain_markdown
from ..texts.translated import async_text
from ..timeouts import TimerTimeouts
from ..voice.pipelines import spoken_language
from .alarm import MAX_NAME, Alarm, checked_rule
from .ring import Bell, Ring, RingEnd, async_report, can_ring_idle
from .spoken_alarm import async_language, described_moment

_LOGGER = logging.getLogger(__name__)

_MAX_ALARMS: Final = 100
_FARTHEST: Final = timedelta(days=366)
# A clock that is set back by more was wrong before.
_SET_BACK: Final = timedelta(days=1)

_REPORTED: Final[Mapping[RingEnd | None, str]] = {
    None: "alarms_missed",
    RingEnd.OVER: "alarms_unanswered",
}
"""What the owner is notified of, by how the ring has ended."""

type Alarms = Mapping[str, Alarm]


def upcoming(device: Device) -> list[tuple[datetime, str, Alarm]]:
    """Return the alarms of a device with when each rings next, the first one first."""
    found = ((alarm.rings_next(), uid, alarm) for uid, alarm in device.state.alarms.items())
    return sorted((at, uid, alarm) for at, uid, alarm in found if at is not None)


@callback
def next_alarm(device: Device) -> datetime | None:
    """Return when the next alarm of a device rings; None if there is none."""
    return next((at for at, _, _ in upcoming(device)), None)


class AlarmClock:
    """Rings the alarms of one device."""

    def __init__(self, device: Device, bell: Bell) -> None:
        self._hass = device.hass
        self._device = device
        self._bell = bell
        self._changed = asyncio.Event()
        self._go_on = LogAndGoOn(_LOGGER, f"The alarms of {device.settings.name} could not ring")
        self._set_back: dict[str, datetime] = {}
        """What counts as done instead, for alarms that were done at a time that has not come yet."""
        self._ringing: dict[str, tuple[Alarm, Alarm]] = {}
        """What rings: as it is stored now, and when that is over."""
        self._scope: asyncio.Timeout | None = None
        """Ends the ring."""
        self._stopped: dict[str, Alarm] = {}
        """What was stopped last, and can still be snoozed for a while."""
        self._stopped_at = 0.0

    @callback
    def start(self) -> CALLBACK_TYPE:
        """Begin to ring. Returns a function that ends this."""
        task = self._device.create_task(self._run(), "alarms")

        def stop() -> None:
            task.cancel()

        return stop

    @property
    def alarms(self) -> Alarms:
        """The alarms, by id."""
        return self._device.state.alarms

    async def async_set(
        self,
        start: datetime,
        name: str,
        text: str,
        rule: str,
        *,
        instead_of: str | None = None,
        rest_of: Callable[[Alarm], Alarm | None] = lambda _: None,
    ) -> datetime:
        """Set an alarm, and return when it rings first. Raises `InputError`.

        It is set `instead_of` another one, or of some of its times; `rest_of` returns what is left of that.
        """
        now, device, run = dt_util.utcnow(), self._device, self._hass.async_add_executor_job
        # A rare rule takes a while.
        if rule:
            rule = await run(checked_rule, start, rule)
        name, text = one_line(name, MAX_NAME), one_line(text, MAX_MESSAGE)
        alarm = Alarm(start=start, name=name, text=text, rule=rule, done=now)
        shown = f"{start:%Y-%m-%d %H:%M}"
        moment = await run(alarm.next, now)
        if not can_ring_idle(device):
            raise InputError("alarm_on_websocket", name=device.name)
        if moment is None:
            raise InputError("alarm_past", time=shown)
        if moment > now + _FARTHEST:
            raise InputError("alarm_too_far", time=shown)
        rest = rest_of(self.alarm(instead_of)) if instead_of else None
        uid = ulid_now() if instead_of is None or rest else instead_of
        if uid != instead_of and len(self.alarms) >= _MAX_ALARMS:
            raise InputError("too_many_alarms", limit=str(_MAX_ALARMS))
        # In one step: with two, a power cut between them would leave both or none.
        await self.async_store(({instead_of: rest} if instead_of else {}) | {uid: alarm})
        return moment

    @callback
    def alarm(self, uid: str) -> Alarm:
        """Return an alarm. Raises `InputError` if there is none with this id."""
        if (alarm := self.alarms.get(uid)) is None:
            raise InputError("unknown_alarm")
        return alarm

    async def async_store(self, changes: Mapping[str, Alarm | None]) -> None:
        """Change alarms, and return when that is on the disk. Those that never ring again are removed.

        What rings and is changed rings no more.
        """
        alarms = dict(self.alarms)
        for uid, alarm in changes.items():
            alarms.pop(uid, None)
            self._set_back.pop(uid, None)
            if alarm is not None and alarm.rings_next():
                alarms[uid] = alarm
        self._device.record.update(alarms=alarms)
        self._changed.set()
        if self._scope is not None and not self._rung():
            self._scope.reschedule(loop_time())
            self._scope = None
        await self._device.record.async_save()

    def _rung(self) -> dict[str, Alarm]:
        """Return what rings and was not changed meanwhile, as it is when that is over."""
        alarms = self.alarms
        return {uid: over for uid, (alarm, over) in self._ringing.items() if alarms.get(uid) == alarm}

    @property
    def rings(self) -> bool:
        """Whether an alarm rings, or waits for the device to be back."""
        return bool(self._rung())

    async def async_snooze(self) -> datetime:
        """Let what rings, or was stopped just now, ring again later; return when. Raises `UserError`."""
        rung = self._rung()
        if not rung and loop_time() < self._stopped_at + TimerTimeouts.after_stop:
            # One that is not repeated was removed when it had rung.
            rung = self._stopped | {uid: alarm for uid, alarm in self.alarms.items() if uid in self._stopped}
        if not rung:
            raise UserError("no_alarm_rings")
        until = dt_util.utcnow() + timedelta(seconds=TimerTimeouts.snooze)
        await self.async_store({uid: replace(alarm, snoozed=until) for uid, alarm in rung.items()})
        self._stopped = {}
        self._fire(AlarmEvent.SNOOZED, rung.values())
        return until

    async def async_stop(self) -> None:
        """Stop what rings, or is snoozed. Raises `UserError` if nothing is."""
        snoozed = {uid: replace(alarm, snoozed=None) for uid, alarm in self.alarms.items() if alarm.snoozed}
        if not (rung := self._rung() or snoozed):
            raise UserError("no_alarm_rings")
        await self._end(rung)

    async def _end(self, rung: dict[str, Alarm], *, unanswered: bool = False) -> None:
        await self.async_store(rung)
        self._stopped, self._stopped_at = rung, loop_time()
        self._fire(AlarmEvent.STOPPED, rung.values(), unanswered=unanswered)

    async def _run(self) -> None:
        shown: datetime | None = None
        while True:
            self._changed.clear()
            wait = TimerTimeouts.look if self.alarms else None
            with self._go_on:
                # Most is known already, but nothing of that counts in another time zone.
                await self._hass.async_add_executor_job(upcoming, self._device)
                alarms, now = self.alarms, dt_util.utcnow()
                due = {uid: at for uid, alarm in alarms.items() if (at := self._due(uid, alarm, now))}
                if due:
                    await self._take(alarms, due, now)
                    continue
                following = next_alarm(self._device)
                if following != shown:
                    # Also because the time zone was changed.
                    shown = following
                    self._device.record.notify("alarms")
                if following is not None:
                    wait = min(max((following - now).total_seconds(), 0.1), TimerTimeouts.look)
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._changed.wait()

    def _due(self, uid: str, alarm: Alarm, now: datetime) -> datetime | None:
        """Return the last moment at which an alarm was to ring and has not."""
        done = alarm.done
        if done > now + _SET_BACK:
            done = self._set_back.setdefault(uid, now)
        if alarm.snoozed is not None and not now < alarm.snoozed <= now + _SET_BACK:
            return min(alarm.snoozed, now)
        return alarm.last(done, now)

    async def _take(self, alarms: Alarms, due: Mapping[str, datetime], now: datetime) -> None:
        """Ring what is due, or report it if that is too long ago."""
        tolerance = timedelta(seconds=TimerTimeouts.unreachable)
        if late := {uid: alarms[uid] for uid, at in due.items() if now - at >= tolerance}:
            await self._report("alarms_missed", late, due)
            await self.async_store({uid: _done(alarm, due[uid], now) for uid, alarm in late.items()})
            return
        deadline = loop_time() + (tolerance - (now - min(due.values()))).total_seconds()
        self._ringing = {uid: (alarms[uid], _done(alarms[uid], at, now)) for uid, at in due.items()}
        ended: RingEnd | None = RingEnd.STOPPED
        try:
            # A change of all that rings ends it.
            with suppress(TimeoutError):
                async with asyncio.timeout(None) as self._scope:
                    ended = await self._ring(deadline)
            self._scope = None
            if rung := self._rung():
                if ended in _REPORTED:
                    await self._report(_REPORTED[ended], rung, due)
                await self._end(rung, unanswered=ended in _REPORTED)
        finally:
            self._ringing, self._scope = {}, None

    async def _ring(self, deadline: float) -> RingEnd | None:
        """Ring; return how that has ended, None if the device could not ring until `deadline`."""
        rung = [alarm for alarm, _ in self._ringing.values()]
        language = spoken_language(self._hass, self._device)
        names = ", ".join(alarm.name for alarm in rung if alarm.name and not alarm.text)
        texts = [alarm.text for alarm in rung if alarm.text]
        speaks = len(texts) == len(rung)
        if not speaks:
            key = "alarm_named" if names else "alarm"
            texts.insert(0, await async_text(self._hass, key, language, alarm=names))
        fired = False

        @callback
        def started() -> None:
            nonlocal fired
            if not fired:
                self._fire(AlarmEvent.RINGING, rung)
            fired = True

        ring = Ring(is_alarm=True, text=" ".join(texts), speaks=speaks, on_start=started)
        try:
            return await self._bell.ring(ring, deadline)
        except TimeoutError:
            return None

    @callback
    def _fire(self, event: AlarmEvent, alarms: Iterable[Alarm], **more: bool) -> None:
        for alarm in alarms:
            self._device.events.fire(event, None, name=alarm.name, message=alarm.text, **more)

    async def _report(self, key: str, alarms: Alarms, due: Mapping[str, datetime]) -> None:
        """Notify the owner of alarms that nobody has heard."""
        alarm_word = await async_text(self._hass, "alarm")
        language = await async_language(self._hass, self._hass.config.language)
        names = {uid: plain_markdown(alarm.name or alarm.text or alarm_word) for uid, alarm in alarms.items()}
        descriptions = (f"{name} ({described_moment(language, due[uid])})" for uid, name in names.items())
        await async_report(self._device, key, descriptions)


def _done(alarm: Alarm, due: datetime, now: datetime) -> Alarm:
    """Return an alarm for which what was due is done."""
    is_later = due < alarm.done <= now + _SET_BACK
    return replace(alarm, done=alarm.done if is_later else due, snoozed=None)
