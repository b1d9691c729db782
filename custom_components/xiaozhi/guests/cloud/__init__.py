"""Access points: devices that stay in a cloud, whose assistant uses our tools."""

from typing import Final

from ...device.guest import Guest
from .access_points import AccessPoints

CLOUD: Final = Guest(package=__name__, gateway_parts=[AccessPoints])
