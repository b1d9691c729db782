"""How loud and bright a quiet device may be, in its form."""

from typing import Final

from homeassistant.const import PERCENTAGE
from homeassistant.helpers.selector import NumberSelector, NumberSelectorConfig
import voluptuous as vol

from ...device.device import Device
from ...forms.device_form import DeviceForm
from ...tools.stock_tools import BRIGHTNESS_TOOL, VOLUME_TOOL
from .do_not_disturb import QuietSettings

_LEVELS: Final = {VOLUME_TOOL: "quiet_volume", BRIGHTNESS_TOOL: "quiet_brightness"}
_PERCENTAGE: Final = vol.All(
    NumberSelector(NumberSelectorConfig(min=0, max=100, unit_of_measurement=PERCENTAGE)), vol.Coerce(int)
)


async def add_fields(form: DeviceForm, device: Device | None) -> None:
    """Add those that the device has."""
    if device is None:
        return
    settings = form.before.of(QuietSettings)
    levels = [key for tool, key in _LEVELS.items() if tool in device.tools]
    form.fields |= {vol.Required(key, default=getattr(settings, key)): _PERCENTAGE for key in levels}
