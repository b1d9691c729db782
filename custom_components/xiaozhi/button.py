"""Buttons of a device."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, override

from homeassistant.components.button import ButtonDeviceClass, ButtonEntity, ButtonEntityDescription
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .access_point.entities import ReconnectButton, async_add_access_point_entities
from .device.call_log import logged_call
from .device.device import Device
from .entity import (
    XiaozhiEntity,
    XiaozhiToolEntity,
    describe,
    existing,
    follow,
    follow_tools,
)
from .gateway import XiaozhiConfigEntry
from .pictures.photo import async_take_photo
from .pictures.screen import async_screenshot
from .tools.catalogue import PHOTO_TOOL, SNAPSHOT_TOOL, own_name
from .tools.entity_descriptions import ButtonTool

# The device runs one tool at a time.
PARALLEL_UPDATES = 1


@dataclass(frozen=True, kw_only=True)
class XiaozhiPictureButtonDescription(ButtonEntityDescription):
    """Describes a button that takes a picture."""

    tool: str
    """The tool that takes it."""
    take: Callable[[HomeAssistant, Device], Awaitable[object]]


PICTURES: Final = (
    XiaozhiPictureButtonDescription(
        key="take_photo", translation_key="take_photo", tool=PHOTO_TOOL, take=async_take_photo
    ),
    XiaozhiPictureButtonDescription(
        key="screenshot",
        translation_key="screenshot",
        entity_category=EntityCategory.DIAGNOSTIC,
        tool=SNAPSHOT_TOOL,
        take=async_screenshot,
    ),
)


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the buttons that each device has tools for."""
    follow_tools(entry, async_add_entities, ButtonTool, XiaozhiButton)
    follow(
        entry,
        async_add_entities,
        existing(PICTURES, lambda device, button: own_name(button.tool, device.tools) is not None),
        XiaozhiPictureButton,
    )
    async_add_access_point_entities(
        entry, entry.runtime_data.access_points, async_add_entities, [ReconnectButton]
    )


class XiaozhiButton(XiaozhiToolEntity[ButtonTool], ButtonEntity):
    """A button that calls a tool of the device."""

    def __init__(self, device: Device, tool: ButtonTool) -> None:
        device_class = ButtonDeviceClass(tool.device_class) if tool.device_class else None
        super().__init__(device, tool, describe(ButtonEntityDescription, tool, device_class=device_class))

    @override
    async def async_press(self) -> None:
        """Call the tool."""
        await self._call(self.tool.call)


class XiaozhiPictureButton(XiaozhiEntity, ButtonEntity):
    """A button that takes a picture, which an image entity then shows."""

    entity_description: XiaozhiPictureButtonDescription

    @override
    async def async_press(self) -> None:
        """Take the picture."""
        description = self.entity_description
        with logged_call(self.device, description.tool, self._caller, only_failures=True):
            await description.take(self.hass, self.device)
