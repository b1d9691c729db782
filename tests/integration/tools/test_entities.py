"""Lights and other entities that the tools of a device make, and what tools give besides text."""

import base64
import re
import threading
from typing import Any

from homeassistant.const import EVENT_STATE_CHANGED, STATE_UNAVAILABLE, EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.setup import async_setup_component
from homeassistant.util import yaml
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.tools import tool_state
from simulator import SimulatedDevice, get_profile
from simulator.board.picture import jpeg
from simulator.board.tools import Image, Tool
from tests.integration.boxes import act, call_action, state_of, wait_for_state
from tests.integration.names import BRIGHTNESS, MAC, Boot
from tests.integration.tools.own_tools import STATUS_LIGHT, STRIP, calls, colour, register, tool
from tests.paths import ROOT
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

DOG_LIGHT = "light.kitchen_box_light"
CHANNEL = {"type": "integer", "minimum": 0, "maximum": 255}


def light(hass: HomeAssistant, entity_id: str) -> tuple[str, tuple[int, ...] | None, int | None]:
    """Return what is shown of a light: whether it is on, its colour, and how bright it is."""
    state = state_of(hass, entity_id)
    return state.state, state.attributes.get("rgb_color"), state.attributes.get("brightness")


async def test_a_light_of_other_firmware_takes_its_brightness_on_its_own_scale(
    hass: HomeAssistant, robot: SimulatedDevice
) -> None:
    level = {"type": "integer", "minimum": 0, "maximum": 8}
    parts = ("red", "green", "blue")
    register(
        robot,
        tool(
            "self.bar.set_color",
            properties=dict.fromkeys(parts, CHANNEL),
            set={f"led_{part}": f"${part}" for part in parts},
        ),
        tool("self.bar.set_brightness", properties={"level": level}, set={"bar": "$level"}),
        tool("self.bar.get_brightness", get="bar"),
    )
    bar = "light.kitchen_box_bar"
    await wait_for_state(hass, bar, "unknown")
    await act(hass, "light", "turn_on", bar, rgb_color=[255, 64, 0], brightness=191)
    assert colour(robot) == (255, 64, 0)
    assert robot.values["bar"] == 6
    assert [name for name in calls(robot) if "set" in name] == [
        "self.bar.set_brightness",
        "self.bar.set_color",
    ]
    await robot.wait_for(lambda: calls(robot)[-1] == "self.bar.get_brightness", 5)
    # One tool at a time: what is called next waits for that answer.
    await act(hass, "light", "turn_on", bar)
    assert colour(robot) == (255, 64, 0)
    assert light(hass, bar) == ("on", (255, 64, 0), 191)


ON, OFF = tool("lamp.turn_on", "Full brightness on some lamps."), tool("lamp.turn_off")
COLOUR = tool("lamp.set_color", properties=dict.fromkeys("rgb", CHANNEL))
DIM = tool("lamp.set_brightness", properties={"value": CHANNEL})
OTHER_NAMES = [
    *(tool("lamp.on"), tool("lamp.off")),
    tool("lamp.set_brightness", properties={"level": CHANNEL | {"maximum": 100}}),
]
RED = (255, 64, 0)


@pytest.mark.parametrize(
    ("tools", "steps"),
    [
        # It keeps its colour while it is off, and is switched on with it.
        (
            [ON, OFF, COLOUR],
            [
                ({"rgb_color": RED}, ["turn_on", "set_color 255 64 0"], ("on", RED, 255)),
                (None, ["turn_off"], ("off", None, None)),
                ({}, ["turn_on", "set_color 255 64 0"], ("on", RED, 255)),
            ],
        ),
        # A lit one is only dimmed, and a dark one is switched on before.
        (
            OTHER_NAMES,
            [
                ({"brightness": 102}, ["on", "set_brightness 40"], ("on", None, 102)),
                ({"brightness": 204}, ["set_brightness 80"], ("on", None, 204)),
                ({}, ["on"], ("on", None, 204)),
                ({"brightness": 51}, ["set_brightness 20"], ("on", None, 51)),
                # The least brightness is not 0, which would switch it off.
                ({"brightness": 1}, ["set_brightness 1"], ("on", None, 3)),
                (None, ["off"], ("off", None, None)),
                ({"brightness": 102}, ["on", "set_brightness 40"], ("on", None, 102)),
            ],
        ),
        (
            [ON, OFF, COLOUR, DIM],
            [
                (
                    {"rgb_color": RED, "brightness": 100},
                    ["turn_on", "set_brightness 100", "set_color 255 64 0"],
                    ("on", RED, 100),
                ),
                ({"brightness": 50}, ["set_brightness 50"], ("on", RED, 50)),
                ({"rgb_color": (1, 2, 3)}, ["set_color 1 2 3"], ("on", (1, 2, 3), 50)),
            ],
        ),
        # A tool for off alone is the off of a colour, and no button.
        (
            [COLOUR, OFF],
            [
                ({"rgb_color": RED}, ["set_color 255 64 0"], ("on", RED, 255)),
                (None, ["turn_off"], ("off", None, None)),
                ({}, ["set_color 255 64 0"], ("on", RED, 255)),
                (None, ["turn_off"], ("off", None, None)),
            ],
        ),
    ],
)
async def test_a_lamp_is_sent_only_what_changes(
    hass: HomeAssistant, robot: SimulatedDevice, tools: list[Tool], steps: list[tuple[Any, ...]]
) -> None:
    register(robot, *tools)
    lamp = "light.kitchen_box_lamp"
    await wait_for_state(hass, lamp, "unknown")
    for wanted, called, shown in steps:
        before = len(robot.events("tool"))
        await act(hass, "light", "turn_off" if wanted is None else "turn_on", lamp, **wanted or {})
        sent = [
            " ".join([data["name"].removeprefix("lamp."), *map(str, data["arguments"].values())])
            for data in robot.events("tool")[before:]
            if data["name"].startswith("lamp.")
        ]
        assert (sent, light(hass, lamp)) == (called, shown)
    assert hass.states.get("button.kitchen_box_lamp_turn_off") is None


async def test_a_strip_of_leds_has_its_colour_again_and_its_own_brightness(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry, entity_registry: er.EntityRegistry
) -> None:
    """Its colour also after a restart of Home Assistant; one that never had a colour is white."""
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, STRIP, "unknown")
    await act(hass, "light", "turn_on", STRIP)
    assert colour(device) == (255, 255, 255)
    await act(hass, "light", "turn_on", STRIP, rgb_color=[10, 20, 30])
    await act(hass, "light", "turn_off", STRIP)
    assert colour(device) == (0, 0, 0)
    assert hass.states.is_state(STRIP, "off")
    await act(hass, "light", "turn_on", STRIP)
    assert colour(device) == (10, 20, 30)
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await wait_for_state(hass, STRIP, "on", 30)
    assert light(hass, STRIP) == ("on", (85, 170, 255), 30)
    attributes = state_of(hass, STRIP).attributes
    assert (attributes["supported_color_modes"], attributes["assumed_state"]) == (["rgb"], True)
    await act(hass, "light", "turn_on", STRIP, rgb_color=[255, 64, 0], brightness=191)
    assert colour(device) == (191, 48, 0)
    assert light(hass, STRIP) == ("on", (255, 64, 0), 191)
    await act(hass, "light", "turn_on", STRIP, brightness=255)
    assert colour(device) == (255, 64, 0)
    # However dark, what is switched on is not off.
    await act(hass, "light", "turn_on", STRIP, rgb_color=[10, 0, 0], brightness=10)
    assert colour(device) == (1, 0, 0)
    assert hass.states.is_state(STRIP, "on")

    await wait_for_state(hass, STATUS_LIGHT, "4")
    # This board has neither screen nor battery.
    for missing in ("number.kitchen_box_brightness", "sensor.kitchen_box_battery"):
        assert hass.states.get(missing) is None
    assert entity_registry.entities[STATUS_LIGHT].entity_category is EntityCategory.CONFIG
    await act(hass, "number", "set_value", STATUS_LIGHT, value=7)
    assert device.values["led_brightness"] == 7
    await wait_for_state(hass, STATUS_LIGHT, "7")


async def test_a_colour_is_assumed_until_the_light_is_switched_on_without_it(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    device = await boot(get_profile("dog"))
    await wait_for_state(hass, DOG_LIGHT, "off")
    assert state_of(hass, DOG_LIGHT).attributes["assumed_state"] is True
    await act(hass, "light", "turn_on", DOG_LIGHT)
    assert calls(device)[-1] == "self.light.turn_on"
    await wait_for_state(hass, DOG_LIGHT, "on")
    # Half as bright: without a scale of its own it is in the colour.
    await act(hass, "light", "turn_on", DOG_LIGHT, rgb_color=[0, 0, 255], brightness=128)
    assert [device.values[f"light_{part}"] for part in "rgb"] == [0, 0, 128]
    assert light(hass, DOG_LIGHT) == ("on", (0, 0, 255), 128)
    await act(hass, "light", "turn_off", DOG_LIGHT)
    await wait_for_state(hass, DOG_LIGHT, "off")
    assert device.values["light"] is False
    await act(hass, "light", "turn_on", DOG_LIGHT)
    assert [device.values[f"light_{part}"] for part in "rgb"] == [0, 0, 128]
    # An assistant switches it on by name, and the device chooses the colour.
    await known.commands.call_tool("self.light.turn_on", {})
    assert light(hass, DOG_LIGHT)[1:] == (None, None)
    await act(hass, "light", "turn_off", DOG_LIGHT)
    await act(hass, "light", "turn_on", DOG_LIGHT)
    assert [device.values[f"light_{part}"] for part in "rgb"] == [255, 255, 255]


async def test_own_tools_are_sensors_and_buttons_until_they_change(
    hass: HomeAssistant, boot: Boot, entity_registry: er.EntityRegistry
) -> None:
    """The cover by the example of the documentation."""
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, "button.kitchen_box_restart", "unknown")
    device.values.update(co2="612 ppm", dust=7, degrees=21.5, alarm=False, someone=True)
    register(
        device,
        tool("self.curtain.open", set={"curtain": 100}),
        tool("self.curtain.close", set={"curtain": 0}),
        tool("self.air.get_co2", "CO2 in ppm", get="co2"),
        tool("self.air.get_temperature", "In °C", get="degrees"),
        tool("self.air.get_status", get={"pm2_5": "dust", "alarm": "alarm"}),
        tool("self.air.is_occupied", get="someone"),
    )
    await wait_for_state(hass, "button.kitchen_box_curtain_open", "unknown")
    assert hass.states.async_all("cover") == []
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/tools.md").read_text(), re.DOTALL)
    assert await async_setup_component(hass, "template", yaml.parse_yaml(example))
    await hass.async_block_till_done()
    for service, position, state in (("open_cover", 100, "open"), ("close_cover", 0, "closed")):
        await act(hass, "cover", service, "cover.curtain")
        assert device.values["curtain"] == position
        assert hass.states.is_state("cover.curtain", state)
    for sensor, value, unit in (
        ("sensor.kitchen_box_air_co2", "612.0", "ppm"),
        ("sensor.kitchen_box_air_temperature", "21.5", "°C"),
        ("sensor.kitchen_box_air_pm2_5", "7", None),
        ("binary_sensor.kitchen_box_air_alarm", "off", None),
        ("binary_sensor.kitchen_box_air_occupied", "on", None),
    ):
        await wait_for_state(hass, sensor, value)
        assert state_of(hass, sensor).attributes.get("unit_of_measurement") == unit
    # The object as a text is gone.
    assert entity_registry.async_get_entity_id("sensor", DOMAIN, f"{MAC}_tool_self.air.get_status") is None
    register(device, tool("self.pump.turn_on", set={"pump": True}))
    button = "button.kitchen_box_pump_turn_on"
    await wait_for_state(hass, button, "unknown")
    register(device, tool("self.pump.turn_off", set={"pump": False}))
    pump = "switch.kitchen_box_pump"
    await wait_for_state(hass, pump, "unknown")
    await hass.async_block_till_done()
    assert entity_registry.async_get(button) is None
    assert entity_registry.entities[pump].unique_id == f"{MAC}_tool_self.pump.turn_on"
    for state in ("on", "off"):
        await act(hass, "switch", f"turn_{state}", pump)
        assert device.values["pump"] is (state == "on")
        assert hass.states.is_state(pump, state)


async def test_a_sensor_that_its_owner_enabled_stays_so_when_it_is_read(
    hass: HomeAssistant, boot: Boot, entity_registry: er.EntityRegistry
) -> None:
    """Only then its answer is known, and it gets the key of the only member."""
    unique_id = f"{MAC}_tool_self.plant.get_note"
    known = entity_registry.async_get_or_create(
        "sensor", DOMAIN, unique_id, suggested_object_id="note", disabled_by=None
    )
    device = await boot(get_profile("led-strip"))
    device.values["note"] = "dry"
    register(device, tool("self.plant.get_note", get={"note": "note"}))
    await wait_for_state(hass, known.entity_id, "dry")
    assert entity_registry.entities[known.entity_id].unique_id == f"{unique_id}#note"


PICTURE = jpeg(32, 24)
IMAGE = {"type": "image", "data": base64.b64encode(PICTURE).decode(), "mimeType": "image/jpeg"}
RESOURCE_LINK = {
    "type": "resource_link",
    "uri": "file:///sd/log.txt",
    "name": "log.txt",
    "mimeType": "text/plain",
}
EMBEDDED = {
    "type": "resource",
    "resource": {"uri": "file:///sd/note.txt", "mimeType": "text/plain", "text": "Buy milk."},
}
TEXT = {"type": "text", "text": "Here it is."}
PLACE = {"room": "kitchen", "row": 3}


async def add(device: SimulatedDevice, known: Device, *tools: Tool) -> None:
    """Give a running device more tools, and wait until Home Assistant knows them."""
    register(device, *tools)
    await until(lambda: tools[-1].name in known.tools)


GIVEN: dict[str, tuple[dict[str, Any], Any]] = {
    "image_of_the_firmware": ({"result": Image(data=PICTURE, mime_type="image/jpeg")}, {"result": IMAGE}),
    "image_of_the_standard": ({"answer": {"content": [IMAGE]}}, {"result": IMAGE}),
    "image_beside_text": (
        {"answer": {"content": [TEXT, IMAGE]}},
        {"result": TEXT["text"], "content": [IMAGE]},
    ),
    "structured_without_items": ({"answer": {"content": [], "structuredContent": PLACE}}, {"result": PLACE}),
    "structured_alone": ({"answer": {"structuredContent": PLACE}}, {"result": PLACE}),
    "structured_beside_text": (
        {"answer": {"content": [TEXT], "structuredContent": PLACE}},
        {"result": TEXT["text"], "structured": PLACE},
    ),
    "link": ({"answer": {"content": [RESOURCE_LINK]}}, {"result": RESOURCE_LINK}),
    "embedded": ({"answer": {"content": [EMBEDDED]}}, {"result": EMBEDDED}),
    "two_items": ({"answer": {"content": [RESOURCE_LINK, EMBEDDED]}}, {"result": [RESOURCE_LINK, EMBEDDED]}),
}


async def test_what_is_no_text_is_data_and_the_event_loop_judges_no_tools(
    hass: HomeAssistant, boot: Boot, device_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = await boot()
    await wait_for_state(hass, BRIGHTNESS, "75")
    tools = [tool(f"self.find.{name}", "Find it.", **given) for name, (given, _) in GIVEN.items()]
    await add(device, boot.known, *tools)
    for name, (_, answer) in GIVEN.items():
        assert await call_action(hass, "call_tool", device_id, tool=f"self.find.{name}") == answer, name
    judged: dict[str, int] = {}
    map_tools = tool_state.map_tools

    def map_and_note(tools: Any, shapes: Any) -> Any:
        judged.update((tool.name, threading.get_ident()) for tool in tools)
        return map_tools(tools, shapes)

    monkeypatch.setattr(tool_state, "map_tools", map_and_note)
    await add(device, boot.known, tool("self.hostile.text", "open a b c d e f " * 60))
    assert judged["self.hostile.text"] != threading.get_ident()


async def test_a_sensor_stays_and_is_unknown_while_its_value_cannot_be_read(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    battery, charging = "sensor.kitchen_box_battery", "binary_sensor.kitchen_box_charging"
    device = await boot()
    await wait_for_state(hass, battery, "82")
    device.values["battery_level"] = None
    changes = async_capture_events(hass, EVENT_STATE_CHANGED)
    await wait_for_state(hass, battery, "unknown", 130)
    assert hass.states.is_state(charging, "unknown")
    shown = [change.data["new_state"] for change in changes]
    assert all(state is not None and state.state != STATE_UNAVAILABLE for state in shown)
    # After a restart of Home Assistant, too.
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    for entity_id in (battery, charging):
        await wait_for_state(hass, entity_id, "unknown", 30)
    device.values["battery_level"] = 81
    await wait_for_state(hass, battery, "81", 130)
