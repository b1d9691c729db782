"""Resources, prompts and log messages of a device reach an action, events and the log, also in a flood."""

import asyncio
import json
from typing import Any

from homeassistant.core import Event, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.errors import InputError
from custom_components.xiaozhi.timeouts import SessionTimeouts
from simulator import State
from tests.integration.boxes import call_action, change_settings
from tests.integration.http_device import paired_device
from tests.integration.names import CLIENT_ID, MAC, OTHER_MAC, Boot
from tests.protocol.transport.udp.device import until

TEMPERATURE = "sensor://room/temperature"


async def test_resources_are_read_and_prompts_got(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any
) -> None:
    """A text, a number, JSON, bytes, and one whose scheme is that of a file: nothing is opened."""
    answer = await call_action(hass, "read_resource", device_id)
    assert [resource["name"] for resource in answer["resources"]] == [
        "temperature", "window", "air", "passwd", "door",
    ]  # fmt: skip
    assert [prompt["name"] for prompt in answer["prompts"]] == ["greeting"]
    values = {}
    for name, uri in (
        ("number", "sensor://room/temperature"),
        ("json", "sensor://room/air"),
        ("file", "file:///etc/passwd"),
    ):
        answer = await call_action(hass, "read_resource", device_id, uri=uri)
        assert answer["uri"] == uri
        (content,) = answer["contents"]
        values[name] = content["value"]
    assert values == {"number": 21.5, "json": {"co2": 600, "humidity": 40.5}, "file": "root:x:0:0"}
    answer = await call_action(hass, "read_resource", device_id, uri="picture://door")
    assert answer["contents"][0]["mime_type"] == "image/png"
    assert answer["contents"][0]["data"].startswith("iVBOR")
    with pytest.raises(HomeAssistantError, match="Resource not found"):
        await call_action(hass, "read_resource", device_id, uri="nothing://")
    answer = await call_action(hass, "read_resource", device_id, prompt="greeting", arguments={"name": "Ann"})
    assert answer["messages"][0] == {"role": "user", "text": "Greet Ann on any day."}
    with pytest.raises(HomeAssistantError, match="no such prompt"):
        await call_action(hass, "read_resource", device_id, prompt="dance")
    with pytest.raises(ServiceValidationError, match="cannot be the name of a resource"):
        await call_action(hass, "read_resource", device_id, uri="a\nb")


async def test_updates_and_progress_are_events_and_keep_a_call_alive(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any
) -> None:
    events: list[Event[Any]] = async_capture_events(hass, "xiaozhi_notification")
    answer = await call_action(hass, "read_resource", device_id, uri=TEMPERATURE, follow=True)
    assert answer["contents"][0]["text"] == "21.5"
    assert await call_action(hass, "call_tool", device_id, tool="warm_up") == {"result": True}
    updates = [event.data for event in events if event.data["method"].endswith("resources/updated")]
    assert updates == [
        {"device_id": device_id, "method": "notifications/resources/updated", "params": {"uri": TEMPERATURE}}
    ]
    await call_action(hass, "read_resource", device_id, uri=TEMPERATURE, follow=False)
    assert full.subscribed == full.unsubscribed == [TEMPERATURE]
    for number in range(32):
        await call_action(hass, "read_resource", device_id, uri=f"sensor://room/air?{number}", follow=True)
    with pytest.raises(InputError) as raised:
        await call_action(hass, "read_resource", device_id, uri="sensor://room/air", follow=True)
    assert raised.value.translation_key == "too_many_followed"
    progress: list[Event[Any]] = async_capture_events(hass, "xiaozhi_progress")
    answer = await call_action(hass, "call_tool", device_id, tool="count")
    assert answer == {"result": "counted"}
    assert [event.data for event in progress] == [
        {"device_id": device_id, "tool": "count", "progress": done, "total": 3, "message": f"{done} of 3"}
        for done in (1, 2, 3)
    ]
    progress.clear()
    assert await call_action(hass, "call_tool", device_id, tool="count_fast") == {"result": "counted"}
    assert 20 <= len(progress) < 50


async def test_a_resource_is_followed_again_after_the_next_handshake(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any, linked_entry: MockConfigEntry
) -> None:
    """Also by the next gateway. One that the device does not have any more is followed no more."""
    window = "sensor://room/window"
    for uri in (TEMPERATURE, window):
        await call_action(hass, "read_resource", device_id, uri=uri, follow=True)
    full.refused[window] = -32002
    for _ in range(2):
        ready.session.readings.start_again()
        await asyncio.sleep(60)
    assert full.subscribed == [TEMPERATURE, window, TEMPERATURE, window, TEMPERATURE]
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await asyncio.sleep(60)
    assert full.subscribed[5:] == [TEMPERATURE]


async def test_a_refused_subscription_is_repeated_with_a_later_poll(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any
) -> None:
    await call_action(hass, "read_resource", device_id, uri=TEMPERATURE, follow=True)
    full.refused[TEMPERATURE] = -32000
    ready.session.readings.start_again()
    await until(lambda: len(full.subscribed) >= 3, 10 * SessionTimeouts.poll)
    full.refused.clear()
    await asyncio.sleep(10 * SessionTimeouts.poll)
    asked = len(full.subscribed)
    await asyncio.sleep(10 * SessionTimeouts.poll)
    assert len(full.subscribed) == asked
    assert ready.state.followed == (TEMPERATURE,)


@pytest.mark.parametrize("allowed", [False, True])
async def test_stock_firmware_is_sent_not_a_message_more(
    hass: HomeAssistant, speech: Any, boot: Boot, monkeypatch: pytest.MonkeyPatch, allowed: bool
) -> None:
    """Only what it has always been sent: a handshake, its list of tools, and calls."""
    change_settings(hass, boot.entry, ask_ai=allowed, ask_people=allowed)
    got: list[dict[str, Any]] = []
    device = await boot()
    handle = device._on.mcp.handle
    monkeypatch.setattr(device._on.mcp, "handle", lambda message: (got.append(message), handle(message)))
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    (known,) = boot.entry.runtime_data.devices.values()
    await until(lambda: known.state.conversation == "listening" and bool(known.tools))
    await known.commands.call_tool("self.get_device_status")
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


# Two devices, which may ask the AI.
MAY_ASK = [paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Other box")]


@pytest.mark.parametrize(
    "paired", [[{**box, "data": {**box["data"], "ask_ai": True}} for box in MAY_ASK]], ids=["two"]
)
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
