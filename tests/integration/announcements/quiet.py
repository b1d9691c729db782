"""A device that is not to be disturbed, with its volume and brightness."""

from homeassistant.core import HomeAssistant
import pytest

from simulator import SimulatedDevice, State
from tests.integration.boxes import act, wait_for_state
from tests.integration.names import BRIGHTNESS, NEW, Boot

QUIET = "switch.kitchen_box_do_not_disturb"
REASON = "Kitchen box is not to be disturbed.* switch off Do not disturb"
LONG_ANSWER = "It goes on. " * 12


async def switch(hass: HomeAssistant, state: str) -> None:
    await act(hass, "switch", f"turn_{state}", QUIET)
    assert hass.states.is_state(QUIET, state)


async def make_quiet(hass: HomeAssistant, device: SimulatedDevice) -> None:
    """Switch it on, and wait until the device is quiet and dim."""
    await switch(hass, "on")
    await device.wait_for(lambda: levels(device) == (30, 10), 5)


def levels(device: SimulatedDevice) -> tuple[int, int]:
    return device.values["volume"], device.values["brightness"]


async def answers(device: SimulatedDevice, command: bytes, word: str = "hi") -> None:
    await device.wake(word)
    device.say(command)
    await device.wait_state(State.SPEAKING, 30)


@pytest.fixture
async def device(hass: HomeAssistant, boot: Boot) -> SimulatedDevice:
    device = await boot(NEW)
    await wait_for_state(hass, BRIGHTNESS, "75")
    return device
