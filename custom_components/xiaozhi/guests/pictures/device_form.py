"""The choice in the form of a device whether an AI model may look at its photos."""

from homeassistant.helpers.selector import BooleanSelector
import voluptuous as vol

from ...device.device import Device
from ...forms.device_form import DeviceForm
from ...tools.stock_tools import PHOTO_TOOL, own_name
from .vision import PhotoSettings


async def add_fields(form: DeviceForm, device: Device | None) -> None:
    """Add it for a device with a camera."""
    if device is not None and own_name(PHOTO_TOOL, device.tools):
        default = form.before.of(PhotoSettings).look_at_photos
        form.permissions[vol.Optional("look_at_photos", default=default)] = BooleanSelector()
