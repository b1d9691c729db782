"""Image entities of a device: its last photo and its last screenshot."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, override

from homeassistant.components.image import ImageEntity, ImageEntityDescription
from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from .const import ATTR_HINT
from .device.device import Device
from .device.state import AVAILABLE, PictureKind
from .entity import XiaozhiEntity, existing, follow
from .gateway import XiaozhiConfigEntry
from .texts.translated import known_text
from .tools.catalogue import PHOTO_TOOL, SNAPSHOT_TOOL, own_name

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class XiaozhiImageDescription(ImageEntityDescription):
    """Describes an image entity."""

    kind: PictureKind
    tool: str
    """The tool that takes the pictures."""
    hint: str
    """Key of the sentence that says how to get the first one."""


IMAGES: Final = (
    XiaozhiImageDescription(
        key="screen",
        translation_key="screen",
        entity_category=EntityCategory.DIAGNOSTIC,
        kind=PictureKind.SCREEN,
        tool=SNAPSHOT_TOOL,
        hint="no_screenshot_yet",
    ),
    XiaozhiImageDescription(
        key="photo",
        translation_key="photo",
        kind=PictureKind.PHOTO,
        tool=PHOTO_TOOL,
        hint="no_photo_yet",
    ),
)


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the image entities that each device has tools for."""
    follow(
        entry,
        async_add_entities,
        existing(IMAGES, lambda device, image: own_name(image.tool, device.tools) is not None),
        lambda device, description: XiaozhiImage(hass, device, description),
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
    def follows(self) -> Iterable[str]:
        """Return the keys of what it shows."""
        return (AVAILABLE, "pictures")

    @property
    @override
    def image_last_updated(self) -> datetime | None:
        """When the picture was taken."""
        picture = self.device.state.pictures.get(self.entity_description.kind)
        return picture.taken if picture else None

    @property
    @override
    def entity_picture(self) -> str | None:
        """Return the address of the picture; None shows the icon."""
        return super().entity_picture if self.image_last_updated else None

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return how to get the first picture."""
        if self.image_last_updated:
            return {}
        return {ATTR_HINT: known_text(self.hass, self.entity_description.hint)}

    @override
    async def async_image(self) -> bytes | None:
        """Return the picture."""
        picture = self.device.state.pictures.get(self.entity_description.kind)
        return picture.data if picture else None
