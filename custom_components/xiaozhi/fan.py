"""Fans of a device."""

from dataclasses import replace
from typing import Any, override

from homeassistant.components.fan import FanEntity, FanEntityDescription, FanEntityFeature
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.entities import FanTool, Setter
from .tools.openings import percentage_of, value_of

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the fans that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, FanTool, XiaozhiFan)


class XiaozhiFan(XiaozhiToolEntity[FanTool], FanEntity):
    """A fan of a device."""

    def __init__(self, device: Device, tool: FanTool) -> None:
        super().__init__(device, tool, describe(FanEntityDescription, tool))

    @property
    @override
    def supported_features(self) -> FanEntityFeature:
        """Return what the tools can do."""
        features = FanEntityFeature.TURN_ON | FanEntityFeature.TURN_OFF
        return features if self.tool.speed is None else features | FanEntityFeature.SET_SPEED

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether part of the state is only what was last set."""
        return self.tool.state is None

    @property
    @override
    def is_on(self) -> bool | None:
        """Return whether the fan is on: as last read, or else as last switched."""
        return self._is_switched_on(self.tool.state, self.tool.on, self.tool.off)

    @property
    @override
    def speed_count(self) -> int:
        """Return the number of speeds."""
        setter = self.tool.speed
        return 100 if setter is None else setter.maximum - max(setter.minimum - 1, 0)

    @property
    @override
    def percentage(self) -> int | None:
        """Return the speed in per cent: as last read, or else as last set."""
        if (setter := self.tool.speed) is None:
            return None
        if self.is_on is False:
            return 0
        return percentage_of(self._set_to(setter, self.tool.speed_state), _from_zero(setter))

    @override
    async def async_turn_on(
        self, percentage: int | None = None, preset_mode: str | None = None, **kwargs: Any
    ) -> None:
        """Switch on, at a speed if one is given."""
        if percentage == 0:
            await self.async_turn_off()
            return
        running = self.is_on is True
        await self._call(self.tool.on)
        if percentage is not None:
            await self._set_speed(percentage, only_attribute=running)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        """Switch off."""
        await self._call(self.tool.off)

    @override
    async def async_set_percentage(self, percentage: int) -> None:
        """Set the speed; 0 switches off."""
        if percentage == 0:
            await self.async_turn_off()
            return
        running = self.is_on is True
        if not running:
            await self._call(self.tool.on)
        await self._set_speed(percentage, only_attribute=running)

    async def _set_speed(self, percentage: int, *, only_attribute: bool) -> None:
        if (setter := self.tool.speed) is not None:
            speed = max(1, setter.minimum, value_of(percentage, _from_zero(setter)))
            await self._change(setter.tool, {setter.argument: speed}, only_attribute=only_attribute)


def _from_zero(setter: Setter) -> Setter:
    """Return the setter with the speed at which a fan stands as its minimum."""
    return replace(setter, minimum=max(setter.minimum - 1, 0))
