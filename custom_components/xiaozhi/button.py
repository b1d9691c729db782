"""Buttons of a device."""

from typing import override

from homeassistant.components.button import ButtonEntity

from .device.device import Device
from .entity import ToolEntities, XiaozhiToolEntity, entities_from
from .gateway import Gateway
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


async_setup_entry = entities_from(ToolEntities(XiaozhiButton, ButtonTool))
