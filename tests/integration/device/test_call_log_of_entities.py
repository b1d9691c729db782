"""What a person does with an entity is one line in the logbook: Home Assistant's own, or else one of ours."""

from typing import Any

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.const import EVENT_TOOL_CALL
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import get_profile
from simulator.board.tools import Tool as SimulatedTool
from tests.integration.boxes import Boot, Speech, wait_for_state
from tests.integration.device.test_call_log import lines
from tests.integration.tools.own_tools import announce, register

LINK = LinkKind.MQTT

_JAMMED: Any = {"choices": {"level": [0]}, "error": "jammed"}
_LEVEL = {"level": {"type": "integer", "minimum": 0, "maximum": 8}}


async def test_a_call_by_an_entity_is_told_if_it_failed_or_changes_only_an_attribute(
    hass: HomeAssistant, speech: Speech, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    """Who (the context), which tool, and whether it was done. Home Assistant tells of changed states."""
    device = await boot(get_profile("otto"))
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    calls = async_capture_events(hass, EVENT_TOOL_CALL)
    context = Context()

    async def act(domain: str, action: str, entity: str, **data: Any) -> None:
        data = {"entity_id": f"{domain}.kitchen_box{entity}", **data}
        await hass.services.async_call(domain, action, data, blocking=True, context=context)

    await act("number", "set_value", "_volume", value=40)
    await wait_for_state(hass, "number.kitchen_box_volume", "40")
    assert calls == []
    await act("media_player", "volume_set", "_speaker", volume_level=0.3)
    assert device.values["volume"] == 30
    assert lines(hass, calls) == ["was told to use the tool Volume"]
    register(
        device,
        SimulatedTool(name="self.desk_lamp.turn_on", description="", set={"on": True}),
        SimulatedTool(name="self.desk_lamp.turn_off", description="", set={"on": False}),
        SimulatedTool(
            name="self.desk_lamp.set_brightness", description="", properties=_LEVEL, set={"bar": "$level"}
        ),
    )
    announce(device)
    await wait_for_state(hass, "light.kitchen_box_desk_lamp", "unknown")
    await act("light", "turn_on", "_desk_lamp")
    await wait_for_state(hass, "light.kitchen_box_desk_lamp", "on")
    assert len(calls) == 1
    await act("light", "turn_on", "_desk_lamp", brightness=128)
    assert [event.data["tool"] for event in calls[1:]] == ["Desk lamp set brightness"]
    calls.clear()
    # It works with 0 only.
    register(device, SimulatedTool(name="self.jam.set_level", description="", properties=_LEVEL, **_JAMMED))
    announce(device)
    await wait_for_state(hass, "number.kitchen_box_jam_level", "unknown")
    for _ in range(2):
        with pytest.raises(HomeAssistantError, match="jammed"):
            await act("number", "set_value", "_jam_level", value=5)
    await hass.async_block_till_done()
    assert lines(hass, calls) == ["was told to use the tool Jam set level, which failed"] * 2
    assert all(event.context is context for event in calls)
