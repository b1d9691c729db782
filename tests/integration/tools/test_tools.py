"""Whatever a board's tools can do becomes an entity that does it, and that says no more than is known."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from functools import partial
import logging
import re

from freezegun.api import FrozenDateTimeFactory
from homeassistant.config_entries import RELOAD_AFTER_UPDATE_DELAY
from homeassistant.const import EVENT_STATE_CHANGED, EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.xiaozhi.device.bounds import NOTIFICATIONS
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.device.device_tools import DeviceTools
from custom_components.xiaozhi.guests.messages.voice_message import VoiceMessage
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.timeouts import McpTimeouts
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import SessionTimeouts
from custom_components.xiaozhi.tools.mapping import MAX_ENTITIES
from simulator import Misbehaviour, SimulatedDevice, get_profile
from simulator.board.tools import Tool
from tests.integration.boxes import act, call_action, state_of, wait_for_state
from tests.integration.names import MAC, VOLUME, Boot
from tests.integration.tools.own_tools import LAMP, STRIP, announce, calls, listed, register, tool
from tests.paths import ROOT
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

PAGE = ROOT / "docs/entities.md"


@pytest.mark.usefixtures("all_enabled")
async def test_a_board_is_believed_only_what_it_tells(hass: HomeAssistant, boot: Boot) -> None:
    profile = get_profile("lamp")
    folders = ("zhengchen/cam", "espressif/esp-sparkbot")
    device = await boot(replace(profile, board=replace(profile.board, also=folders)))
    echo, effect = "switch.kitchen_box_echo_cancellation", "select.kitchen_box_light_effect"
    await wait_for_state(hass, echo, "off")
    device.values["aec_mode"] = "kAecOnDeviceSide"
    await act(hass, "select", "select_option", effect, option="breathe_quickly")
    assert device.values["chassis_light_mode"] == 5
    await wait_for_state(hass, echo, "on")
    # What the device says of its effect, it always says.
    state = state_of(hass, effect)
    assert (state.state, state.attributes["assumed_state"]) == ("breathe_quickly", True)
    assert "self.chassis.get_light_mode" not in calls(device)
    await act(hass, "switch", "turn_off", echo)
    assert device.values["aec_mode"] == "kAecOff"
    await act(hass, "select", "select_option", effect, option="blink")
    await wait_for_state(hass, echo, "off")


async def test_what_is_done_without_home_assistant_is_read_every_few_minutes(
    hass: HomeAssistant, boot: Boot
) -> None:
    device = await boot(get_profile("lamp"))
    await wait_for_state(hass, LAMP, "off")
    await hass.async_block_till_done()
    device.values["lamp"] = True
    await asyncio.sleep(20 * SessionTimeouts.poll)
    await wait_for_state(hass, LAMP, "on")
    asked = [name for data in device.events("tool") if (name := data["name"])]
    assert asked.count("self.get_device_status") > 2 * asked.count("self.lamp.get_state")


async def test_a_robot_has_buttons_and_its_answers_are_optional_sensors(
    hass: HomeAssistant, boot: Boot, entity_registry: er.EntityRegistry
) -> None:
    device = await boot(get_profile("electron"))
    await wait_for_state(hass, "button.kitchen_box_rest_position", "unknown")
    await act(hass, "button", "press", "button.kitchen_box_rest_position")
    assert device.values["motion"] == "home"
    sensors = ("motion", "servo_offsets", "battery_of_the_robot", "ip_address")
    for sensor in sensors:
        entry = entity_registry.entities[f"sensor.kitchen_box_{sensor}"]
        assert entry.disabled_by is er.RegistryEntryDisabler.INTEGRATION
        assert entry.entity_category is EntityCategory.DIAGNOSTIC
        entity_registry.async_update_entity(entry.entity_id, disabled_by=None)
    assert "self.electron.get_trims" not in calls(device)
    device.values["trim_head"] = 7
    # After this time Home Assistant loads the entry again by itself.
    await asyncio.sleep(RELOAD_AFTER_UPDATE_DELAY + 1)
    await wait_for_state(hass, "sensor.kitchen_box_battery_of_the_robot", "82", 30)
    await wait_for_state(hass, "sensor.kitchen_box_motion", "idle")
    await wait_for_state(hass, "sensor.kitchen_box_ip_address", device.values["ip"])
    offsets = "right_pitch: 0, right_roll: 0, left_pitch: 0, left_roll: 0, body: 0, head: 7"
    await wait_for_state(hass, "sensor.kitchen_box_servo_offsets", offsets)
    assert state_of(hass, "sensor.kitchen_box_battery_of_the_robot").attributes["charging"] is False
    assert state_of(hass, "sensor.kitchen_box_servo_offsets").attributes["head"] == 7


def fan_setter(maximum: int, description: str = "") -> Tool:
    return tool(
        "self.fan.set_speed",
        description,
        properties={"speed": {"type": "integer", "minimum": 0, "maximum": maximum}},
        set={"fan": "$speed"},
    )


async def test_later_tools_are_there_at_once_and_entities_follow_their_changes(
    hass: HomeAssistant, robot: SimulatedDevice, entity_registry: er.EntityRegistry
) -> None:
    """Without a reload."""
    fan = "number.kitchen_box_fan_speed"
    tools = register(robot, fan_setter(10))
    await wait_for_state(hass, fan, "unknown")
    attributes = state_of(hass, fan).attributes
    assert (attributes["min"], attributes["max"], attributes["assumed_state"]) == (0, 10, True)
    assert "unit_of_measurement" not in attributes
    entity_registry.async_update_entity(fan, icon="mdi:fire")
    # A getter is read, and a unit is shown.
    robot.values["fan"] = 40
    getter = tool("self.fan.get_speed", get="fan")
    tools[-1:] = [fan_setter(100, "In percent"), getter]
    announce(robot)
    await wait_for_state(hass, fan, "40")
    attributes = state_of(hass, fan).attributes
    assert "assumed_state" not in attributes
    assert (attributes["max"], attributes["unit_of_measurement"]) == (100, "%")
    assert attributes["icon"] == "mdi:fire"
    await act(hass, "number", "set_value", fan, value=55)
    await wait_for_state(hass, fan, "55")
    gone = [*tools]
    del tools[-2:]
    announce(robot)
    await wait_for_state(hass, fan, "unavailable")
    # Home Assistant lets an owner delete what its integration no longer has.
    assert state_of(hass, fan).attributes["restored"] is True
    assert hass.states.is_state("button.kitchen_box_stop_moving", "unknown")
    # A listing that is not answered is repeated with the next poll.
    tools[:] = gone
    robot.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
    announce(robot)
    await asyncio.sleep(15)
    robot.misbehaviours.clear()
    await wait_for_state(hass, fan, "55", 60)
    tools.remove(getter)
    announce(robot)
    await until(lambda: (now := hass.states.get(fan)) is not None and "assumed_state" in now.attributes)
    read = calls(robot).count(getter.name)
    await act(hass, "number", "set_value", fan, value=60)
    assert hass.states.is_state(fan, "60")
    assert calls(robot).count(getter.name) == read


@pytest.mark.usefixtures("all_enabled")
async def test_without_a_status_tool_the_volume_is_read_from_its_own_getter(
    hass: HomeAssistant, boot: Boot
) -> None:
    """As with programs that are no stock firmware."""
    device = await boot(get_profile("otto"), misbehaviours=(Misbehaviour.NEVER_ANSWER_MCP,))
    tools = register(device)
    tools[:] = [tool for tool in tools if tool.name == "self.audio_speaker.set_volume"]
    register(device, tool("self.audio_speaker.get_volume", get="volume"))
    device.misbehaviours.clear()
    announce(device)
    # Its list comes after the rest of the handshake, whose first step the device has not answered.
    await wait_for_state(hass, VOLUME, "70", 2 * McpTimeouts.answer)
    await act(hass, "number", "set_value", VOLUME, value=35)
    assert device.values["volume"] == 35
    await wait_for_state(hass, VOLUME, "35")


async def test_the_last_change_of_the_tools_is_seen_after_any_number_of_them(
    hass: HomeAssistant, robot: SimulatedDevice, known: Device
) -> None:
    while known.bounds.take(NOTIFICATIONS):
        pass
    register(robot, tool("self.fan.stop"))
    await wait_for_state(hass, "button.kitchen_box_fan_stop", "unknown")

    before = listed(robot)
    for _ in range(15):
        announce(robot)
    # The device does one thing after the other: now all of these have arrived.
    await known.commands.call_tool("self.get_device_status")
    register(robot, tool("self.pump.stop"))
    await wait_for_state(hass, "button.kitchen_box_pump_stop", "unknown")
    assert 1 <= listed(robot) - before <= 2


async def test_an_unreachable_device_is_unavailable_and_a_command_says_so(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    # Otherwise there is no *Interrupt by speaking*, and no *Delete voice messages*.
    message = VoiceMessage(sender="Attic", sent=dt_util.utcnow())
    known.record.update(listens_while_speaking=True, messages={"one": message})
    # What comes with the first timer or alarm, at an owner who has had one.
    for platform, key in (
        ("sensor", "next_timer"),
        ("sensor", "next_alarm"),
        ("button", "snooze_alarm"),
        ("button", "stop_alarm"),
    ):
        er.async_get(hass).async_get_or_create(
            platform, "xiaozhi", f"{MAC}_{key}", suggested_object_id=f"kitchen_box_{key}"
        )
    known.record.notify("timers", "alarms")
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, STRIP, "unknown")
    await device.power_off()
    await wait_for_state(hass, STRIP, "unavailable")
    with pytest.raises(HomeAssistantError, match="is not connected"):
        await known.commands.change("self.led_strip.set_brightness", {"level": 1})
    there = {
        state.name.removeprefix("Kitchen box ")
        for state in hass.states.async_all()
        if state.name.startswith("Kitchen box ") and state.state != "unavailable"
    }
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith("| Not connected |")]
    promised = {name for name in re.findall(r"\*([^*]+)\*", row) if name != "unavailable"}
    disabled = {entry.original_name for entry in er.async_get(hass).entities.values() if entry.disabled}
    # These come with the first event.
    events = {"Alarm event", "Conversation", "Notification"}
    assert there == promised - disabled - events


def made_up(device: SimulatedDevice, generation: int, count: int) -> None:
    """Give the device another list of tools, whose names have never been seen."""
    device._on.mcp.tools[:] = [tool(f"self.gadget{generation}.do{number}") for number in range(count)]
    announce(device)


def of_tools(registry: er.EntityRegistry) -> set[str]:
    return {entry.unique_id for entry in registry.entities.values() if "_tool_" in entry.unique_id}


async def test_changing_tools_are_listed_ten_times_and_then_twice_a_minute(
    hass: HomeAssistant, robot: SimulatedDevice
) -> None:
    changes = async_capture_events(hass, EVENT_STATE_CHANGED)
    for second in range(60):
        made_up(robot, second % 2, 20)
        await asyncio.sleep(1)
    # Twenty entities go each time, and twenty come.
    assert len([change for change in changes if "gadget" in change.data["entity_id"]]) <= 40 * (10 + 2)
    # The last change is not missed.
    await until(lambda: hass.states.is_state("button.kitchen_box_gadget1_do19", "unknown"))


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_a_new_link_brings_no_new_lists_of_tools(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    """The tools of the last list stay, and the last change is seen."""
    device = await boot()
    for _ in range(20):
        await device.power_off()
        await device.boot()
        await known.commands.call_tool("self.get_device_status")
    assert 9 <= listed(device) <= 12
    register(device, tool("self.fan.stop"))
    await wait_for_state(hass, "button.kitchen_box_fan_stop", "unknown", 60)


async def test_tools_that_change_all_the_time_do_not_fill_the_registry(
    hass: HomeAssistant, boot: Boot, known: Device, entity_registry: er.EntityRegistry
) -> None:
    device = await boot(get_profile("otto"))
    stop = "button.kitchen_box_stop_moving"
    await wait_for_state(hass, stop, "unknown")
    stock = [*device._on.mcp.tools]
    own = of_tools(entity_registry)
    entity_registry.async_update_entity(stop, name="Stop that")
    for generation in range(1, 6):
        made_up(device, generation, 60)
        await until(partial(known.tools.__contains__, f"self.gadget{generation}.do0"))
        await hass.async_block_till_done()
    assert len(of_tools(entity_registry)) == 2 * MAX_ENTITIES
    # The bound holds over a restart.
    assert await hass.config_entries.async_reload(boot.entry.entry_id)
    await hass.async_block_till_done()
    assert len(of_tools(entity_registry)) == 2 * MAX_ENTITIES
    assert own <= of_tools(entity_registry)

    # An owner who deletes what is gone makes room.
    for entry in [*entity_registry.entities.values()]:
        if "gadget1." in entry.unique_id:
            entity_registry.async_remove(entry.entity_id)
    made_up(device, 6, 50)
    device._on.mcp.tools += stock
    announce(device)
    await wait_for_state(hass, stop, "unknown", 30)
    await until(lambda: f"{MAC}_tool_self.gadget6.do49" in of_tools(entity_registry))
    assert entity_registry.entities[stop].name == "Stop that"


async def test_what_is_gone_for_long_makes_room_and_refused_tools_are_logged(
    hass: HomeAssistant,
    robot: SimulatedDevice,
    known: Device,
    freezer: FrozenDateTimeFactory,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for generation in range(1, 4):
        made_up(robot, generation, 120)
        await until(partial(known.tools.__contains__, f"self.gadget{generation}.do0"))
        await hass.async_block_till_done()
    assert caplog.text.count("tools get no entity") == 1
    assert len(of_tools(er.async_get(hass))) == 2 * MAX_ENTITIES
    # One that comes back is not gone.
    freezer.tick(timedelta(days=20))
    made_up(robot, 2, 120)
    await until(partial(known.tools.__contains__, "self.gadget2.do0"))
    await hass.async_block_till_done()
    freezer.tick(timedelta(days=11))
    made_up(robot, 3, 120)
    await until(lambda: f"{MAC}_tool_self.gadget3.do119" in of_tools(er.async_get(hass)))
    await hass.async_block_till_done()
    kept = of_tools(er.async_get(hass))
    assert not any("gadget1" in key for key in kept)
    assert sum("gadget2" in key for key in kept) == 120


LEVEL = {"level": {"type": "integer", "minimum": 0, "maximum": 9}}
FLAG = {"on": {"type": "boolean"}}


@pytest.mark.parametrize(
    "answer",
    [
        {"content": [{"type": "text", "text": '{"success": false, "message": "not connected"}'}]},
        {"content": [], "structuredContent": {"error": "not connected"}},
    ],
)
async def test_a_failure_that_a_tool_answers_fails_and_changes_no_state(
    hass: HomeAssistant, robot: SimulatedDevice, known: Device, device_id: str, answer: dict[str, object]
) -> None:
    register(
        robot,
        tool("self.arm.wave", answer=answer),
        tool("self.arm.set_level", properties=LEVEL, answer=answer),
        tool("self.arm.set_power", properties=FLAG, answer=answer),
    )
    number, switch = "number.kitchen_box_arm_level", "switch.kitchen_box_arm_power"
    await wait_for_state(hass, switch, "unknown")
    for work in (
        act(hass, "button", "press", "button.kitchen_box_arm_wave"),
        act(hass, "number", "set_value", number, value=3),
        act(hass, "switch", "turn_on", switch),
    ):
        with pytest.raises(HomeAssistantError, match=r"refused .* not connected"):
            await work
    assert hass.states.is_state(number, "unknown")
    assert hass.states.is_state(switch, "unknown")
    given = await call_action(hass, "call_tool", device_id, tool="self.arm.wave")
    assert "not connected" in str(given["result"])
    assert not known.tools.last_call(["self.arm.set_level"])


async def test_an_answer_that_nobody_expects_ends_no_poll(
    hass: HomeAssistant,
    robot: SimulatedDevice,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    robot.values.update(temp="", humidity=40)
    register(
        robot,
        tool("get_temperature", "In °C", get={"": "temp"}),
        tool("self.room.get_humidity", "In %", get="humidity"),
    )
    humidity = "sensor.kitchen_box_room_humidity"
    await wait_for_state(hass, humidity, "40")
    # A fault of our own in one reading is logged once, and the others go on.
    take = DeviceTools.set_answer

    async def fail(self: DeviceTools, name: str, result: ToolResult) -> None:
        if name == "get_temperature":
            raise IndexError
        await take(self, name, result)

    monkeypatch.setattr(DeviceTools, "set_answer", fail)
    for value in (41, 42):
        robot.values["humidity"] = value
        await wait_for_state(hass, humidity, str(value), 20 * SessionTimeouts.poll)
    errors = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert errors == ["Unexpected error while a device was read"]


async def test_a_tool_that_is_left_out_is_named_once_in_the_log(
    hass: HomeAssistant, robot: SimulatedDevice, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("self.fan.stop", "self.pump.stop"):
        register(robot, tool("self.arm\nbend"), tool(name))
        await wait_for_state(hass, f"button.kitchen_box_{name[5:].replace('.', '_')}", "unknown")
    assert caplog.text.count("left out, because their entries are malformed or too large: self.arm bend") == 1
