"""A robot whose firmware gets other tools while it runs."""

from homeassistant.core import HomeAssistant
import pytest

from simulator import SimulatedDevice, get_profile
from tests.integration.boxes import wait_for_state
from tests.integration.names import Boot


@pytest.fixture
async def robot(hass: HomeAssistant, boot: Boot) -> SimulatedDevice:
    """An Otto robot, whose tools are known."""
    device = await boot(get_profile("otto"))
    await wait_for_state(hass, "button.kitchen_box_stop_moving", "unknown")
    return device
