"""Photos, screenshots, and pictures for the screen of a device."""

from typing import Final

from ...const import DOMAIN
from ...device.guest import MAC, Guest
from .device_pictures import DevicePictures
from .picture_slots import PictureSlots
from .screen import UploadView
from .vision import PhotoModel, VisionView

PICTURES: Final = Guest(
    package=__name__,
    parts=[DevicePictures],
    gateway_parts=[PhotoModel, PictureSlots],
    views={UploadView: "", VisionView: "devices"},
    kept_files=f"{DOMAIN}.{MAC}_*",
)
