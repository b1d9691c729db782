"""Switches of a device."""

from typing import Any, override

from homeassistant.components.switch import SwitchEntity, SwitchEntityDescription
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiToolEntity, async_add_tool_entities, describe
from .gateway import XiaozhiConfigEntry
from .tools.entities import Reading, SwitchTool

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the switches that each device has tools for."""
    async_add_tool_entities(entry, async_add_entities, SwitchTool, XiaozhiSwitch)


class XiaozhiSwitch(XiaozhiToolEntity[SwitchTool], SwitchEntity):
    """A switch of a device."""

    def __init__(self, device: Device, tool: SwitchTool) -> None:
        super().__init__(device, tool, describe(SwitchEntityDescription, tool))

    @override
    def _readings(self) -> tuple[Reading | None, ...]:
        return (self.tool.state,)

    @property
    @override
    def assumed_state(self) -> bool:
        """Whether the state is only what was last switched."""
        return self.tool.state is None

    @property
    @override
    def is_on(self) -> bool | None:
        """Return whether the switch is on: as last read, or else as last switched."""
        if self.tool.state is not None:
            return self._flag(self.tool.state)
        last = self.device.tools.last_call([self.tool.on.tool, self.tool.off.tool])
        return True if last == self.tool.on else False if last == self.tool.off else None

    @override
    async def async_turn_on(self, **kwargs: Any) -> None:
        """Switch on."""
        await self._change(self.tool.on.tool, self.tool.on.arguments)

    @override
    async def async_turn_off(self, **kwargs: Any) -> None:
        """Switch off."""
        await self._change(self.tool.off.tool, self.tool.off.arguments)
