"""*Do not disturb* of one device, and how loud and bright it may be then."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, override

from homeassistant.core import callback
import voluptuous as vol

from ...device.guest import DevicePart
from ...device.owned import OwnedValue
from ...device.state import QUIET
from ...settings import PERCENTAGE, stored

DO_NOT_DISTURB: Final = OwnedValue(key="do_not_disturb", schema=vol.Schema(bool), default=False)
MAY_DISTURB_AGAIN: Final = "may_disturb_again"
"""Key: it was switched off by its switch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietSettings:
    """The most that the levels may be, unless it rings."""

    quiet_volume: int = stored(PERCENTAGE, 30)
    quiet_brightness: int = stored(PERCENTAGE, 10)


class DoNotDisturb(DevicePart):
    """*Do not disturb* of one device."""

    @property
    def is_on(self) -> bool:
        """Whether only alarms, timers and requested sounds are heard or shown."""
        return DO_NOT_DISTURB.of(self.device.state)

    @property
    @override
    def quiet_levels(self) -> Mapping[str, int] | None:
        settings = self.device.settings.of(QuietSettings)
        levels = {"volume": settings.quiet_volume, "brightness": settings.quiet_brightness}
        return levels if self.is_on else None

    @override
    @callback
    def start(self) -> None:
        record = self.device.record
        self._ends = [record.listen([DO_NOT_DISTURB.key], lambda: record.notify(QUIET))]

    async def async_switch(self, on: bool) -> None:
        """Switch it. Raises `UserError` if that could not be stored."""
        self.device.record.update(do_not_disturb=on)
        await self.device.record.async_save()
