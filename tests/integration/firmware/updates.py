"""The update entity of a device: what it shows, and how the owner uses it."""

from dataclasses import replace

from homeassistant.components.homeassistant import SERVICE_UPDATE_ENTITY
from homeassistant.components.update import ATTR_INSTALLED_VERSION, ATTR_LATEST_VERSION, SERVICE_INSTALL
from homeassistant.core import HomeAssistant

from simulator import BOARDS, Pace, SimulatedDevice, get_profile
from tests.integration.boxes import wait_for_state
from tests.integration.names import CONNECTED, Boot

FIRMWARE = "update.kitchen_box_firmware"
BOARD = BOARDS["s3"].name
SIZE = 256 * 1024
QUICK = Pace(waits=0.02, timeouts=0.1, flash=10, main_loop_delay=0.001)


async def boot_linked(hass: HomeAssistant, boot: Boot, **pace: float) -> SimulatedDevice:
    device = await boot(get_profile(version="2.4.1"), pace=replace(QUICK, **pace))
    await wait_for_state(hass, CONNECTED, "on")
    return device


async def look(hass: HomeAssistant) -> None:
    await hass.services.async_call(
        "homeassistant", SERVICE_UPDATE_ENTITY, {"entity_id": [FIRMWARE]}, blocking=True
    )
    await hass.async_block_till_done()


async def install(hass: HomeAssistant, **data: str) -> None:
    await hass.services.async_call("update", SERVICE_INSTALL, {"entity_id": FIRMWARE, **data}, blocking=True)


def versions(hass: HomeAssistant) -> tuple[str, str | None, str | None]:
    """Return the entity's state, the installed version and the newest."""
    state = hass.states.get(FIRMWARE)
    assert state is not None
    return state.state, state.attributes[ATTR_INSTALLED_VERSION], state.attributes[ATTR_LATEST_VERSION]


def fetches(device: SimulatedDevice) -> int:
    """Return how often the device began to fetch a firmware."""
    return sum(event.kind == "upgrade" for event in device.transcript)
