"""The timers and alarms of one device, from when it is added until it is removed or the gateway stops."""

from homeassistant.core import CALLBACK_TYPE, callback

from ..announcements.announcer import Announcer
from ..device.device import Device
from .alarm_clock import AlarmClock
from .ring import Bell
from .timers import VoiceTimers


class DeviceClock:
    """The clock of one device. It does not need its satellite, which may be disabled."""

    def __init__(self, device: Device, announcer: Announcer) -> None:
        self._bell = Bell(device, announcer)
        self.alarms = AlarmClock(device, self._bell)
        self._timers = VoiceTimers(device, self._bell)
        self._ends: list[CALLBACK_TYPE] = []

    @callback
    def start(self) -> None:
        """Begin, when the device is in the device registry."""
        self._ends = [self._timers.start(), self.alarms.start(), self._bell.start()]

    @callback
    def stop(self) -> None:
        """End everything; what is stored goes on when the gateway starts again."""
        for end in self._ends:
            end()
        self._ends.clear()
