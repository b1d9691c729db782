"""What is in the Activity of Home Assistant: which tools were called, and little enough else to read."""

import asyncio
from collections.abc import Generator
from functools import partial
from typing import Any

from homeassistant.components.logbook.helpers import async_subscribe_events
from homeassistant.core import CALLBACK_TYPE, Context, Event, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, llm
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.const import DOMAIN, EVENT_TOOL_CALL
from custom_components.xiaozhi.guests.mcp_extras.device_questions import EVENT_QUESTION
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import converse, get_profile
from tests.integration.boxes import Speech, act, activity, call_action, wait_for_state
from tests.integration.clock.alarms import has_rung, set_alarm
from tests.integration.names import BRIGHTNESS, COMMAND, Boot
from tests.integration.tools.own_tools import register, tool
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT


async def test_calls_of_people_and_of_the_assistant_are_shown_and_polls_are_not(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot, device_id: str
) -> None:
    """Who (the context), which tool, and whether it was done; never the arguments."""
    calls, lines = async_capture_events(hass, EVENT_TOOL_CALL), activity(hass, EVENT_TOOL_CALL)
    call = {"tool": "self.audio_speaker.set_volume", "arguments": {"volume": 30}}
    await boot()
    (device,) = linked_entry.runtime_data.devices.values()
    await until(lambda: call["tool"] in device.tools)
    assert calls == []
    context = Context()
    await call_action(hass, "call_tool", device_id, context, **call)
    with pytest.raises(HomeAssistantError):
        await call_action(hass, "call_tool", device_id, **call | {"arguments": {"secret": 1}})
    asked = llm.LLMContext(
        platform="test", context=context, language="en", assistant="conversation", device_id=device_id
    )
    api = await llm.async_get_api(hass, llm.LLM_API_ASSIST, asked)
    (name,) = [known.name for known in api.tools if known.name.endswith("set_volume")]
    await api.async_call_tool(llm.ToolInput(tool_name=name, tool_args=call["arguments"]))
    await hass.async_block_till_done()
    assert lines == [
        "was told to use the tool Volume",
        "was told by the assistant to use the tool Volume",
    ]
    assert [event.context for event in calls] == [context, context]
    assert {(event.data["device_id"], event.data["name"]) for event in calls} == {(device_id, "Kitchen box")}


async def test_questions_are_shown_without_their_words(hass: HomeAssistant) -> None:
    lines = activity(hass, EVENT_QUESTION)
    told = {
        ("ai", "answered"): "asked the AI, and got an answer",
        ("ai", "refused"): "asked the AI, and was refused",
        ("people", "declined"): "asked a question, which was declined",
        ("people", "cancelled"): "asked a question, which nobody answered",
    }
    for kind, outcome in told:
        hass.bus.async_fire(EVENT_QUESTION, {"name": "Kitchen box", "kind": kind, "outcome": outcome})
    await hass.async_block_till_done()
    assert lines == [*told.values()]


_JAMMED: Any = {"choices": {"level": [0]}, "error": "jammed"}
_LEVEL = {"level": {"type": "integer", "minimum": 0, "maximum": 8}}


async def test_a_call_by_an_entity_is_told_if_it_failed_or_changes_no_state(
    hass: HomeAssistant, speech: Speech, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    """Who (the context), which tool, and whether it was done. Home Assistant tells of changed states."""
    device = await boot(get_profile("otto"))
    await wait_for_state(hass, BRIGHTNESS, "75")
    calls, lines = async_capture_events(hass, EVENT_TOOL_CALL), activity(hass, EVENT_TOOL_CALL)
    context = Context()
    do = partial(act, hass, context=context)
    await do("number", "set_value", BRIGHTNESS, value=40)
    await wait_for_state(hass, BRIGHTNESS, "40")
    assert calls == []
    await do("media_player", "volume_set", "media_player.kitchen_box_speaker", volume_level=0.3)
    assert device.values["volume"] == 30
    assert lines == ["was told to use the tool Volume"]
    register(
        device,
        tool("self.desk_lamp.turn_on", set={"on": True}),
        tool("self.desk_lamp.turn_off", set={"on": False}),
        tool("self.desk_lamp.set_brightness", properties=_LEVEL, set={"bar": "$level"}),
    )
    await wait_for_state(hass, "light.kitchen_box_desk_lamp", "unknown")
    await do("light", "turn_on", "light.kitchen_box_desk_lamp")
    await wait_for_state(hass, "light.kitchen_box_desk_lamp", "on")
    assert len(calls) == 1
    await do("light", "turn_on", "light.kitchen_box_desk_lamp", brightness=128)
    assert [event.data["tool"] for event in calls[1:]] == ["Desk lamp set brightness"]
    lines.clear()
    # It works with 0 only.
    register(device, tool("self.jam.set_level", properties=_LEVEL, **_JAMMED))
    await wait_for_state(hass, "number.kitchen_box_jam_level", "unknown")
    for _ in range(2):
        with pytest.raises(HomeAssistantError, match="jammed"):
            await do("number", "set_value", "number.kitchen_box_jam_level", value=5)
    await hass.async_block_till_done()
    assert lines == ["was told to use the tool Jam set level, which failed"] * 2
    assert all(event.context is context for event in calls)


# Longer than anything that is done regularly.
_IDLE_SECONDS = 1800


@pytest.fixture
def entities(hass: HomeAssistant) -> Generator[list[str]]:
    """The lines that Home Assistant's logbook shows of the integration's entities, as they come."""
    seen: list[str] = []
    subscriptions: list[CALLBACK_TYPE] = []

    @callback
    def note(event: Event) -> None:
        entry = er.async_get(hass).async_get(event.data["entity_id"])
        if entry is not None and entry.platform == DOMAIN:
            seen.append(f"{entry.entity_id} {event.data['new_state'].state}")

    async_subscribe_events(hass, subscriptions, note, (), None, None, None)
    yield seen
    for unsubscribe in subscriptions:
        unsubscribe()


async def test_a_conversation_makes_four_lines_at_most_and_idleness_none(
    hass: HomeAssistant, speech: Speech, boot: Boot, entities: list[str]
) -> None:
    device = await boot()
    speech.recognizer.lines = [COMMAND, COMMAND]
    # The first one tells what the device has.
    await converse(device, speech.command)
    await wait_for_state(hass, BRIGHTNESS, "75")
    await hass.async_block_till_done()
    entities.clear()
    # Home Assistant takes the same wake word, two seconds later, for an echo.
    await converse(device, speech.command, word="hi again")
    await hass.async_block_till_done()
    states = ["listening", "processing", "responding", "idle"]
    assert entities == [f"assist_satellite.kitchen_box {state}" for state in states]
    entities.clear()
    for minute in range(_IDLE_SECONDS // 60):
        device.values["rssi"] = (-50, -66)[minute % 2]
        await asyncio.sleep(60)
    await hass.async_block_till_done()
    assert entities == []
    read = [event["name"] for event in device.events("tool")].count("self.get_device_status")
    assert read > _IDLE_SECONDS // 120


@pytest.mark.usefixtures("wall_clock")
async def test_a_ring_makes_a_few_lines_however_long_it_lasts(
    hass: HomeAssistant, boot: Boot, entities: list[str]
) -> None:
    """With old firmware, which shows the text of each round."""
    device = await boot()
    await wait_for_state(hass, BRIGHTNESS, "75")
    entities.clear()
    await set_alarm(hass, 10)
    await has_rung(device, 2)
    at_first = list(entities)
    await has_rung(device, 12, 300)
    assert entities == at_first
    assert "assist_satellite.kitchen_box responding" in at_first
    assert not [line for line in at_first if line.startswith("notify.")]
