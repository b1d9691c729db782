"""A device that floods over MCP."""

import asyncio
import json
from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.boxes import paired_device
from tests.integration.names import CLIENT_ID, MAC, OTHER_MAC, Boot
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT


@pytest.fixture
def paired() -> tuple[Any, ...]:
    """Two devices, which may ask the AI."""
    boxes = paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Other box")
    return tuple({**box, "data": {**box["data"], "ask_ai": True}} for box in boxes)


async def test_a_device_that_floods_disturbs_no_other(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """Reports, questions and answers to nothing are bounded, and the other device answers meanwhile."""
    flooding = await boot()
    other = await boot(mac=OTHER_MAC)
    devices = linked_entry.runtime_data.devices
    await until(lambda: bool(devices[MAC].tools) and bool(devices[OTHER_MAC].tools))
    for number in range(300):
        for message in (
            {"method": "notifications/resources/updated", "params": {"uri": f"a:{number}"}},
            {"method": "notifications/message", "params": {"level": "error", "data": "x"}},
            {"method": "sampling/createMessage", "id": number, "params": {}},
            {"id": number + 10**6, "result": {}},
        ):
            flooding._on._queue_mcp_reply(json.dumps({"jsonrpc": "2.0", **message}))
        if number % 100 == 0:
            tool, arguments = "self.audio_speaker.set_volume", {"volume": number // 10}
            await devices[OTHER_MAC].commands.call_tool(tool, arguments)
            assert other.values["volume"] == number // 10
    await asyncio.sleep(60)
    sent = [
        event["message"]["payload"] for event in flooding.events("received") if "payload" in event["message"]
    ]
    answers = [payload for payload in sent if "method" not in payload]
    # As far as their number is borne.
    assert 1 <= len(answers) <= 300
    assert all("error" in answer for answer in answers)
