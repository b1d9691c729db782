"""A device whose MCP server is one of the official SDK that offers everything."""

from collections.abc import Awaitable, Callable
from functools import partial
import importlib
from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import SessionTimeouts, Timeouts
from simulator import SimulatedDevice, State
from tests.integration.boxes import Boot
from tests.protocol.transport.udp.device import until

type BootFull = Callable[[], Awaitable[SimulatedDevice]]

# Longer than other calls may take. In five minutes the device would send 5,000 packets of sound.
PEOPLE_HAVE_40_SECONDS = pytest.mark.parametrize(
    "timeouts", [Timeouts(session=SessionTimeouts(person_answers=40))], ids=["soon"]
)


@pytest.fixture
def link() -> LinkKind:
    return LinkKind.MQTT


@pytest.fixture
def full() -> Any:
    """The server in the device, and what it has seen."""
    return importlib.import_module("tests.protocol.mcp.full_server").FullServer()


@pytest.fixture
async def boot_full(
    hass: HomeAssistant, speech: Any, linked_entry: MockConfigEntry, boot: Boot, full: Any
) -> BootFull:
    """Return what switches the device on, and opens a channel."""
    program = importlib.import_module("tests.protocol.mcp.sdk_program").SdkProgram

    async def start() -> SimulatedDevice:
        device = await boot(program=partial(program, full))
        await device.wake()
        await device.wait_state(State.LISTENING, 5)
        (known,) = linked_entry.runtime_data.devices.values()
        await until(lambda: known.conversation_state == "listening")
        await hass.async_block_till_done()
        return device

    return start
