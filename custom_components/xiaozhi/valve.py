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
from .entity import async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .opening import XiaozhiOpening
from .tools.entities import ValveTool
from .tools.openings import has_position

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the valves that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, ValveTool, XiaozhiValve)


class XiaozhiValve(XiaozhiOpening[ValveTool], ValveEntity):
    """A valve of a device."""

    def __init__(self, device: Device, tool: ValveTool) -> None:
        device_class = ValveDeviceClass(tool.device_class) if tool.device_class else None
        description = describe(
            ValveEntityDescription, tool, device_class=device_class, reports_position=has_position(tool)
        )
        super().__init__(device, tool, description)

    @property
    @override
    def supported_features(self) -> ValveEntityFeature:
        """Return what the tools can do."""
        return self._features(ValveEntityFeature)

    @property
    @override
    def current_valve_position(self) -> int | None:
        """Return how far the valve is open, in per cent."""
        return self._position

    @override
    async def async_open_valve(self) -> None:
        """Open."""
        await self._open()

    @override
    async def async_close_valve(self) -> None:
        """Close."""
        await self._close()

    @override
    async def async_stop_valve(self) -> None:
        """Stop."""
        await self._stop()

    @override
    async def async_set_valve_position(self, position: int) -> None:
        """Open as far as wanted."""
        await self._move(position)
