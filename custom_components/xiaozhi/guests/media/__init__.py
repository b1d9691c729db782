"""Any source of sound, for the loudspeaker of a device."""

from typing import Final

from ...device.guest import Guest

MEDIA: Final = Guest(package=__name__)
