"""MCP beyond tools: resources, prompts and questions of a device. Optional.

Stock firmware has none of it, and nothing depends on this folder. To remove it, delete it with `repairs.py`,
the two calls in the integration's `__init__.py` and the action `read_resource` in `services.yaml`.
"""

from homeassistant.core import callback

from ...device.device import Device
from .device_questions import serve_questions
from .read_action import async_follow_again


@callback
def async_extend_device(device: Device) -> None:
    """Serve the questions of a device."""
    serve_questions(device)
    async_follow_again(device)
