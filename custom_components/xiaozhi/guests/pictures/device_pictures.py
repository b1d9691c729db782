"""The last pictures of a device, and where it sends its photos."""

import hmac
from typing import Final, override

from homeassistant.core import callback

from ...device.device import Device
from ...device.guest import DevicePart
from ...protocol.messages import JsonObject
from .picture_file import Picture, PictureKind

PICTURES: Final = "pictures"
"""Key: a device has another last picture."""
VISION_PATH: Final = "/api/xiaozhi/vision"


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
        """Take a new picture, or the stored one."""
        self.last[kind] = picture
        self.device.record.notify(PICTURES)

    @property
    def token(self) -> str:
        """Token that the device sends with a photo. It does not reveal the token of the link."""
        return hmac.digest(self.device.settings.token.encode(), b"vision", "sha256").hex()

    def _vision(self) -> JsonObject | None:
        origin = self.device.state.origin
        return None if origin is None else {"url": origin + VISION_PATH, "token": self.token}
