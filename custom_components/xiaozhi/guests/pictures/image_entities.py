"""The image entities of a device, which are added with the first picture of their kind."""

import asyncio
from typing import Final

from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from ...const import DOMAIN
from ...device.device import Device
from ...tools.stock_tools import PHOTO_TOOL, SNAPSHOT_TOOL, own_name
from ...util.event_loop import within
from .device_pictures import DevicePictures
from .picture_file import Picture, PictureKind
from .picture_timeouts import PictureTimeouts

PICTURE_ENTITY: Final = "picture_entity"
"""Key: an image entity was added."""
PICTURE_TOOLS: Final = {PictureKind.PHOTO: PHOTO_TOOL, PictureKind.SCREEN: SNAPSHOT_TOOL}
"""The tool that takes the pictures of each kind."""


def picture_entity(hass: HomeAssistant, device: Device, kind: PictureKind) -> er.RegistryEntry | None:
    """Return the image entity for a kind of picture, also a disabled one."""
    registry = er.async_get(hass)
    entity_id = registry.async_get_entity_id(Platform.IMAGE, DOMAIN, f"{device.mac}_{kind}")
    return registry.async_get(entity_id) if entity_id else None


async def async_keep_picture(
    hass: HomeAssistant, device: Device, kind: PictureKind, data: bytes
) -> er.RegistryEntry | None:
    """Keep a picture; return its entity, after it was added."""
    added = asyncio.Event()
    stop = device.record.listen((PICTURE_ENTITY,), added.set)
    try:
        device.part(DevicePictures).keep(kind, Picture(data=data, taken=dt_util.utcnow()))
        if picture_entity(hass, device, kind) is None and own_name(PICTURE_TOOLS[kind], device.tools):
            await within(PictureTimeouts.entity, added.wait())
    finally:
        stop()
    return picture_entity(hass, device, kind)
