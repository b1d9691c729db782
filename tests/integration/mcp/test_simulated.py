"""A simulated device whose own server offers everything, and a stock one, which is asked for nothing more."""

import asyncio
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State
from simulator.application.full_mcp import full_mcp
from tests.integration.boxes import Boot
from tests.integration.mcp.conftest import PEOPLE_HAVE_40_SECONDS
from tests.integration.pictures.eyes import open_eyes
from tests.protocol.transport.udp.device import until


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    """Everything is the same over both links."""
    kind: LinkKind = request.param
    return kind


@pytest.fixture
def paired(paired: Any) -> Any:
    """The owner allows everything."""
    return tuple({**box, "data": {**box["data"], "ask_ai": True, "ask_people": True}} for box in paired)


async def talking(device: SimulatedDevice, entry: MockConfigEntry) -> Any:
    """Open a channel, over which a device on WebSocket can be reached; return the device of ours."""
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    (known,) = entry.runtime_data.devices.values()
    await until(lambda: known.conversation_state == "listening" and bool(known.tools))
    return known


async def act(hass: HomeAssistant, device_id: str, action: str, **data: Any) -> Any:
    return await hass.services.async_call(
        DOMAIN, action, {"device_id": device_id, **data}, blocking=True, return_response=True
    )


@PEOPLE_HAVE_40_SECONDS
async def test_the_simulators_full_server_is_served_beside_its_own_tools(
    hass: HomeAssistant, speech: Any, linked_entry: MockConfigEntry, boot: Boot, device_id: str
) -> None:
    device = await boot(program=full_mcp())
    known = await talking(device, linked_entry)
    await until(lambda: bool(known.state.offers.prompts))
    assert {resource.shown for resource in known.state.offers.resources} == {
        "Room temperature", "Window open", "View",
    }  # fmt: skip
    # The tools of the firmware are there, too.
    await act(hass, device_id, "call_tool", tool="self.audio_speaker.set_volume", arguments={"volume": 33})
    assert device.values["volume"] == 33
    end = known.resources.follow("room://temperature")
    await until(lambda: "room://temperature" in known.resources.contents)
    assert await act(hass, device_id, "call_tool", tool="demo.warm_up") == {"result": True}
    await until(lambda: known.resources.contents["room://temperature"][0].text == "22.5")
    end()
    answer = await act(
        hass, device_id, "read_resource", uri="room://history/{day}", arguments={"day": "monday"}
    )
    assert answer["contents"][0]["text"] == "20 degrees"
    answer = await act(hass, device_id, "complete_argument", argument="day", prompt="weather", value="t")
    assert answer == {"values": ["thursday", "tuesday"]}
    answer = await act(hass, device_id, "get_prompt", prompt="weather", arguments={"day": "friday"})
    assert answer["messages"] == [{"role": "user", "text": "How was the weather on friday?"}]
    assert await act(hass, device_id, "call_tool", tool="demo.count") == {"result": "three"}
    answer = await act(hass, device_id, "call_tool", tool="demo.ask_ai")
    assert answer["result"].startswith("refused: Home Assistant has no language model")
    assert await act(hass, device_id, "call_tool", tool="demo.ask_person") == {"result": "cancel"}


async def test_the_simulators_tasks_and_its_questions_about_a_picture_are_served(
    hass: HomeAssistant,
    speech: Any,
    linked_entry: MockConfigEntry,
    boot: Boot,
    device_id: str,
    core: None,
) -> None:
    """A tool that can be a task is one from its second call on, and one that is cancelled ends there."""
    assert await async_setup_component(hass, "ai_task", {})
    eyes = await open_eyes(hass)
    eyes.sees = "A picture."
    device = await boot(program=full_mcp())
    known = await talking(device, linked_entry)
    await until(lambda: "demo.bake" in known.tools and known.state.capabilities.tasks)
    answer = await act(hass, device_id, "call_tool", tool="demo.ask_what_is_seen")
    assert answer == {"result": "A picture."}
    assert eyes.photos[0].startswith(b"\xff\xd8")
    events = async_capture_events(hass, "xiaozhi_progress")
    tasks = device._on.mcp.program._tasks
    for count in (0, 1):
        assert await act(hass, device_id, "call_tool", tool="demo.bake") == {"result": "baked"}
        assert len(tasks.list({})["tasks"]) == count
    assert [event.data["progress"] for event in events] == [1, 2, 3]
    call = asyncio.create_task(act(hass, device_id, "call_tool", tool="demo.dry"))
    await asyncio.sleep(1)
    call.cancel()
    await until(lambda: [task["status"] for task in tasks.list({})["tasks"]] == ["completed", "cancelled"])


async def test_a_cancelled_call_ends_on_the_device(
    hass: HomeAssistant, speech: Any, linked_entry: MockConfigEntry, boot: Boot, device_id: str
) -> None:
    device = await boot(program=full_mcp())
    known = await talking(device, linked_entry)
    await until(lambda: "demo.count" in known.tools)
    running = device._on.mcp.program._running
    call = asyncio.create_task(act(hass, device_id, "call_tool", tool="demo.count"))
    await until(lambda: bool(running))
    call.cancel()
    await until(lambda: not running)


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
    (subentry,) = linked_entry.subentries.values()
    data = {**subentry.data, "ask_ai": allowed, "ask_people": allowed}
    hass.config_entries.async_update_subentry(linked_entry, subentry, data=data)
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
    assert not known.state.capabilities.extended
