"""Sets up what MCP has beyond tools."""

from homeassistant.core import HomeAssistant, callback

from ..device.device import Device
from .device_log import DeviceLog
from .device_questions import DeviceQuestions
from .followed_resources import FollowedResources
from .read_action import async_setup_read_action


@callback
def async_setup_mcp_extras(hass: HomeAssistant) -> None:
    """Register the action."""
    async_setup_read_action(hass)


@callback
def async_extend_device(device: Device) -> None:
    """Serve what a device may ask and report."""
    DeviceQuestions(device.hass, device)
    DeviceLog(device)
    FollowedResources(device)
