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
from .entity import async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .opening import XiaozhiOpening
from .tools.entities import CoverTool

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the covers that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, CoverTool, XiaozhiCover)


class XiaozhiCover(XiaozhiOpening[CoverTool], CoverEntity):
    """A cover of a device."""

    def __init__(self, device: Device, tool: CoverTool) -> None:
        device_class = CoverDeviceClass(tool.device_class) if tool.device_class else None
        super().__init__(device, tool, describe(CoverEntityDescription, tool, device_class=device_class))

    @property
    @override
    def supported_features(self) -> CoverEntityFeature:
        """Return what the tools can do."""
        return self._features(CoverEntityFeature)

    @property
    @override
    def current_cover_position(self) -> int | None:
        """Return how far the cover is open, in per cent."""
        return self._position

    @override
    async def async_open_cover(self, **kwargs: Any) -> None:
        """Open."""
        await self._open()

    @override
    async def async_close_cover(self, **kwargs: Any) -> None:
        """Close."""
        await self._close()

    @override
    async def async_stop_cover(self, **kwargs: Any) -> None:
        """Stop."""
        await self._stop()

    @override
    async def async_set_cover_position(self, **kwargs: Any) -> None:
        """Open as far as wanted."""
        await self._move(kwargs[ATTR_POSITION])
