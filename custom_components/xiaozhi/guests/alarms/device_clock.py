"""The timers and alarms of one device, from when it is added until it is removed or the gateway stops."""

from datetime import datetime, timedelta

from homeassistant.core import CALLBACK_TYPE, callback

from ...announcements.announcer import Announcer
from ...device.device import Device
from ...device.state import DeviceState
from ...texts.translated import async_text
from ...util.text import plain_markdown
from .alarm_clock import AlarmClock
from .ring import Bell, async_report
from .timers import VoiceTimers, set_timers


class DeviceClock:
    """The clock of one device. It does not need its satellite, which may be disabled."""

    def __init__(self, device: Device, announcer: Announcer) -> None:
        self._device = device
        self._bell = Bell(device, announcer)
        self.alarms = AlarmClock(device, self._bell)
        self._timers = VoiceTimers(device, self._bell)
        self._ends: list[CALLBACK_TYPE] = []

    @property
    def rings(self) -> bool:
        """Whether an alarm or a timer rings, or waits for the device to be back."""
        return self.alarms.rings or self._timers.rings

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

    @callback
    def start(self) -> None:
        """Begin, when the device is in the device registry."""
        self._ends = [self._timers.start(), self.alarms.start(), self._bell.start()]

    @callback
    def stop(self) -> None:
        """End everything; stored timers and alarms continue when the gateway starts again."""
        for end in self._ends:
            end()
        self._ends.clear()

    @callback
    def report_deleted(self) -> None:
        """Notify the owner of the alarms, timers and voice messages that are deleted with the device."""
        state = self._device.state
        if state.alarms or state.timers or state.messages:
            self._device.create_task(self._report_deleted(state), "report what is deleted")

    async def _report_deleted(self, state: DeviceState) -> None:
        hass, due = self._device.hass, {uid: alarm.next for uid, alarm in state.alarms.items()}
        deleted = await self.alarms.described(state.alarms, due)
        word = await async_text(hass, "timer")
        for timer in set_timers(state).values():
            deleted.append(f"{word}: {plain_markdown(timer.name)}" if timer.name else word)
        if count := len(state.messages):
            deleted.append(await async_text(hass, "messages_unheard", count=str(count)))
        await async_report(self._device, "deleted_with_device", deleted)
