"""Resources, prompts and log messages of a device reach an action, events and the log of Home Assistant."""

import asyncio
from typing import Any

from homeassistant.core import Event, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.errors import InputError
from tests.integration.mcp_extras.conftest import BootFull
from tests.protocol.transport.udp.device import until

TEMPERATURE = "sensor://room/temperature"


@pytest.fixture
async def ready(hass: HomeAssistant, boot_full: BootFull, linked_entry: MockConfigEntry) -> Any:
    """The device, which has told what it offers."""
    await boot_full()
    (device,) = linked_entry.runtime_data.devices.values()
    await until(lambda: "count" in device.tools)
    return device


async def act(hass: HomeAssistant, device_id: str, action: str, **data: Any) -> Any:
    """Call an action of ours and return its answer."""
    return await hass.services.async_call(
        DOMAIN, action, {"device_id": device_id, **data}, blocking=True, return_response=True
    )


async def test_a_resource_is_read(hass: HomeAssistant, ready: Any, device_id: str, full: Any) -> None:
    """A text, a number, JSON, bytes, and one whose scheme is that of a file: nothing is opened."""
    answer = await act(hass, device_id, "read_resource")
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
        answer = await act(hass, device_id, "read_resource", uri=uri)
        assert answer["uri"] == uri
        (content,) = answer["contents"]
        values[name] = content["value"]
    assert values == {
        "number": 21.5,
        "json": {"co2": 600, "humidity": 40.5},
        "file": "root:x:0:0",
    }
    answer = await act(hass, device_id, "read_resource", uri="picture://door")
    assert answer["contents"][0]["mime_type"] == "image/png"
    assert answer["contents"][0]["data"].startswith("iVBOR")
    with pytest.raises(HomeAssistantError, match="Resource not found"):
        await act(hass, device_id, "read_resource", uri="nothing://")


async def test_a_prompt_is_got(hass: HomeAssistant, ready: Any, device_id: str) -> None:
    answer = await act(hass, device_id, "read_resource", prompt="greeting", arguments={"name": "Ann"})
    assert answer["messages"][0] == {"role": "user", "text": "Greet Ann on any day."}
    with pytest.raises(HomeAssistantError, match="no such prompt"):
        await act(hass, device_id, "read_resource", prompt="dance")
    with pytest.raises(ServiceValidationError, match="cannot be the name of a resource"):
        await act(hass, device_id, "read_resource", uri="a\nb")


async def test_an_update_of_a_followed_resource_is_an_event(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any
) -> None:
    events: list[Event[Any]] = async_capture_events(hass, "xiaozhi_notification")
    answer = await act(hass, device_id, "read_resource", uri=TEMPERATURE, follow=True)
    assert answer["contents"][0]["text"] == "21.5"
    assert await act(hass, device_id, "call_tool", tool="warm_up") == {"result": True}
    updates = [event.data for event in events if event.data["method"].endswith("resources/updated")]
    assert updates == [
        {
            "device_id": device_id,
            "method": "notifications/resources/updated",
            "params": {"uri": TEMPERATURE},
        }
    ]
    await act(hass, device_id, "read_resource", uri=TEMPERATURE, follow=False)
    assert full.subscribed == full.unsubscribed == [TEMPERATURE]
    for number in range(32):
        await act(hass, device_id, "read_resource", uri=f"sensor://room/air?{number}", follow=True)
    with pytest.raises(InputError) as raised:
        await act(hass, device_id, "read_resource", uri="sensor://room/air", follow=True)
    assert raised.value.translation_key == "too_many_followed"


async def test_a_resource_is_followed_again_after_the_next_handshake(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any
) -> None:
    """One that the device does not have any more is followed no more."""
    window = "sensor://room/window"
    for uri in (TEMPERATURE, window):
        await act(hass, device_id, "read_resource", uri=uri, follow=True)
    full.refused.add(window)
    for _ in range(2):
        ready.session.polls.start_again()
        await asyncio.sleep(60)
    assert full.subscribed == [TEMPERATURE, window, TEMPERATURE, window, TEMPERATURE]


async def test_progress_reaches_the_caller_and_keeps_the_call_alive(
    hass: HomeAssistant, ready: Any, device_id: str
) -> None:
    events: list[Event[Any]] = async_capture_events(hass, "xiaozhi_progress")
    answer = await act(hass, device_id, "call_tool", tool="count")
    assert answer == {"result": "counted"}
    assert [event.data for event in events] == [
        {"device_id": device_id, "tool": "count", "progress": done, "total": 3, "message": f"{done} of 3"}
        for done in (1, 2, 3)
    ]
