"""A device that floods over MCP."""

import asyncio
from collections.abc import Callable
from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.boxes import paired_device
from tests.integration.names import CLIENT_ID, MAC, OTHER_MAC, Boot
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

type Json = dict[str, Any]


@pytest.fixture
def paired() -> tuple[Any, ...]:
    """Two devices, which may ask the AI."""
    boxes = paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Other box")
    return tuple({**box, "data": {**box["data"], "ask_ai": True}} for box in boxes)


class Program:
    """Beside the stock firmware: notes the answers to its questions."""

    def __init__(self, send: Callable[[Json], None]) -> None:
        self.tools: list[Any] = []
        self.answers: list[Json] = []
        self.send = send

    def handle(self, message: Json) -> bool:
        if "method" not in message:
            self.answers.append(message)
            return True
        return False

    async def run(self) -> None:
        """Do nothing by itself."""


async def test_a_device_that_floods_disturbs_no_other(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """Reports, questions and answers to nothing are bounded, and the other device answers meanwhile."""
    flooding = await boot(program=Program)
    other = await boot(mac=OTHER_MAC)
    devices = linked_entry.runtime_data.devices
    await until(lambda: bool(devices[MAC].tools) and bool(devices[OTHER_MAC].tools))
    program = flooding._on.mcp.program
    assert isinstance(program, Program)
    call: Json = {"jsonrpc": "2.0"}
    for number in range(300):
        uri = {"uri": f"a:{number}"}
        program.send(call | {"method": "notifications/resources/updated", "params": uri})
        message = {"level": "error", "data": "x"}
        program.send(call | {"method": "notifications/message", "params": message})
        program.send(call | {"method": "sampling/createMessage", "id": number, "params": {}})
        program.send(call | {"id": number + 10**6, "result": {}})
        if number % 100 == 0:
            tool, arguments = "self.audio_speaker.set_volume", {"volume": number // 10}
            await devices[OTHER_MAC].commands.call_tool(tool, arguments)
            assert other.values["volume"] == number // 10
    await asyncio.sleep(60)
    # As far as their number is borne.
    assert 1 <= len(program.answers) <= 300
    assert all("error" in answer for answer in program.answers)
