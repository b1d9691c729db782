"""Photos, screenshots, and pictures for the screen of a device."""

from typing import Final

from ...device.guest import Guest
from .device_pictures import DevicePictures
from .picture_file import async_forget_pictures
from .picture_slots import PictureSlots
from .screen import UploadView
from .vision import PhotoModel, VisionView

PICTURES: Final = Guest(
    package=__name__,
    parts=[DevicePictures],
    gateway_parts=[PhotoModel, PictureSlots],
    views={UploadView: "", VisionView: "devices"},
    forget=async_forget_pictures,
)
