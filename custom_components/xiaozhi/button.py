"""Buttons of a device."""

from typing import override

from homeassistant.components.button import ButtonEntity
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import (
    ToolEntities,
    XiaozhiToolEntity,
    add_entities_of,
)
from .gateway import Gateway, XiaozhiConfigEntry
from .tools.tool_entities import ButtonTool

# Devices do not wait for each other; the calls of one do in `ToolCalls`.
PARALLEL_UPDATES = 0


class XiaozhiButton(XiaozhiToolEntity[ButtonTool], ButtonEntity):
    """A button that calls a tool of the device."""

    def __init__(self, gateway: Gateway, device: Device, tool: ButtonTool) -> None:
        super().__init__(gateway, device, tool)
        # The page of a room shows no movements of stock boards, which have no state.
        self._attr_entity_registry_visible_default = tool.translation_key is None or bool(tool.category)

    @override
    async def async_press(self) -> None:
        await self._call(self.tool.call)


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the buttons of all devices, now and later."""
    await add_entities_of(
        entry,
        async_add_entities,
        ToolEntities(XiaozhiButton, ButtonTool),
    )
