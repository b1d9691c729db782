"""Valves of a device."""

from typing import override

from homeassistant.components.valve import (
    ValveDeviceClass,
    ValveEntity,
    ValveEntityDescription,
    ValveEntityFeature,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.entities import Reading, ValveTool
from .tools.openings import has_position, is_closed, position_of, value_of

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the valves that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, ValveTool, XiaozhiValve)


class XiaozhiValve(XiaozhiToolEntity[ValveTool], ValveEntity):
    """A valve of a device."""

    def __init__(self, device: Device, tool: ValveTool) -> None:
        device_class = ValveDeviceClass(tool.device_class) if tool.device_class else None
        description = describe(
            ValveEntityDescription, tool, device_class=device_class, reports_position=has_position(tool)
        )
        super().__init__(device, tool, description)

    @override
    def _readings(self) -> tuple[Reading | None, ...]:
        return (self.tool.state, self.tool.position_state)

    @property
    @override
    def supported_features(self) -> ValveEntityFeature:
        """Return what the tools can do."""
        features = ValveEntityFeature.OPEN | ValveEntityFeature.CLOSE
        if self.tool.stop is not None:
            features |= ValveEntityFeature.STOP
        if self.tool.position is not None:
            features |= ValveEntityFeature.SET_POSITION
        return features

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether the state is only what was last called."""
        return self.tool.state is None and self.tool.position_state is None

    @property
    @override
    def is_closed(self) -> bool | None:
        """Return whether the valve is closed."""
        return is_closed(self.tool, self.device.tools)

    @property
    @override
    def current_valve_position(self) -> int | None:
        """Return how far the valve is open, in per cent."""
        return position_of(self.tool, self.device.tools)

    @override
    async def async_open_valve(self) -> None:
        """Open."""
        await self._change(self.tool.open.tool, self.tool.open.arguments)

    @override
    async def async_close_valve(self) -> None:
        """Close."""
        await self._change(self.tool.close.tool, self.tool.close.arguments)

    @override
    async def async_stop_valve(self) -> None:
        """Stop."""
        if self.tool.stop is not None:
            await self._change(self.tool.stop.tool, self.tool.stop.arguments)

    @override
    async def async_set_valve_position(self, position: int) -> None:
        """Open as far as wanted."""
        if (setter := self.tool.position) is not None:
            await self._change(setter.tool, {setter.argument: value_of(position, setter)})
