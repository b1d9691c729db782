"""Covers of a device: curtains, doors, lids."""

from typing import Any, override

from homeassistant.components.cover import (
    ATTR_POSITION,
    CoverDeviceClass,
    CoverEntity,
    CoverEntityDescription,
    CoverEntityFeature,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.entities import CoverTool, Reading
from .tools.openings import is_closed, position_of, value_of

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the covers that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, CoverTool, XiaozhiCover)


class XiaozhiCover(XiaozhiToolEntity[CoverTool], CoverEntity):
    """A cover of a device."""

    def __init__(self, device: Device, tool: CoverTool) -> None:
        device_class = CoverDeviceClass(tool.device_class) if tool.device_class else None
        super().__init__(device, tool, describe(CoverEntityDescription, tool, device_class=device_class))

    @override
    def _readings(self) -> tuple[Reading | None, ...]:
        return (self.tool.state, self.tool.position_state)

    @property
    @override
    def supported_features(self) -> CoverEntityFeature:
        """Return what the tools can do."""
        features = CoverEntityFeature.OPEN | CoverEntityFeature.CLOSE
        if self.tool.stop is not None:
            features |= CoverEntityFeature.STOP
        if self.tool.position is not None:
            features |= CoverEntityFeature.SET_POSITION
        return features

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether the state is only what was last called."""
        return self.tool.state is None and self.tool.position_state is None

    @property
    @override
    def is_closed(self) -> bool | None:
        """Return whether the cover is closed."""
        return is_closed(self.tool, self.device.tools)

    @property
    @override
    def current_cover_position(self) -> int | None:
        """Return how far the cover is open, in per cent."""
        return position_of(self.tool, self.device.tools)

    @override
    async def async_open_cover(self, **kwargs: Any) -> None:
        """Open."""
        await self._change(self.tool.open.tool, self.tool.open.arguments)

    @override
    async def async_close_cover(self, **kwargs: Any) -> None:
        """Close."""
        await self._change(self.tool.close.tool, self.tool.close.arguments)

    @override
    async def async_stop_cover(self, **kwargs: Any) -> None:
        """Stop."""
        if self.tool.stop is not None:
            await self._change(self.tool.stop.tool, self.tool.stop.arguments)

    @override
    async def async_set_cover_position(self, **kwargs: Any) -> None:
        """Open as far as wanted."""
        if (setter := self.tool.position) is not None:
            await self._change(setter.tool, {setter.argument: value_of(kwargs[ATTR_POSITION], setter)})
