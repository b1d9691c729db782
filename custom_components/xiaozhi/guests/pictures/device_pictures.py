"""The last pictures of a device, and where it sends its photos."""

import asyncio
import hmac
from typing import Final, override

from homeassistant.const import Platform
from homeassistant.core import callback
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from ...const import DOMAIN
from ...device.device import Device
from ...device.guest import DevicePart
from ...protocol.messages import JsonObject
from ...tools.stock_tools import PHOTO_TOOL, SNAPSHOT_TOOL, own_name
from ...util.event_loop import within
from .picture_file import Picture, PictureKind
from .picture_slots import PictureTimeouts

PICTURES: Final = "pictures"
"""Key: a device has another last picture."""
PICTURE_ENTITY: Final = "picture_entity"
"""Key: an image entity was added, as it is with the first picture of its kind."""
VISION_PATH: Final = "/api/xiaozhi/vision"
_TOOLS: Final = {PictureKind.PHOTO: PHOTO_TOOL, PictureKind.SCREEN: SNAPSHOT_TOOL}


class DevicePictures(DevicePart):
    """The last picture of each kind."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.last: dict[PictureKind, Picture] = {}

    @override
    @callback
    def start(self) -> None:
        """Announce where the device is to send its photos, once that is known; it forgets it at a restart."""
        self.device.handshake.capabilities["vision"] = self._vision

    @callback
    def keep(self, kind: PictureKind, picture: Picture) -> None:
        """Keep a new picture, or the stored one."""
        self.last[kind] = picture
        self.device.record.notify(PICTURES)

    def can_take(self, kind: PictureKind) -> bool:
        """Whether the device has the tool that takes pictures of a kind."""
        return own_name(_TOOLS[kind], self.device.tools) is not None

    def entity(self, kind: PictureKind) -> er.RegistryEntry | None:
        """Return the image entity for a kind of picture, also a disabled one."""
        registry = er.async_get(self.device.hass)
        entity_id = registry.async_get_entity_id(Platform.IMAGE, DOMAIN, f"{self.device.mac}_{kind}")
        return registry.async_get(entity_id) if entity_id else None

    async def async_receive(self, kind: PictureKind, data: bytes) -> er.RegistryEntry | None:
        """Take a new picture; return its entity, after it was added."""
        added = asyncio.Event()
        stop = self.device.record.listen((PICTURE_ENTITY,), added.set)
        try:
            self.keep(kind, Picture(data=data, taken=dt_util.utcnow()))
            if self.entity(kind) is None and self.can_take(kind):
                await within(PictureTimeouts.entity, added.wait())
        finally:
            stop()
        return self.entity(kind)

    @property
    def token(self) -> str:
        """Token that the device sends with a photo. It does not reveal the token of the link."""
        return hmac.digest(self.device.settings.token.encode(), b"vision", "sha256").hex()

    def _vision(self) -> JsonObject | None:
        origin = self.device.state.origin
        return None if origin is None else {"url": origin + VISION_PATH, "token": self.token}
