"""Image entities of a device: its last photo and its last screenshot."""

from datetime import datetime
from pathlib import Path
from typing import Final, override

from homeassistant.components.image import ImageEntity, ImageEntityDescription
from homeassistant.const import EntityCategory
from homeassistant.core import callback

from ...device.device import Device
from ...device.state import AVAILABLE
from ...entity import DescribedEntities, XiaozhiEntity
from ...gateway import Gateway
from .device_pictures import PICTURE_ENTITY, PICTURES, DevicePictures
from .picture_file import Picture, PictureFile, PictureKind

_NO_PICTURE: Final = Path(__file__).parents[2] / "brand" / "icon.png"


_IMAGES: Final = (
    ImageEntityDescription(
        key=PictureKind.SCREEN, translation_key="screen", entity_category=EntityCategory.DIAGNOSTIC
    ),
    ImageEntityDescription(key=PictureKind.PHOTO, translation_key="photo"),
)


class XiaozhiImage(XiaozhiEntity, ImageEntity):
    """The last picture of a kind, which is stored."""

    entity_description: ImageEntityDescription
    follows = (AVAILABLE, PICTURES)

    def __init__(self, gateway: Gateway, device: Device, description: ImageEntityDescription) -> None:
        XiaozhiEntity.__init__(self, gateway, device, description)
        ImageEntity.__init__(self, gateway.hass)
        self._kind = PictureKind(description.key)
        self._file = PictureFile(gateway.hass, device.mac, self._kind)

    @override
    @classmethod
    def exists(cls, device: Device, description: ImageEntityDescription) -> bool:
        kind, pictures = PictureKind(description.key), device.part(DevicePictures)
        return kind in pictures.last and pictures.can_take(kind)

    @override
    async def async_added_to_hass(self) -> None:
        """Follow the device, and show the picture from before a restart."""
        await super().async_added_to_hass()
        stored = await self._file.async_load()
        if stored is not None and self._picture is None:
            self.device.part(DevicePictures).keep(self._kind, stored)
        self._file.keep(self._picture)
        self.device.record.notify(PICTURE_ENTITY)

    @override
    @callback
    def device_changed(self) -> None:
        super().device_changed()
        self._file.keep(self._picture)

    @override
    async def async_will_remove_from_hass(self) -> None:
        await super().async_will_remove_from_hass()
        await self._file.async_save()

    @override
    async def async_removed_from_registry(self) -> None:
        await self._file.async_remove()

    @property
    def _picture(self) -> Picture | None:
        return self.device.part(DevicePictures).last.get(self._kind)

    @property
    @override
    def content_type(self) -> str:
        return "image/jpeg" if self._picture else "image/png"

    @property
    @override
    def image_last_updated(self) -> datetime | None:
        return self._picture.taken if self._picture else None

    @override
    async def async_image(self) -> bytes | None:
        """Return the picture, or an icon: Home Assistant's page would show a broken picture."""
        if self._picture is not None:
            return self._picture.data
        return await self.hass.async_add_executor_job(_NO_PICTURE.read_bytes)


ENTITIES: Final = (DescribedEntities(XiaozhiImage, _IMAGES, ("tools", PICTURES)),)
