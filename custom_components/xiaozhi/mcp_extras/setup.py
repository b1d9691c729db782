"""Sets up what MCP has beyond tools."""

from homeassistant.core import callback

from ..device.device import Device
from .device_questions import DeviceQuestions
from .followed_resources import FollowedResources


@callback
def async_extend_device(device: Device) -> None:
    """Serve what a device may ask."""
    DeviceQuestions(device)
    FollowedResources(device)
