"""A device with stock firmware is asked for nothing that it does not have."""

import asyncio
from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from simulator import SimulatedDevice, State
from tests.integration.boxes import Boot, change_settings
from tests.protocol.transport.udp.device import until


async def talking(device: SimulatedDevice, entry: MockConfigEntry) -> Any:
    """Open a channel, over which a device on WebSocket can be reached; return the device of ours."""
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    (known,) = entry.runtime_data.devices.values()
    await until(lambda: known.conversation_state == "listening" and bool(known.tools))
    return known


@pytest.mark.parametrize("allowed", [False, True])
async def test_stock_firmware_is_sent_not_a_message_more(
    hass: HomeAssistant,
    speech: Any,
    linked_entry: MockConfigEntry,
    boot: Boot,
    device_id: str,
    monkeypatch: pytest.MonkeyPatch,
    allowed: bool,
) -> None:
    """Only what it has always been sent: a handshake, its list of tools, and calls."""
    change_settings(hass, linked_entry, ask_ai=allowed, ask_people=allowed)
    got: list[dict[str, Any]] = []
    device = await boot()
    handle = device._on.mcp.handle
    monkeypatch.setattr(device._on.mcp, "handle", lambda message: (got.append(message), handle(message)))
    known = await talking(device, linked_entry)
    call = asyncio.create_task(known.commands.call_tool("self.get_device_status"))
    await asyncio.sleep(0.01)
    call.cancel()
    await asyncio.sleep(600)
    methods = [message["method"] for message in got]
    assert set(methods) <= {"initialize", "notifications/initialized", "tools/list", "tools/call"}
    assert methods.count("initialize") <= 1
    for message in got:
        if message["method"] == "initialize":
            capabilities = message["params"]["capabilities"].keys() - {"vision"}
            assert capabilities == ({"sampling", "elicitation"} if allowed else set())
            assert message["params"]["protocolVersion"] == ("2025-11-25" if allowed else "2024-11-05")
    assert not known.state.extended
