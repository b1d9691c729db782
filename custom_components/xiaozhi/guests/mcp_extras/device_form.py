"""Whom a device may ask, in its form."""

from dataclasses import asdict

from homeassistant.helpers.selector import BooleanSelector
import voluptuous as vol

from ...device.device import Device
from ...forms.device_form import DeviceForm
from .device_questions import QuestionSettings


async def add_fields(form: DeviceForm, device: Device | None) -> None:
    """Add those of a device that can ask, and what was allowed."""
    extended = device is not None and device.state.extended
    for key, allowed in asdict(form.before.of(QuestionSettings)).items():
        if extended or allowed:
            form.permissions[vol.Optional(key, default=allowed)] = BooleanSelector()
