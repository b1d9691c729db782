"""Locks of a device."""

from typing import Any, override

from homeassistant.components.lock import LockEntity, LockEntityDescription
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.entities import LockTool, Reading
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

    @override
    def _readings(self) -> tuple[Reading | None, ...]:
        return (self.tool.state,)

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether the state is only what was last called."""
        return self.tool.state is None

    @property
    @override
    def is_locked(self) -> bool | None:
        """Return whether it is locked: as last read, or else as last called."""
        if (state := self.tool.state) is not None:
            return as_locked(self.device.tools.last_value(state), negated=state.negated)
        last = self.device.tools.last_call([self.tool.lock.tool, self.tool.unlock.tool])
        return True if last == self.tool.lock else False if last == self.tool.unlock else None

    @override
    async def async_lock(self, **kwargs: Any) -> None:
        """Lock."""
        await self._change(self.tool.lock.tool, self.tool.lock.arguments)

    @override
    async def async_unlock(self, **kwargs: Any) -> None:
        """Unlock."""
        await self._change(self.tool.unlock.tool, self.tool.unlock.arguments)
