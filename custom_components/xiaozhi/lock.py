"""Locks of a device."""

from typing import Any, override

from homeassistant.components.lock import LockEntity, LockEntityDescription
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.entities import LockTool
from .tools.values import as_locked

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the locks that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, LockTool, XiaozhiLock)


class XiaozhiLock(XiaozhiToolEntity[LockTool], LockEntity):
    """A lock of a device. Assistants get it only if the owner exposes it."""

    def __init__(self, device: Device, tool: LockTool) -> None:
        super().__init__(device, tool, describe(LockEntityDescription, tool))

    @property
    @override
    def is_locked(self) -> bool | None:
        """Return whether it is locked: as last read, or else as last called."""
        if (state := self.tool.state) is not None:
            return as_locked(self.device.tools.last_value(state), negated=state.negated)
        return self._last_of(self.tool.lock, self.tool.unlock)

    @override
    async def async_lock(self, **kwargs: Any) -> None:
        """Lock."""
        await self._call(self.tool.lock)

    @override
    async def async_unlock(self, **kwargs: Any) -> None:
        """Unlock."""
        await self._call(self.tool.unlock)
