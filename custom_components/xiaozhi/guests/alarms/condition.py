"""The condition that an alarm rings."""

from typing import Final, Unpack, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers.condition import Condition, ConditionCheckParams, ConditionConfig
from homeassistant.helpers.target import TargetSelection
from homeassistant.helpers.typing import ConfigType

from ...actions.targets import TARGET_SCHEMA, devices_in
from .device_clock import DeviceClock


class _AlarmRingsCondition(Condition):
    """An alarm rings on a device of the target, or waits there for the device."""

    @override
    @classmethod
    async def async_validate_config(cls, hass: HomeAssistant, config: ConfigType) -> ConfigType:
        validated: ConfigType = TARGET_SCHEMA(config)
        return validated

    def __init__(self, hass: HomeAssistant, config: ConditionConfig) -> None:
        super().__init__(hass, config)
        self._target = TargetSelection(config.target or {})

    @override
    def _async_check(self, **kwargs: Unpack[ConditionCheckParams]) -> bool:
        """Return whether one of the devices rings."""
        devices = devices_in(self._hass, self._target)[0]
        return any(device.part(DeviceClock).alarms.rings for device in devices)


CONDITIONS: Final = {"alarm_rings": _AlarmRingsCondition}
