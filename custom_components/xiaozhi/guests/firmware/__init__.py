"""Firmware for devices: the owner's files and lists of releases, and its installation."""

from typing import Final

from ...device.guest import Guest
from .available_firmware import FirmwareFiles

FIRMWARE: Final = Guest(package=__name__, gateway_parts=[FirmwareFiles])
