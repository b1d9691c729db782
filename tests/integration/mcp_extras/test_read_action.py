"""Resources, prompts and log messages of a device reach an action, events and the log of Home Assistant."""

import asyncio
from typing import Any

from homeassistant.core import Event, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.errors import InputError
from custom_components.xiaozhi.mcp_extras.person_questions import OPEN_QUESTIONS, OpenQuestion
from custom_components.xiaozhi.mcp_extras.question_flow import QuestionFlow
from custom_components.xiaozhi.mcp_extras.question_form import parse_question_form
from simulator import State
from tests.integration.boxes import call_action, change_settings
from tests.integration.names import Boot
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


async def test_an_update_of_a_followed_resource_and_progress_are_events_and_keep_a_call_alive(
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


async def test_a_resource_is_followed_again_after_the_next_handshake(
    hass: HomeAssistant, ready: Any, device_id: str, full: Any, linked_entry: MockConfigEntry
) -> None:
    """Also by the next gateway. One that the device does not have any more is followed no more."""
    window = "sensor://room/window"
    for uri in (TEMPERATURE, window):
        await call_action(hass, "read_resource", device_id, uri=uri, follow=True)
    full.refused.add(window)
    for _ in range(2):
        ready.session.polls.start_again()
        await asyncio.sleep(60)
    assert full.subscribed == [TEMPERATURE, window, TEMPERATURE, window, TEMPERATURE]
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await asyncio.sleep(60)
    assert full.subscribed[5:] == [TEMPERATURE]


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
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    (known,) = linked_entry.runtime_data.devices.values()
    await until(lambda: known.conversation_state == "listening" and bool(known.tools))
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


@pytest.fixture
async def flow(hass: HomeAssistant) -> QuestionFlow:
    """The form of a question with a field of every kind."""
    assert await async_setup_component(hass, "repairs", {})
    properties = {
        "whole": {"type": "integer", "minimum": 1, "maximum": 9},
        "half": {"type": "number", "minimum": 0},
        "text": {"type": "string", "minLength": 2, "maxLength": 4, "title": "Same"},
        "mail": {"type": "string", "title": "Same", "description": "Where to"},
        "pick": {"type": "string", "enum": ["a", "b"], "default": "b"},
    }
    params = {"message": "Well?", "requestedSchema": {"type": "object", "properties": properties}}
    question = OpenQuestion(
        fields=parse_question_form(params)[1], placeholders={}, answer=hass.loop.create_future()
    )
    hass.data[OPEN_QUESTIONS] = {"issue": question}
    flow = QuestionFlow()
    flow.hass, flow.handler, flow.flow_id = hass, DOMAIN, "flow"
    flow.context = {"issue_id": "issue"}
    return flow


async def test_every_kind_of_field_is_asked_for_and_checked(hass: HomeAssistant, flow: QuestionFlow) -> None:
    form = await flow.async_step_answer()
    assert form["data_schema"] is not None
    keys = list(map(str, form["data_schema"].schema))
    placeholders = form["description_placeholders"]
    assert placeholders is not None
    assert [placeholders[key.replace("field", "label")] for key in keys] == [
        "whole (1–9)", "half (≥ 0)", "Same", "Same (mail)", "pick",
    ]  # fmt: skip
    whole, half, text, mail, pick = keys
    for given, errors in (
        ({whole: 1.5}, {whole: "not_whole"}),
        ({whole: 10, half: -0.5}, {whole: "out_of_range", half: "out_of_range"}),
        ({text: "x"}, {text: "too_short"}),
        ({text: "xxxxx"}, {text: "too_long"}),
    ):
        assert (await flow.async_step_answer(given))["errors"] == errors
    given = {whole: 2.0, half: 0.5, mail: "", pick: "a"}
    assert (await flow.async_step_answer(given))["type"] == "create_entry"
    question = hass.data[OPEN_QUESTIONS]["issue"]
    content = {"whole": 2, "half": 0.5, "pick": "a"}
    assert await question.answer == {"action": "accept", "content": content}
    question.resolve("decline")
    # And where the question is gone.
    hass.data[OPEN_QUESTIONS].clear()
    for step in (flow.async_step_init, flow.async_step_answer, flow.async_step_decline):
        assert (await step())["reason"] == "gone"
