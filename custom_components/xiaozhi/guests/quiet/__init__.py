"""*Do not disturb* of a device: only alarms, timers and requested sounds are heard or shown."""

from typing import Final

from ...device.guest import Guest
from .do_not_disturb import DO_NOT_DISTURB, DoNotDisturb

QUIET: Final = Guest(package=__name__, parts=[DoNotDisturb], owned=[DO_NOT_DISTURB])
