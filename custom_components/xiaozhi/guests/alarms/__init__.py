"""Timers, alarms and reminders of a device: what rings when, kept over restarts."""

from typing import Final

from ...device.guest import Guest
from .alarm import ALARMS
from .device_clock import DeviceClock
from .timers import TIMERS

ALARM_CLOCK: Final = Guest(package=__name__, parts=[DeviceClock], owned=[ALARMS, TIMERS])
