"""Humidifiers of a device."""

from typing import Any, override

from homeassistant.components.humidifier import (
    HumidifierDeviceClass,
    HumidifierEntity,
    HumidifierEntityDescription,
    HumidifierEntityFeature,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.entities import HumidifierTool
from .tools.values import as_number

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the humidifiers that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, HumidifierTool, XiaozhiHumidifier)


class XiaozhiHumidifier(XiaozhiToolEntity[HumidifierTool], HumidifierEntity):
    """A humidifier or a dehumidifier of a device."""

    def __init__(self, device: Device, tool: HumidifierTool) -> None:
        device_class = HumidifierDeviceClass(tool.device_class) if tool.device_class else None
        super().__init__(device, tool, describe(HumidifierEntityDescription, tool, device_class=device_class))
        self._attr_min_humidity = tool.target.minimum
        self._attr_max_humidity = tool.target.maximum
        if tool.modes is not None:
            self._attr_supported_features = HumidifierEntityFeature.MODES
            self._attr_available_modes = [*tool.modes.options]

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether it is on is only what was last called."""
        return self.tool.state is None

    @property
    @override
    def is_on(self) -> bool | None:
        """Return whether it is on: as last read, or else as last switched."""
        return self._is_switched_on(self.tool.state, self.tool.on, self.tool.off)

    @property
    @override
    def target_humidity(self) -> float | None:
        """Return the wanted humidity: as last read, or else as last set."""
        return self._set_to(self.tool.target, self.tool.target_state)

    @property
    @override
    def current_humidity(self) -> float | None:
        """Return the humidity of the room, if the device tells it."""
        reading = self.tool.current_state
        return None if reading is None else as_number(self.device.tools.last_value(reading))

    @property
    @override
    def mode(self) -> str | None:
        """Return the mode: as last read, or else as last chosen."""
        return None if self.tool.modes is None else self._chosen(self.tool.modes, self.tool.mode_state)

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        """Switch on."""
        await self._call(self.tool.on)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        """Switch off."""
        await self._call(self.tool.off)

    @override
    async def async_set_humidity(self, humidity: int) -> None:
        """Set the wanted humidity."""
        setter = self.tool.target
        await self._change(setter.tool, {setter.argument: humidity}, only_attribute=True)

    @override
    async def async_set_mode(self, mode: str) -> None:
        """Choose a mode."""
        if self.tool.modes is not None:
            await self._call(self.tool.modes.call(mode), only_attribute=True)
