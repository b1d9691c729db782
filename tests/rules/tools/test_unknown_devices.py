"""What devices that nobody knows become: what their tools' schemas say, and nothing guessed from words."""

import json
from typing import Any, Final

from homeassistant.const import EntityCategory, Platform
import pytest

from custom_components.xiaozhi.tools.answer_values import as_number, members
from custom_components.xiaozhi.tools.arguments import enumerated_texts
from custom_components.xiaozhi.tools.entity_descriptions import NumberTool, Reading, ToolEntity
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.tool_names import Action, parse
from custom_components.xiaozhi.tools.tool_state import ToolList, prepare
from custom_components.xiaozhi.tools.units import stated_unit
from tests.rules.tools.invented import ANSWERS, DEVICES
from tests.rules.tools.sample_tools import number, tool

TEXT: Final = {"type": "string"}

# Platform, name, device class and unit.
EXPECTED: Final = {
    "curtain": [
        "button Curtain open",
        "button Curtain close",
        "button Curtain stop",
        "number Curtain position",
    ],
    "aquarium": [
        "sensor Aquarium water temperature",
        "sensor Aquarium pH",
        "sensor Aquarium water level",
        "button Aquarium feed",
        "light Aquarium light",
        "button Aquarium pump start",
        "button Aquarium pump stop",
        "switch Aquarium heater",
    ],
    "air monitor": [
        "sensor Air CO₂ ppm",
        "sensor Air PM2.5 μg/m³",
        "sensor Air TVOC ppb",
        "sensor Air temperature temperature °C",
        "sensor Air humidity",
        "sensor Air pressure pressure Pa",
        "sensor Air light illuminance lx",
        "sensor Air noise level sound_pressure dB",
    ],
    "arm": [
        "button Arm open gripper",
        "button Arm close gripper",
        "button Arm home",
        "number Arm base angle",
        "button Arm wave",
        "binary_sensor Arm moving",
        "number Arm speed",
    ],
    "door lock": [
        "button Door lock",
        "button Door unlock",
        "binary_sensor Door locked",
        "binary_sensor Door open",
        "sensor Door battery %",
    ],
    "infrared": ["switch AC", "number AC temperature °C", "number AC fan speed", "button TV power toggle"],
    "printer": [
        "button Printer feed paper",
        "number Printer density",
        "sensor Printer state",
        "sensor Printer paper remaining",
        "sensor Printer head temperature",
        "binary_sensor Printer paper empty",
    ],
    "Chinese names": [
        "switch 窗帘",
        "switch 风扇",
        "number 风扇档位",
        "switch 水泵",
        "sensor 温度 temperature °C",
        "sensor 湿度",
        "sensor 土壤湿度 %",
        "sensor 光照强度 illuminance lx",
        "binary_sensor 有人",
        "number 亮度",
    ],
}
# What can do harm waits for its owner, and what may never change costs no readings.
OFF: Final = {"button Door lock", "button Door unlock"}


def entities_of(device: str) -> list[ToolEntity]:
    shapes = {name: members(answer) for name, answer in ANSWERS.get(device, {}).items()}
    return [entity for entity in map_tools(DEVICES[device], shapes) if entity.platform is not None]


def described(entity: ToolEntity) -> str:
    unit = getattr(entity, "unit", None)
    return " ".join(filter(None, (str(entity.platform), entity.name or "-", entity.device_class, unit)))


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_that_nobody_knows_has_entities_by_the_schemas_of_its_tools(device: str) -> None:
    entities = entities_of(device)
    assert [described(entity) for entity in entities] == EXPECTED[device]
    assert {described(entity) for entity in entities if not entity.enabled} == OFF & set(EXPECTED[device])
    assert len({entity.key for entity in entities}) == len(entities)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("self.chat.open", "self.chat.close"),
        ("self.mouth.open", "self.mouth.close"),
        ("self.garage.up", "self.garage.down"),
        ("self.pump.start", "self.pump.stop"),
    ],
)
def test_what_is_opened_locked_or_started_is_two_buttons(first: str, second: str) -> None:
    entities = map_tools([tool(first), tool(second)])
    assert [(entity.platform, entity.key) for entity in entities] == [
        (Platform.BUTTON, f"tool_{first}"),
        (Platform.BUTTON, f"tool_{second}"),
    ]


@pytest.mark.parametrize(
    ("device", "setter", "getter"),
    [("arm", "self.arm.set_speed", "self.arm.getSpeed"), ("Chinese names", "设置亮度", "获取亮度")],
)
def test_getter_and_setter_are_one_number_however_they_are_spelt(
    device: str, setter: str, getter: str
) -> None:
    (number,) = (found for found in entities_of(device) if found.key == f"tool_{setter}")
    assert isinstance(number, NumberTool)
    assert number.state == Reading(tool=getter)


def test_members_of_an_object_are_sensors_and_states_of_their_own() -> None:
    tools = [*DEVICES["aquarium"], tool("self.aquarium.set_water_level", level=number())]
    shapes = {"self.aquarium.get_status": members(ANSWERS["aquarium"]["self.aquarium.get_status"])}
    entities = {found.key: found for found in map_tools(tools, shapes)}
    level = entities["tool_self.aquarium.set_water_level"]
    assert isinstance(level, NumberTool)
    assert level.state == Reading(tool="self.aquarium.get_status", member="water_level")
    assert "tool_self.aquarium.get_status#water_level" not in entities
    # How the call went is no reading. With one member or with many, the key has its path.
    alone = map_tools([tool("self.room.get_data")], {"self.room.get_data": members({"ok": True, "co2": 600})})
    assert [sensor.key for sensor in alone] == ["tool_self.room.get_data#co2"]


def test_what_a_device_answers_makes_its_sensors_and_a_missing_member_takes_none_away() -> None:
    tools, name = tuple(DEVICES["aquarium"]), "self.aquarium.get_status"
    listed = prepare(tools, {}, {})
    assert "tool_self.aquarium.get_status" in listed.entities
    listed = prepare(tools, listed.shapes, {name: {"water_temp": "--", "ph": 7}})
    known = prepare(tools, listed.shapes, {name: {"water_temp": 25.5}})
    keys = {"tool_self.aquarium.get_status#water_temp", "tool_self.aquarium.get_status#ph"}
    assert keys <= known.entities.keys()
    assert prepare(tools, known.shapes, {name: {"water_temp": 26.0, "ph": 7}}) is known
    # The shapes are stored: whatever the last answer was, a restart makes the same entities.
    stored = json.loads(json.dumps({**known.as_dict(), "answers": {name: "busy"}}))
    assert ToolList.from_dict(stored) is known
    # Version 0.2 stored the answers only.
    del stored["shapes"]
    stored["answers"] = {name: {"water_temp": 26.0, "ph": 7}}
    assert ToolList.from_dict(stored).entities.keys() == known.entities.keys()
    others = prepare(DEVICES["curtain"], known.shapes, {name: {"ph": 7}})
    assert not any("aquarium" in key for key in others.entities)


@pytest.mark.parametrize(
    ("name", "action", "subject", "rest"),
    [
        ("self.pump.turn_on", Action.ON, ("pump",), ""),
        ("pumpOn", Action.ON, ("pump",), "pump"),
        ("打开水泵", Action.ON, ("水泵",), "水泵"),
        ("开灯", Action.ON, ("灯",), "灯"),
        ("开关灯", Action.OTHER, ("开关灯",), "开关灯"),
        ("关于", Action.OTHER, ("关于",), "关于"),
        ("self.fan_on", Action.ON, ("fan",), "fan"),
        ("self.fan.turnOff", Action.OFF, ("fan",), ""),
        ("self.door_lock_status", Action.GET, ("door", "lock", "status"), "door_lock_status"),
        ("获取PM2.5", Action.GET, ("pm", "2", "5"), "PM2_5"),
        ("水泵状态", Action.GET, ("水泵",), "水泵"),
        ("speed_set", Action.SET, ("speed",), "speed"),
        ("curtain_set_position", Action.SET, ("curtain", "position"), "curtain_position"),
        ("self.disp.setbacklight", Action.SET, ("disp", "backlight"), "backlight"),
        ("self.setup", Action.OTHER, ("setup",), "setup"),
        ("self.curtain.open", Action.OTHER, ("curtain", "open"), "open"),
        ("self.train.whistle", Action.OTHER, ("train", "whistle"), "whistle"),
    ],
)
def test_a_name_is_an_action_and_a_subject(
    name: str, action: Action, subject: tuple[str, ...], rest: str
) -> None:
    parsed = parse(name)
    assert (parsed.action, parsed.subject, parsed.rest) == (action, subject, rest)


@pytest.mark.parametrize(
    ("description", "unit"),
    [
        ("Pressure in kPa", "kPa"),
        ("degrees Fahrenheit", "°F"),
        ("当前温度，单位摄氏度", "°C"),
        ("光照强度，单位lux", "lx"),
        ("Move to an angle in degrees", "°"),
        ("0 to 100 %", "%"),
        ("Temperature in °C and humidity in %", None),
        ("The temperature", None),
        ("Ask pa and ma about mm and mA", None),
    ],
)
def test_a_unit_is_what_a_description_states(description: str, unit: str | None) -> None:
    assert stated_unit(description) == unit


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("mode: 'cool', 'heat' or 'dry'", ("cool", "heat", "dry")),
        ("模式：“制冷”、“制热”或“除湿”", ("制冷", "制热", "除湿")),
        ("mode, e.g. 'cool' or 'heat'", None),
        ("mode: 'cool', 'heat' etc.", None),
        ("'a' or 'b', and 'c' or 'd'", None),
        # Without quotes, it may be a type, a remark or the words of a sentence.
        ("mode: cool, heat, dry or auto", None),
        ("type: string, required", None),
        ("0: off, 1: low, 2: high", None),
        ("设置" * 1000, None),
        ("'a'," * 1000, None),
        ("'" * 4000, None),
    ],
)
def test_an_enumeration_in_quotes_is_a_choice(text: str, texts: tuple[str, ...] | None) -> None:
    assert enumerated_texts(text) == texts


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("25.3 °C", 25.3),
        ("Temperature: 25.3°C", 25.3),
        ("当前温度-3度", -3.0),
        ("sensor error 5", None),
        ("读取失败 3", None),
        ("1 of 2", None),
        ({"value": "42 %"}, 42.0),
    ],
)
def test_a_number_among_words_is_a_number(told: Any, value: float | None) -> None:
    assert as_number(told) == value


def test_only_some_readings_are_on_at_first() -> None:
    entities = map_tools([tool(f"self.room{index}.get_temperature") for index in range(40)])
    assert sum(entity.enabled for entity in entities) == 16
    (news,) = map_tools([tool("self.get_news")])
    assert not news.enabled
    assert news.category is EntityCategory.DIAGNOSTIC
