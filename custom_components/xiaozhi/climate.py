"""Climate entities of a device: air conditioners, thermostats and heaters."""

from typing import Any, override

from homeassistant.components.climate import (
    ATTR_HVAC_MODE,
    ClimateEntity,
    ClimateEntityDescription,
    ClimateEntityFeature,
    HVACMode,
)
from homeassistant.const import ATTR_TEMPERATURE
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.climates import hvac_mode_of
from .tools.entities import ClimateTool
from .tools.values import as_number, main_value

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the air conditioners and the like that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, ClimateTool, XiaozhiClimate)


class XiaozhiClimate(XiaozhiToolEntity[ClimateTool], ClimateEntity):
    """An air conditioner, a thermostat or a heater of a device."""

    _attr_target_temperature_step = 1

    def __init__(self, device: Device, tool: ClimateTool) -> None:
        super().__init__(device, tool, describe(ClimateEntityDescription, tool))
        self._attr_temperature_unit = tool.unit
        self._attr_min_temp = tool.target.minimum
        self._attr_max_temp = tool.target.maximum
        switched = (HVACMode.OFF,) if tool.on is not None else ()
        modes = tool.hvac_modes or (tool.running,)
        self._attr_hvac_modes = [*dict.fromkeys((*switched, *modes))]
        features = ClimateEntityFeature.TARGET_TEMPERATURE
        if HVACMode.OFF in self._attr_hvac_modes:
            features |= ClimateEntityFeature.TURN_ON | ClimateEntityFeature.TURN_OFF
        if tool.fan is not None:
            features |= ClimateEntityFeature.FAN_MODE
            self._attr_fan_modes = [*tool.fan.options]
        self._attr_supported_features = features

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether part of the mode is only what was last called."""
        switched, chosen = self.tool.on is not None, self.tool.modes is not None
        return (switched and self.tool.state is None) or (chosen and self.tool.mode_state is None)

    @property
    @override
    def hvac_mode(self) -> HVACMode | None:
        """Return the mode: as last read, or else as last called."""
        if self.tool.on is None:
            return self._mode
        is_on = self._is_on
        return self._mode if is_on else None if is_on is None else HVACMode.OFF

    @property
    @override
    def target_temperature(self) -> float | None:
        """Return the wanted temperature: as last read, or else as last set."""
        return self._set_to(self.tool.target, self.tool.target_state)

    @property
    @override
    def current_temperature(self) -> float | None:
        """Return the temperature of the room, if the device tells it."""
        reading = self.tool.current_state
        return None if reading is None else as_number(self.device.tools.last_value(reading))

    @property
    @override
    def fan_mode(self) -> str | None:
        """Return the speed of the fan: as last read, or else as last set."""
        return None if self.tool.fan is None else self._chosen(self.tool.fan, self.tool.fan_state)

    @override
    async def async_set_hvac_mode(self, hvac_mode: HVACMode) -> None:
        """Set the mode, and switch on or off."""
        if hvac_mode is HVACMode.OFF and self.tool.off is not None:
            await self._call(self.tool.off)
            return
        if self.tool.on is not None and not self._is_on:
            await self._call(self.tool.on)
        if self.tool.modes is not None:
            option = self.tool.modes.options[self.tool.hvac_modes.index(hvac_mode)]
            await self._call(self.tool.modes.call(option))

    @override
    async def async_set_temperature(self, **kwargs: Any) -> None:
        """Set the wanted temperature, after the mode if one is given."""
        if (mode := kwargs.get(ATTR_HVAC_MODE)) is not None:
            await self.async_set_hvac_mode(HVACMode(mode))
        if (wanted := kwargs.get(ATTR_TEMPERATURE)) is not None:
            setter = self.tool.target
            await self._change(setter.tool, {setter.argument: round(wanted)}, only_attribute=True)

    @override
    async def async_set_fan_mode(self, fan_mode: str) -> None:
        """Set the speed of the fan."""
        if self.tool.fan is not None:
            await self._call(self.tool.fan.call(fan_mode), only_attribute=True)

    @override
    async def async_turn_on(self) -> None:
        """Switch on: in the last mode, or where only a mode switches on, in the first one."""
        if self.tool.on is not None:
            await self._call(self.tool.on)
        else:
            await self.async_set_hvac_mode(next(mode for mode in self.hvac_modes if mode is not HVACMode.OFF))

    @override
    async def async_turn_off(self) -> None:
        """Switch off."""
        await self.async_set_hvac_mode(HVACMode.OFF)

    @property
    def _is_on(self) -> bool | None:
        on, off = self.tool.on, self.tool.off
        return None if on is None or off is None else self._is_switched_on(self.tool.state, on, off)

    @property
    def _mode(self) -> HVACMode | None:
        """The mode, whether it is on or not."""
        if (modes := self.tool.modes) is None:
            return self.tool.running
        if (option := self._chosen(modes, self.tool.mode_state)) is not None:
            return self.tool.hvac_modes[modes.options.index(option)]
        reading = self.tool.mode_state
        told = None if reading is None else hvac_mode_of(main_value(self.device.tools.last_value(reading)))
        return told if told in self.hvac_modes else None
