"""Actions, triggers and conditions have a target, so that the editor of automations offers them."""

import asyncio
from typing import Any

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ServiceValidationError
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.helpers.condition import async_from_config, async_validate_condition_config
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events
from pytest_homeassistant_custom_component.typing import WebSocketGenerator
import voluptuous as vol
import yaml

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.guests.alarms.ring import TimerTimeouts
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import converse, get_profile
from tests.integration.boxes import Speech, alerts, mac_of, paired_boxes, wait_for_state
from tests.integration.clock.alarms import has_rung, set_alarm
from tests.integration.clock.conftest import Handle, handle
from tests.integration.names import COMMAND, Boot
from tests.paths import ROOT
from tests.protocol.transport.udp.device import until

__all__ = ["handle"]

LINK = LinkKind.MQTT

FIRST, SECOND = "number.box_1_brightness", "number.box_2_brightness"
CONNECTED = "binary_sensor.box_1_connectivity"
LIGHT = "input_boolean.kitchen_light"
ACTIONS = set(yaml.safe_load((ROOT / "custom_components/xiaozhi/services.yaml").read_text()))


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return paired_boxes(2)


async def call(hass: HomeAssistant, action: str, target: dict[str, Any], **data: Any) -> Any:
    return await hass.services.async_call(
        DOMAIN, action, data, target=target, blocking=True, return_response=action.startswith("get_")
    )


async def test_device_entity_area_and_label_are_targets_and_strangers_named(
    hass: HomeAssistant, boot: Boot, device_ids: list[str]
) -> None:
    first, second = await boot(get_profile("camera")), await boot(mac=mac_of(2))
    await wait_for_state(hass, FIRST, "75")
    await wait_for_state(hass, SECOND, "75")
    area = ar.async_get(hass).async_create("Kitchen")
    dr.async_get(hass).async_update_device(device_ids[0], area_id=area.id, labels={"voice"})
    # Bond, RFXtrx and others name their devices by three parts.
    stranger = dr.async_get(hass).async_get_or_create(
        config_entry_id=boot.entry.entry_id,
        identifiers={("bond", "hub", "1")},  # type: ignore[arg-type]
    )
    dr.async_get(hass).async_update_device(stranger.id, area_id=area.id)
    for face, target in (
        ("happy", {"device_id": device_ids[0]}),
        ("sad", {"device_id": [device_ids[0]]}),
        ("angry", {"entity_id": "assist_satellite.box_1"}),
        ("sleepy", {"entity_id": FIRST}),
        ("loving", {"area_id": area.id}),
        ("silly", {"label_id": "voice"}),
    ):
        await call(hass, "set_face", target, face=face)
        await first.wait_for(lambda face=face: first.screen.emotion == face, 3)
    assert second.screen.emotion == "neutral"
    await call(hass, "set_face", {"area_id": area.id, "device_id": device_ids}, face="cool")
    await second.wait_for(lambda: second.screen.emotion == "cool", 3)
    assert len([event for event in first.events("screen") if event.get("emotion") == "cool"]) == 1
    # A device belongs to the area of its entities, too.
    hall = ar.async_get(hass).async_create("Hall")
    er.async_get(hass).async_update_entity(SECOND, area_id=hall.id)
    await call(hass, "set_face", {"area_id": hall.id}, face="winking")
    await second.wait_for(lambda: second.screen.emotion == "winking", 3)
    assert first.screen.emotion == "cool"
    empty = ar.async_get(hass).async_create("Cellar")
    for target, error, said in (
        ({"area_id": empty.id}, "no_device_in_target", "Choose a device"),
        ({"area_id": "nowhere"}, "no_device_in_target", "Choose a device"),
        (
            {"entity_id": "input_boolean.kitchen_light"},
            "unknown_entity",
            "input_boolean.kitchen_light does not",
        ),
        ({"entity_id": "number.nothing"}, "unknown_entity", "number.nothing does not belong"),
        ({"device_id": "nobody"}, "unknown_device", "no XiaoZhi device with the id nobody"),
        ({"device_id": device_ids}, "one_device_at_a_time", "several: Box 1, Box 2"),
    ):
        with pytest.raises(ServiceValidationError, match=said) as problem:
            await call(hass, "get_tools", target)
        assert problem.value.translation_key == error
    with pytest.raises(vol.Invalid):
        await call(hass, "get_tools", {})
    answer = await call(hass, "get_tools", {"device_id": device_ids[0]})
    tools = {tool["tool"]: tool for tool in answer["tools"]}
    volume = tools["self.audio_speaker.set_volume"]
    assert volume["arguments"] == [
        {"name": "volume", "type": "integer", "required": True, "minimum": 0, "maximum": 100}
    ]
    assert volume["for_users_only"] is False
    assert tools["self.reboot"]["for_users_only"] is True
    assert "volume" in volume["description"].lower()


@pytest.mark.own_home
async def test_the_editor_offers_actions_triggers_and_conditions_for_devices(
    hass: HomeAssistant, device_ids: list[str], hass_ws_client: WebSocketGenerator
) -> None:
    assert await async_setup_component(hass, "websocket_api", {})
    client = await hass_ws_client(hass)

    async def offered(kind: str, target: dict[str, Any]) -> set[str]:
        await client.send_json_auto_id({"type": f"get_{kind}_for_target", "target": target})
        found = (await client.receive_json())["result"]
        return {name.removeprefix("xiaozhi.") for name in found if name.startswith("xiaozhi.")}

    assert {"ask", "call_tool", "get_tools", "show_text", "take_photo"} <= ACTIONS
    for kind, names in (
        ("services", ACTIONS),
        ("triggers", {*CONVERSATION, *CLOCK, *OTHER_TRIGGERS}),
        ("conditions", {"is_reachable", "is_not_reachable", "alarm_rings"}),
    ):
        assert await offered(kind, {"device_id": [device_ids[0]]}) == names
        assert await offered(kind, {"entity_id": ["assist_satellite.box_1"]}) == names
        assert await offered(kind, {"entity_id": [LIGHT]}) == set()


CLOCK = [f"alarm_{what}" for what in ("rings", "snoozed", "stopped", "unanswered")]
CLOCK += ["timer_finished", "notification"]
CONVERSATION = ["woken", "conversation_started", "answered", "conversation_ended"]
OTHER_TRIGGERS = ["conversation_failed", "interrupted", "reachable", "unreachable"]
OTHER_TRIGGERS += ["voice_message_sent", "voice_message_heard"]


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
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """Though the event entity, which tells the same, is disabled at first."""
    first, second = await boot(), await boot(mac=mac_of(2))
    area = ar.async_get(hass).async_create("Kitchen")
    dr.async_get(hass).async_update_device(boot.device_ids[0], area_id=area.id)
    seen = async_capture_events(hass, "seen")
    await automate(hass, {"area_id": area.id}, *CONVERSATION, "conversation_failed")
    speech.recognizer.lines = [COMMAND] * 2
    await converse(first, command)
    # Home Assistant takes a wake word that two devices hear at once for one.
    await asyncio.sleep(5)
    await converse(second, command)
    await hass.async_block_till_done()
    assert sorted(event.data["what"] for event in seen) == sorted(CONVERSATION)
    assert {event.data["device"] for event in seen} == {boot.device_ids[0]}
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.one"}, blocking=True)


@pytest.mark.own_home
@pytest.mark.timeouts(TimerTimeouts, alarm=60)
async def test_alarms_and_timers_of_the_target_trigger_also_by_their_names(
    hass: HomeAssistant, boot: Boot, wall_clock: object, handle: Handle
) -> None:
    device = await boot()
    seen = async_capture_events(hass, "seen")
    target = {"device_id": boot.device_ids[0]}
    rings = {"condition": "xiaozhi.alarm_rings", "target": target}
    triggers = [
        {"trigger": f"xiaozhi.{name}", "id": f"{name} {kind}", "target": target, **options}
        for name in CLOCK
        if name != "notification"
        for kind, options in (("any", {}), ("up", {"options": {"name": "up"}}))
    ]
    await automate(hass, {}, triggers=triggers)

    async def ringing() -> bool:
        checker = await async_from_config(hass, await async_validate_condition_config(hass, rings))
        return bool(checker.async_check())

    for alarm in ("Up", "Bread"):
        await set_alarm(hass, 5, alarm, at="calendar.box_1_alarms")
        assert not await ringing()
        await has_rung(device, len(alerts(device)) + 2)
        assert await ringing()
        await handle("XiaozhiSnoozeAlarm")
        assert not await ringing()
        await has_rung(device, len(alerts(device)) + 2, 600)
        await handle("XiaozhiStopAlarm")
        await asyncio.sleep(60)
    await set_alarm(hass, 5, "Up", at="calendar.box_1_alarms")
    await asyncio.sleep(120)
    await handle("HassStartTimer", seconds=5, name="Up")
    await handle("HassStartTimer", seconds=5)
    await asyncio.sleep(60)
    for_one = ["alarm_rings", "alarm_snoozed", "alarm_rings", "alarm_stopped"]
    unstopped = ["alarm_rings", "alarm_unanswered"]
    for kind, of_each in (("any", 2), ("up", 1)):
        steps = [event.data["what"].removesuffix(f" {kind}") for event in seen if kind in event.data["what"]]
        assert steps == for_one * of_each + unstopped + ["timer_finished"] * of_each
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.one"}, blocking=True)


@pytest.mark.own_home
async def test_a_notification_of_the_target_triggers_also_by_its_method(
    hass: HomeAssistant, boot: Boot, device_ids: list[str]
) -> None:
    first, second = await boot(), await boot(mac=mac_of(2))
    seen = async_capture_events(hass, "seen")
    method = "notifications/message"
    triggers = [
        {"trigger": "xiaozhi.notification", "id": name, "target": {"device_id": device_ids[0]}, **more}
        for name, more in (("any", {}), ("one", {"options": {"method": method}}))
    ]
    await automate(hass, {}, triggers=triggers)
    for box in (first, second):
        for kind in (method, "notifications/state_changed"):
            box.notify(kind, data=1)
    await until(lambda: len(seen) >= 3)
    await asyncio.sleep(5)
    assert [event.data["what"] for event in seen] == ["any", "one", "any"]
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.one"}, blocking=True)


@pytest.mark.own_home
async def test_a_device_that_can_be_reached_again_triggers_and_is_a_condition(
    hass: HomeAssistant, boot: Boot, device_ids: list[str]
) -> None:
    device = await boot()
    await wait_for_state(hass, CONNECTED, "on")
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
    await wait_for_state(hass, CONNECTED, "off")
    assert seen == []
    await device.boot()
    await wait_for_state(hass, CONNECTED, "on")
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
    await wait_for_state(hass, CONNECTED, "on")
    await hass.async_block_till_done()
    assert len(seen) == 1, "the other device can be reached now"
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.one"}, blocking=True)


@pytest.mark.own_home
async def test_a_device_away_for_a_minute_triggers_not_one_that_is_back(
    hass: HomeAssistant, boot: Boot, device_ids: list[str]
) -> None:
    device = await boot()
    await wait_for_state(hass, CONNECTED, "on")
    seen = async_capture_events(hass, "seen")
    await automate(hass, {"device_id": device_ids[0]}, "unreachable")
    await device.power_off()
    await wait_for_state(hass, CONNECTED, "off")
    await device.boot()
    await wait_for_state(hass, CONNECTED, "on")
    await asyncio.sleep(70)
    assert seen == []
    await device.power_off()
    await wait_for_state(hass, CONNECTED, "off")
    await asyncio.sleep(70)
    assert [event.data["what"] for event in seen] == ["unreachable"]
    await device.boot()
    await wait_for_state(hass, CONNECTED, "on")
    await device.power_off()
    await wait_for_state(hass, CONNECTED, "off")
    er.async_get(hass).async_remove("assist_satellite.box_1")
    await asyncio.sleep(70)
    assert len(seen) == 1
    await hass.services.async_call("automation", "turn_off", {"entity_id": "automation.one"}, blocking=True)
