"""Image entities of a device: its last photo and its last screenshot."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, override

from homeassistant.components.image import ImageEntity, ImageEntityDescription
from homeassistant.const import EntityCategory, Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.helpers.restore_state import RestoreEntity
from homeassistant.util import dt as dt_util

from .const import ATTR_HINT
from .device.device import Device
from .device.state import AVAILABLE, PICTURE_ENTITY, Picture, PictureKind
from .entity import XiaozhiEntity, add_entities_of, existing, is_registered, of_devices
from .gateway import Gateway, XiaozhiConfigEntry
from .pictures.image_entities import PICTURE_TOOLS
from .texts.translated import known_text
from .tools.stock_tools import own_name

PARALLEL_UPDATES = 0


@dataclass(frozen=True, kw_only=True)
class XiaozhiImageDescription(ImageEntityDescription):
    """Describes an image entity."""

    kind: PictureKind
    hint: str
    """Key of the sentence that says how to get the first one."""


IMAGES: Final = (
    XiaozhiImageDescription(
        key="screen",
        translation_key="screen",
        entity_category=EntityCategory.DIAGNOSTIC,
        kind=PictureKind.SCREEN,
        hint="no_screenshot_yet",
    ),
    XiaozhiImageDescription(
        key="photo",
        translation_key="photo",
        kind=PictureKind.PHOTO,
        hint="no_photo_yet",
    ),
)


def _exists(device: Device, image: XiaozhiImageDescription) -> bool:
    able = own_name(PICTURE_TOOLS[image.kind], device.tools) is not None
    return able and (image.kind in device.state.pictures or is_registered(device, Platform.IMAGE, image.key))


class XiaozhiImage(XiaozhiEntity, ImageEntity, RestoreEntity):
    """The last picture of a kind; after a restart of Home Assistant, only when it was taken."""

    entity_description: XiaozhiImageDescription
    _attr_content_type = "image/jpeg"
    follows = (AVAILABLE, "pictures")

    def __init__(self, gateway: Gateway, device: Device, description: XiaozhiImageDescription) -> None:
        XiaozhiEntity.__init__(self, gateway, device, description)
        ImageEntity.__init__(self, gateway.hass)
        self._taken_before: datetime | None = None

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device, and go on knowing when the last picture was taken."""
        await super().async_added_to_hass()
        if (last := await self.async_get_last_state()) is not None:
            self._taken_before = dt_util.parse_datetime(last.state)
        self.device.notify(PICTURE_ENTITY)

    @property
    def _picture(self) -> Picture | None:
        return self.device.state.pictures.get(self.entity_description.kind)

    @property
    @override
    def image_last_updated(self) -> datetime | None:
        return self._picture.taken if self._picture else self._taken_before

    @property
    @override
    def entity_picture(self) -> str | None:
        """Return the address of the picture; None shows the icon."""
        return super().entity_picture if self._picture else None

    @property
    @override
    def extra_state_attributes(self) -> dict[str, Any]:
        """Return how to get the first picture."""
        return {} if self._picture else {ATTR_HINT: known_text(self.hass, self.entity_description.hint)}

    @override
    async def async_image(self) -> bytes | None:
        return self._picture.data if self._picture else None


async def async_setup_entry(
    hass: HomeAssistant, entry: XiaozhiConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add the images of all devices, now and later."""
    add_entities_of(
        entry,
        async_add_entities,
        of_devices(existing(IMAGES, _exists), XiaozhiImage, keys=("tools", "pictures")),
    )
