"""Buttons that take pictures."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, override

from homeassistant.components.button import ButtonEntity, ButtonEntityDescription
from homeassistant.const import EntityCategory

from ...device.call_log import logged_call
from ...device.device import Device
from ...entity import DescribedEntities, XiaozhiEntity
from ...tools.stock_tools import PHOTO_TOOL, SNAPSHOT_TOOL, own_name
from .screen import async_screenshot
from .vision import async_take_photo


@dataclass(frozen=True, kw_only=True)
class PictureButtonDescription(ButtonEntityDescription):
    """Describes a button that takes a picture."""

    tool: str
    """The tool that takes it."""
    take: Callable[[Device], Awaitable[object]]


_PICTURES: Final = (
    PictureButtonDescription(
        key="take_photo", translation_key="take_photo", tool=PHOTO_TOOL, take=async_take_photo
    ),
    PictureButtonDescription(
        key="screenshot",
        translation_key="screenshot",
        entity_category=EntityCategory.DIAGNOSTIC,
        entity_registry_enabled_default=False,
        tool=SNAPSHOT_TOOL,
        take=async_screenshot,
    ),
)


class PictureButton(XiaozhiEntity, ButtonEntity):
    """A button that takes a picture, which an image entity then shows."""

    entity_description: PictureButtonDescription
    stays = False

    @override
    @classmethod
    def exists(cls, device: Device, description: PictureButtonDescription) -> bool:
        return own_name(description.tool, device.tools) is not None

    @override
    async def async_press(self) -> None:
        description = self.entity_description
        with logged_call(self.device, description.tool, self._caller, only_failures=True):
            await description.take(self.device)


ENTITIES: Final = (DescribedEntities(PictureButton, _PICTURES),)
