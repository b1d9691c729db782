"""Firmware for devices: the owner's files and lists of releases, and its installation."""

from typing import Final

from ...device.guest import Guest
from .available_firmware import FirmwareFiles
from .installation import DeviceInstallation

FIRMWARE: Final = Guest(package=__name__, parts=[DeviceInstallation], gateway_parts=[FirmwareFiles])
