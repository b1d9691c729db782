"""The alarms of one device: stored until each has rung, and never rung twice.

Each alarm has its next moment. When that is past it is due: it rings, and has its next moment after that has
ended; after Home Assistant was off or the device away for ten minutes, it is reported.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
import logging
from typing import Final, NamedTuple

from homeassistant.const import EVENT_CORE_CONFIG_UPDATE
from homeassistant.core import CALLBACK_TYPE, Event, HomeAssistant, callback
from homeassistant.helpers import issue_registry as ir
from homeassistant.helpers.start import async_at_started
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from ...announcements.other_loudspeaker import LOUDSPEAKER
from ...const import DOMAIN, MAX_MESSAGE
from ...device.device import Device
from ...device.state import SETTINGS
from ...errors import InputError, UserError
from ...texts.issues import async_raise_issue
from ...texts.translated import async_text
from ...util.event_loop import LogAndGoOn, loop_time, within
from ...util.text import one_line, plain_markdown
from ...voice.pipelines import spoken_language
from .alarm import ALARMS, MAX_NAME, Alarm, checked_rule, moment_of, wall_time
from .ring import Bell, Ring, RingEnd, TimerTimeouts, async_report, can_ring_idle
from .spoken_alarm import async_language, described_moment

_LOGGER = logging.getLogger(__name__)

_MAX_ALARMS: Final = 100
_FARTHEST: Final = timedelta(days=366)
# A clock that is set back by more was wrong before; one that shows an earlier year is not set yet. Where it
# goes forward by more, the computer was paused.
_SET_FAR: Final = timedelta(hours=2)
# Less does not matter to a snooze.
_SET_LITTLE: Final = timedelta(seconds=5)
_FIRST_YEAR: Final = 2026

_REPORTED: Final = {RingEnd.MISSED: "alarms_missed", RingEnd.OVER: "alarms_unanswered"}
"""Keys of the notifications for the owner, by the end of the ring."""


class AlarmEvent(StrEnum):
    """Kinds of events of an alarm."""

    RINGING = "alarm_ringing"
    SNOOZED = "alarm_snoozed"
    STOPPED = "alarm_stopped"


class AlarmSet(NamedTuple):
    """An alarm that was set."""

    alarm: Alarm
    existed: bool
    """Whether an equal one was set before, and stands for it."""


def upcoming(device: Device) -> list[tuple[datetime, str, Alarm]]:
    """Return the alarms of a device with when each rings next, the first one first."""
    alarms = ALARMS.of(device.state).items()
    return sorted(((alarm.next, uid, alarm) for uid, alarm in alarms), key=lambda each: each[:2])


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
        self._rings: dict[asyncio.Task[RingEnd], Mapping[str, Alarm]] = {}
        """The bells that ring, each with the alarms that were due together."""
        self._stopped: dict[str, Alarm] = {}
        """Alarms that were stopped last, as they rang; they can still be snoozed for a while."""
        self._stopped_at = 0.0
        self._clock_began = dt_util.utcnow() - timedelta(seconds=loop_time())
        self._issue = f"alarms_cannot_ring_{device.subentry_id}"

    @callback
    def start(self) -> CALLBACK_TYPE:
        """Begin to ring. Returns a function that ends this."""
        task = self._device.create_task(self._run(), "alarms")
        unlisten = self._hass.bus.async_listen(EVENT_CORE_CONFIG_UPDATE, self._zone_changed)
        unfollow = self._device.record.listen(("link", SETTINGS, LOUDSPEAKER), self._changed.set)

        def stop() -> None:
            unlisten()
            unfollow()
            task.cancel()
            ir.async_delete_issue(self._hass, DOMAIN, self._issue)

        return stop

    @callback
    def _zone_changed(self, _event: Event) -> None:
        self._device.record.notify("alarms")
        self._changed.set()

    @property
    def alarms(self) -> Mapping[str, Alarm]:
        """The alarms, by id."""
        return ALARMS.of(self._device.state)

    async def async_set(
        self,
        start: datetime,
        name: str,
        text: str,
        rule: str,
        *,
        instead_of: str | None = None,
        rest: Alarm | None = None,
    ) -> AlarmSet:
        """Set an alarm, and return when that is on the disk. Raises `UserError`.

        It is set `instead_of` another one, or of some of its times; `rest` is what is left of that.
        Days that were deleted from that one stay so.
        """
        now, device = dt_util.utcnow(), self._device
        if rule:
            rule = checked_rule(start, rule)
        name, text = one_line(name, MAX_NAME), one_line(text, MAX_MESSAGE)
        old = self.alarm(instead_of) if instead_of else None
        skipped = old.skipped if old and rule else ()
        new = Alarm(start=start, name=name, text=text, rule=rule, skipped=skipped, time=start, found=now)
        shown = f"{start:%Y-%m-%d %H:%M}"
        if not can_ring_idle(device):
            raise InputError("alarm_on_websocket", name=device.name)
        alarm = new.instead_of(old, now) if old else new.renewed(now)
        if start < wall_time(now) - _FARTHEST or alarm is None:
            raise InputError("alarm_past", time=shown)
        if alarm.next > now + _FARTHEST:
            raise InputError("alarm_too_far", time=shown)
        equal = {uid for uid, other in self.alarms.items() if _is_equal(alarm, other, now)}
        if instead_of is None and equal:
            # Days that were deleted from it are wanted again. It may be one that could not be written.
            await self.async_store({uid: alarm for uid in equal if self.alarms[uid].skipped})
            return AlarmSet(alarm, existed=True)
        uid = ulid_now() if instead_of is None or rest else instead_of
        if uid != instead_of and len(self.alarms) >= _MAX_ALARMS:
            raise InputError("too_many_alarms", limit=str(_MAX_ALARMS))
        # In one step: with two, a power cut between them would leave both or none.
        await self.async_store(({instead_of: rest} if instead_of else {}) | {uid: alarm})
        return AlarmSet(alarm, existed=False)

    @callback
    def alarm(self, uid: str) -> Alarm:
        """Return an alarm. Raises `InputError` if there is none with this id."""
        if (alarm := self.alarms.get(uid)) is None:
            raise InputError("unknown_alarm")
        return alarm

    async def async_store(self, changes: Mapping[str, Alarm | None]) -> None:
        """Change or delete alarms, and return when that is on the disk. Raises `UserError` if it is not.

        Changing a ringing alarm stops it.
        """
        stopped = [alarm for uid, alarm in self._rung().items() if uid in changes]
        try:
            await self._store(changes)
        finally:
            self._fire(AlarmEvent.STOPPED, stopped, unanswered=False)

    async def _store(self, changes: Mapping[str, Alarm | None]) -> None:
        alarms = {**self.alarms, **changes}
        kept = {uid: alarm for uid, alarm in alarms.items() if alarm is not None}
        self._stopped = {uid: alarm for uid, alarm in self._stopped.items() if uid not in changes}
        self._device.record.update(alarms=kept)
        self._changed.set()
        for ring in self._rings:
            if not self._rung([ring]):
                ring.cancel()
        await self._device.record.async_save()

    def _rung(self, rings: Iterable[asyncio.Task[RingEnd]] | None = None) -> dict[str, Alarm]:
        """Return the alarms of all or some rings that were not changed meanwhile."""
        alarms, rung = self.alarms, dict[str, Alarm]()
        for ring in self._rings if rings is None else rings:
            rung |= {uid: alarm for uid, alarm in self._rings[ring].items() if alarms.get(uid) == alarm}
        return rung

    def _quiet(self) -> dict[str, Alarm]:
        """Return the alarms that do not ring."""
        rung = self._rung()
        return {uid: alarm for uid, alarm in self.alarms.items() if uid not in rung}

    @property
    def rings(self) -> bool:
        """Whether an alarm rings, or waits for the device to be back."""
        return bool(self._rung())

    @property
    def rings_or_snoozes(self) -> bool:
        """Whether there is something to stop."""
        return self.rings or any(alarm.snoozed for alarm in self.alarms.values())

    async def async_snooze(self, delay: timedelta = timedelta()) -> datetime:
        """Snooze ringing or just stopped alarms, by default for nine minutes; return when they ring again.

        Raises `UserError`.
        """
        rung = self._rung()
        if not rung and loop_time() < self._stopped_at + TimerTimeouts.after_stop:
            rung = self._stopped
        if not rung:
            raise UserError("no_alarm_rings")
        now = dt_util.utcnow()
        until = now + (delay or timedelta(seconds=TimerTimeouts.snooze))
        self._fire(AlarmEvent.SNOOZED, rung.values())
        await self._store({uid: replace(alarm, snoozed=until, found=now) for uid, alarm in rung.items()})
        return until

    async def async_stop(self) -> None:
        """Stop ringing or snoozed alarms. Raises `UserError` if there are none."""
        snoozed = {uid: alarm for uid, alarm in self.alarms.items() if alarm.snoozed}
        if not (rung := self._rung() or snoozed):
            raise UserError("no_alarm_rings")
        await self._end(rung)

    async def _end(self, rung: dict[str, Alarm], *, unanswered: bool = False) -> None:
        now = dt_util.utcnow()
        try:
            # Not the same time again, if the clock was set back meanwhile.
            after = {uid: max(now, moment_of(alarm.time)) for uid, alarm in rung.items()}
            await self._store({uid: alarm.renewed(after[uid]) for uid, alarm in rung.items()})
        finally:
            self._stopped, self._stopped_at = rung, loop_time()
            self._fire(AlarmEvent.STOPPED, rung.values(), unanswered=unanswered)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as rings:
            while True:
                self._changed.clear()
                wait: float | None = TimerTimeouts.poll
                # A repair issue reports a failed write.
                with self._go_on, suppress(UserError):
                    self._check_can_ring()
                    set_by = await self._follow_clock()
                    if due := await self._due():
                        await self._take(due, set_by, rings)
                        continue
                    # The clock on the wall may be set.
                    wait = None
                    if at := min((alarm.next for alarm in self._quiet().values()), default=None):
                        wait = min(max((at - dt_util.utcnow()).total_seconds(), 0.1), TimerTimeouts.poll)
                await within(wait, self._changed.wait())

    @callback
    def _check_can_ring(self) -> None:
        """Tell the owner of alarms that cannot ring any more, as long as there are some."""
        if self.alarms and not can_ring_idle(self._device):
            async_raise_issue(self._hass, self._issue, "alarms_cannot_ring", name=self._device.name)
        else:
            ir.async_delete_issue(self._hass, DOMAIN, self._issue)

    async def _follow_clock(self) -> timedelta:
        """Move snoozes with the clock, and return by how much that was set forward since the last call."""
        began = dt_util.utcnow() - timedelta(seconds=loop_time())
        set_by, self._clock_began = began - self._clock_began, began
        if abs(set_by) < _SET_LITTLE or set_by > _SET_FAR:
            return timedelta()
        if snoozed := {uid: alarm.moved(set_by) for uid, alarm in self._quiet().items() if alarm.snoozed}:
            await self._store(snoozed)
        return max(set_by, timedelta())

    async def _due(self) -> Mapping[str, Alarm]:
        """Return the due alarms that do not ring. Where the clock was set back, find the next times again."""
        now, due, renewed = dt_util.utcnow(), dict[str, Alarm](), dict[str, Alarm | None]()
        for uid, alarm in self._quiet().items():
            # One that raises must not take the others with it.
            with self._go_on:
                if alarm.found - now > _SET_FAR and now.year >= _FIRST_YEAR:
                    renewed[uid] = alarm.renewed(now)
                elif alarm.next <= now:
                    due[uid] = alarm
        if renewed:
            await self._store(renewed)
        return due

    async def _take(self, due: Mapping[str, Alarm], set_forward: timedelta, rings: asyncio.TaskGroup) -> None:
        """Ring due alarms, and report those that were due too long ago, not counting what was only set."""
        tolerance, now = timedelta(seconds=TimerTimeouts.unreachable) + set_forward, dt_util.utcnow()
        moments = {uid: _last_due(alarm, now, tolerance) for uid, alarm in due.items()}
        if late := {uid: alarm for uid, alarm in due.items() if now - moments[uid] >= tolerance}:
            await self._report("alarms_missed", late, moments)
            await self._store({uid: alarm.renewed(now) for uid, alarm in late.items()})
            self._fire(AlarmEvent.STOPPED, late.values(), unanswered=True)
            return
        deadline = loop_time() + (tolerance - (now - min(moments.values()))).total_seconds()
        ring = self._device.create_task(self._ring([*due.values()], deadline), "ring")
        self._rings[ring] = due
        self._device.record.notify("alarms")
        rings.create_task(self._finish(ring, moments))

    async def _finish(self, ring: asyncio.Task[RingEnd], moments: Mapping[str, datetime]) -> None:
        """Wait for the end of a ring; end its alarms, and all that were stopped with it."""
        try:
            await asyncio.wait((ring,))
            with self._go_on, suppress(UserError):
                # Changing all alarms of a ring cancels it.
                if not ring.cancelled():
                    unheard = _REPORTED.get(ring.result())
                    together = [ring] if unheard else [each for each in self._rings if _is_stopped(each)]
                    if rung := self._rung(together):
                        if unheard:
                            await self._report(unheard, rung, moments)
                        await self._end(rung, unanswered=unheard is not None)
                return
            await asyncio.sleep(TimerTimeouts.poll)
        finally:
            ring.cancel()
            del self._rings[ring]
            self._changed.set()

    async def _ring(self, rung: Sequence[Alarm], deadline: float) -> RingEnd:
        """Ring, if the device can until `deadline`, and return the end of the ring."""
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
        return await self._bell.ring(ring, deadline)

    @callback
    def _fire(self, event: AlarmEvent, alarms: Iterable[Alarm], **more: bool) -> None:
        @callback
        def fire(_hass: HomeAssistant) -> None:
            for alarm in alarms:
                self._device.events.fire(event, None, name=alarm.name, message=alarm.text, **more)

        # Automations do not listen before.
        async_at_started(self._hass, fire)

    async def _report(self, key: str, alarms: Mapping[str, Alarm], due: Mapping[str, datetime]) -> None:
        """Notify the owner of unheard alarms."""
        await async_report(self._device, key, await self.described(alarms, due))

    async def described(self, alarms: Mapping[str, Alarm], due: Mapping[str, datetime]) -> list[str]:
        """Return alarms by name and moment, in Markdown."""
        alarm_word = await async_text(self._hass, "alarm")
        language = await async_language(self._hass, self._hass.config.language)
        names = {uid: plain_markdown(alarm.name or alarm.text or alarm_word) for uid, alarm in alarms.items()}
        return [f"{name} ({described_moment(language, due[uid])})" for uid, name in names.items()]


def _is_stopped(ring: asyncio.Task[RingEnd]) -> bool:
    """Whether somebody has stopped a ring."""
    return ring.done() and not ring.cancelled() and not ring.exception() and ring.result() is RingEnd.STOPPED


def _is_equal(alarm: Alarm, other: Alarm, now: datetime) -> bool:
    """Whether an alarm rings at the same times as a new one, and says the same."""
    same = (other.name, other.text, other.rule) == (alarm.name, alarm.text, alarm.rule)
    return same and replace(other, skipped=()).first(now) == alarm.time


def _last_due(alarm: Alarm, now: datetime, tolerance: timedelta) -> datetime:
    """Return the last moment at which an alarm was due, of a repeated one within the tolerance."""
    again = alarm.first(now - tolerance)
    return max(alarm.next, moment_of(again)) if again and moment_of(again) <= now else alarm.next
