"""A device whose MCP server is one of the official SDK that offers everything."""

from functools import partial
import importlib
from typing import Any

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import State
from tests.integration.names import Boot
from tests.protocol.transport.udp.device import until


@pytest.fixture
def link() -> LinkKind:
    return LinkKind.MQTT


@pytest.fixture
def full() -> Any:
    """The server in the device, and what it has seen."""
    return importlib.import_module("tests.protocol.mcp.full_server").FullServer()


@pytest.fixture
async def ready(hass: HomeAssistant, speech: Any, boot: Boot, full: Any) -> Any:
    """The device in a conversation; it has told what it offers."""
    program = importlib.import_module("tests.protocol.mcp.full_server").SdkProgram
    device = await boot(program=partial(program, full))
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    (known,) = boot.entry.runtime_data.devices.values()
    await until(lambda: known.state.conversation == "listening" and {"ask_ai", "count"} <= {*known.tools})
    await hass.async_block_till_done()
    return known
