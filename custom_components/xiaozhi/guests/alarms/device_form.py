"""The note in the form of a device that its alarms would be deleted with it."""

from ...device.device import Device
from ...forms.device_form import DeviceForm
from ...texts.translated import async_text
from ...util.text import plain_name
from .alarm import ALARMS


async def add_fields(form: DeviceForm, device: Device | None) -> None:
    """Add the note."""
    if device is not None and (count := len(ALARMS.of(device.state))):
        placeholders = {"name": plain_name(device.name), "count": str(count)}
        form.notes.append(await async_text(device.hass, "alarms_deleted_with_device", **placeholders))
