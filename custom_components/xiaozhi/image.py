"""Image entities of a device: its last photo and its last screenshot."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, override

from homeassistant.components.image import ImageEntity, ImageEntityDescription
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .device.device import Device
from .entity import XiaozhiEntity, async_add_device_entities
from .gateway import XiaozhiConfigEntry
from .pictures.jpeg import PictureKind
from .tools.catalogue import PHOTO_TOOL, SNAPSHOT_TOOL

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class XiaozhiImageDescription(ImageEntityDescription):
    """Describes an image entity."""

    kind: PictureKind
    tool: str
    """The tool that takes the pictures."""


IMAGES: Final = (
    XiaozhiImageDescription(
        key="screen", translation_key="screen", kind=PictureKind.SCREEN, tool=SNAPSHOT_TOOL
    ),
    XiaozhiImageDescription(key="photo", translation_key="photo", kind=PictureKind.PHOTO, tool=PHOTO_TOOL),
)


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the image entities that each device has tools for."""
    async_add_device_entities(
        entry,
        async_add_entities,
        IMAGES,
        lambda device, description: XiaozhiImage(hass, device, description),
        exists=lambda device, description: description.tool in device.tools,
    )


class XiaozhiImage(XiaozhiEntity, ImageEntity):
    """The last picture of a kind, since Home Assistant started."""

    entity_description: XiaozhiImageDescription
    _attr_content_type = "image/jpeg"

    def __init__(self, hass: HomeAssistant, device: Device, description: XiaozhiImageDescription) -> None:
        XiaozhiEntity.__init__(self, device, description)
        ImageEntity.__init__(self, hass)

    @property
    @override
    def image_last_updated(self) -> datetime | None:
        """When the picture was taken."""
        picture = self.device.state.pictures.get(self.entity_description.kind)
        return picture.taken if picture else None

    @override
    async def async_image(self) -> bytes | None:
        """Return the picture."""
        picture = self.device.state.pictures.get(self.entity_description.kind)
        return picture.data if picture else None
