"""Triggers and conditions for automations, which the editor offers for a device."""

import asyncio
from typing import Any

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
from pytest_homeassistant_custom_component.typing import WebSocketGenerator

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import converse
from tests.integration.boxes import COMMAND, Boot, Speech, mac_of, paired_boxes, wait_for_state

LINK = LinkKind.MQTT

CONVERSATION = ["woken", "conversation_started", "answered", "conversation_ended"]


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return paired_boxes(2)


async def automate(hass: HomeAssistant, target: dict[str, Any], *names: str, **more: Any) -> None:
    """Fire the event `seen` with each of these triggers."""
    triggers = [{"trigger": f"xiaozhi.{name}", "id": name, "target": target} for name in names]
    seen = {
        "event": "seen",
        "event_data": {"what": "{{ trigger.id }}", "device": "{{ trigger.device_id | default('') }}"},
    }
    config = {"id": "1", "alias": "One", "triggers": triggers, "actions": [seen], "mode": "parallel", **more}
    assert await async_setup_component(hass, "automation", {"automation": [config]})
    await hass.async_block_till_done()
    assert hass.states.is_state("automation.one", "on")


async def test_what_happens_in_conversations_of_the_target_triggers(
    hass: HomeAssistant, speech: Speech, boot: Boot, device_ids: list[str], command: bytes
) -> None:
    """Though the event entity, which tells the same, is disabled at first."""
    first, second = await boot(), await boot(mac=mac_of(2))
    area = ar.async_get(hass).async_create("Kitchen")
    dr.async_get(hass).async_update_device(device_ids[0], area_id=area.id)
    seen = async_capture_events(hass, "seen")
    await automate(hass, {"area_id": area.id}, *CONVERSATION, "conversation_failed")
    speech.recognizer.lines = [COMMAND] * 2
    await converse(first, command)
    # Home Assistant takes a wake word that two devices hear at once for one.
    await asyncio.sleep(5)
    await converse(second, command)
    await hass.async_block_till_done()
    assert sorted(event.data["what"] for event in seen) == sorted(CONVERSATION)
    assert {event.data["device"] for event in seen} == {device_ids[0]}
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.one"}, blocking=True)


@pytest.mark.own_home
async def test_a_device_that_can_be_reached_again_triggers_and_is_a_condition(
    hass: HomeAssistant, boot: Boot, device_ids: list[str]
) -> None:
    device = await boot()
    await wait_for_state(hass, "binary_sensor.box_1_connectivity", "on")
    seen = async_capture_events(hass, "seen")
    target = {"device_id": device_ids[0]}
    reachable = {"condition": "xiaozhi.is_reachable", "target": target, "options": {"behavior": "any"}}
    other = {
        "condition": "xiaozhi.is_not_reachable",
        "target": {"device_id": device_ids[1]},
        "options": {"behavior": "all"},
    }
    await automate(hass, target, "reachable", conditions=[reachable, other])
    await device.power_off()
    await wait_for_state(hass, "binary_sensor.box_1_connectivity", "off")
    assert seen == []
    await device.boot()
    await wait_for_state(hass, "binary_sensor.box_1_connectivity", "on")
    await hass.async_block_till_done()
    assert [event.data["what"] for event in seen] == ["reachable"]
    second = await boot(mac=mac_of(2))
    await wait_for_state(hass, "binary_sensor.box_2_connectivity", "on")
    for box in (device, second):
        await box.power_off()
    await hass.async_block_till_done()
    await second.boot()
    await device.boot()
    await wait_for_state(hass, "binary_sensor.box_2_connectivity", "on")
    await wait_for_state(hass, "binary_sensor.box_1_connectivity", "on")
    await hass.async_block_till_done()
    assert len(seen) == 1, "the other device can be reached now"
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.one"}, blocking=True)


@pytest.mark.own_home
async def test_the_editor_offers_them_for_a_device_and_not_for_others(
    hass: HomeAssistant,
    linked_entry: MockConfigEntry,
    device_ids: list[str],
    hass_ws_client: WebSocketGenerator,
) -> None:
    client = await hass_ws_client(hass)

    async def offered(kind: str, target: dict[str, Any]) -> set[str]:
        await client.send_json_auto_id({"type": f"get_{kind}_for_target", "target": target})
        found = (await client.receive_json())["result"]
        return {name for name in found if name.startswith("xiaozhi.")}

    assert await offered("triggers", {"device_id": [device_ids[0]]}) == {
        f"xiaozhi.{name}" for name in (*CONVERSATION, "conversation_failed", "reachable")
    }
    assert await offered("conditions", {"device_id": [device_ids[0]]}) == {
        "xiaozhi.is_reachable",
        "xiaozhi.is_not_reachable",
    }
    for kind in ("triggers", "conditions"):
        assert await offered(kind, {"entity_id": ["input_boolean.kitchen_light"]}) == set()
