"""The timers and alarms of one device, from when it is added until it is removed or the gateway stops."""

from datetime import datetime, timedelta
from typing import override

from homeassistant.core import callback

from ...announcements.announcer import Announcer
from ...device.device import Device
from ...device.guest import DevicePart
from ...texts.translated import async_text
from ...util.text import plain_markdown
from .alarm_clock import AlarmClock
from .ring import Bell
from .timers import TIMERS, VoiceTimers


class DeviceClock(DevicePart):
    """The clock of one device. It does not need its satellite, which may be disabled."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._bell = Bell(device, device.part(Announcer))
        self.alarms = AlarmClock(device, self._bell)
        self._timers = VoiceTimers(device, self._bell)

    @property
    def rings(self) -> bool:
        """Whether an alarm or a timer rings, or waits for the device to be back."""
        return self.alarms.rings or self._timers.rings

    @property
    def has_due(self) -> bool:
        """The same, as its changes are reported by `BELL`."""
        return self._bell.has_due

    async def async_stop(self) -> bool:
        """Stop a ringing alarm or timer, or a snoozed alarm; return whether it was an alarm.

        Raises `UserError` if there is nothing to stop.
        """
        if self._timers.silence() and not self.alarms.rings:
            return False
        await self.alarms.async_stop()
        return True

    async def async_snooze(self, delay: timedelta = timedelta()) -> datetime:
        """Snooze alarms, and stop timers that ring with them. Returns and raises as for alarms alone."""
        until = await self.alarms.async_snooze(delay)
        self._timers.silence()
        return until

    @override
    @callback
    def start(self) -> None:
        self._ends = [self._timers.start(), self.alarms.start(), self._bell.start()]

    @override
    async def described_loss(self) -> list[str]:
        alarms, word = self.alarms.alarms, await async_text(self.device.hass, "timer")
        timers = TIMERS.of(self.device.state).values()
        return [
            *await self.alarms.described(alarms, {uid: alarm.next for uid, alarm in alarms.items()}),
            *(f"{word}: {plain_markdown(timer.name)}" if timer.name else word for timer in timers),
        ]
