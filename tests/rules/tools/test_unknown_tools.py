"""What tools that no table knows become: what their schemas say, and nothing guessed from words."""

from collections.abc import Callable, Sequence
import json
from typing import Any, Final

from homeassistant.const import EntityCategory
from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.tool import Tool, check_arguments
from custom_components.xiaozhi.tools.answer_values import MAX_MEMBERS, as_flag, as_number, member, members
from custom_components.xiaozhi.tools.arguments import enumerated_texts
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.tool_entities import (
    ActionTool,
    BinarySensorTool,
    ButtonTool,
    LightTool,
    NumberTool,
    Reading,
    SelectTool,
    SensorTool,
    SwitchTool,
    ToolEntity,
)
from custom_components.xiaozhi.tools.tool_names import Verb, parse_name, readable_name
from custom_components.xiaozhi.tools.tool_risks import risks_in_name
from custom_components.xiaozhi.tools.tool_state import MappedTools, prepare, shape_of
from custom_components.xiaozhi.tools.units import stated_unit
from custom_components.xiaozhi.util.text import clean_data
from tests.protocol.growth import assert_linear
from tests.protocol.test_growth import UNITS
from tests.rules.tools.sample_tools import DEVICES, listed, number, only, tool

# An answer of the aquarium.
WATER: Final = {"water_temp": 25.4, "ph": 7.1, "water_level": 82, "light": True}


@pytest.mark.parametrize(
    ("setter", "getter"), [("self.arm.set_speed", "self.arm.getSpeed"), ("设置亮度", "获取亮度")]
)
def test_getter_and_setter_are_one_number_however_they_are_spelt(setter: str, getter: str) -> None:
    (found,) = map_tools([tool(setter, speed=number()), tool(getter)])
    assert isinstance(found, NumberTool)
    assert found.state == Reading(tool=getter)


@pytest.mark.parametrize("on", ["turn_lamp_on", "lamp_on", "lamp.on", "openLamp"])
def test_a_lamp_with_its_brightness_however_they_are_spelt(on: str) -> None:
    off = "closeLamp" if on == "openLamp" else on.replace("on", "off")
    light, *more = map_tools([tool(on), tool(off), tool("set_lamp_brightness", value=number())])
    assert isinstance(light, LightTool)
    assert (light.name, light.brightness is not None, more) == ("Lamp", True, [])


def test_a_noun_is_read_and_with_a_value_set() -> None:
    sensor, speed = map_tools([tool("temperature"), tool("fan.speed", level=number())])
    assert isinstance(sensor, SensorTool)
    assert isinstance(speed, NumberTool)


def test_members_of_an_object_are_sensors_and_states_of_their_own() -> None:
    tools = [*DEVICES["aquarium"], tool("self.aquarium.set_water_level", level=number())]
    shapes = {"self.aquarium.get_status": members(WATER)}
    entities = {found.key: found for found in map_tools(tools, shapes)}
    level = entities["tool_self.aquarium.set_water_level"]
    assert isinstance(level, NumberTool)
    assert level.state == Reading(tool="self.aquarium.get_status", member="water_level")
    assert "tool_self.aquarium.get_status#water_level" not in entities
    # How the call went is no reading. With one member or with many, the key has its path.
    alone = map_tools([tool("self.room.get_data")], {"self.room.get_data": members({"ok": True, "co2": 600})})
    assert [sensor.key for sensor in alone] == ["tool_self.room.get_data#co2"]


def test_answers_of_a_device_make_its_sensors_and_keep_them() -> None:
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
    assert MappedTools.from_dict(stored) is known
    # Version 0.2 stored the answers only.
    del stored["shapes"]
    stored["answers"] = {name: {"water_temp": 26.0, "ph": 7}}
    assert MappedTools.from_dict(stored).entities.keys() == known.entities.keys()
    others = prepare(DEVICES["curtain"], known.shapes, {name: {"ph": 7}})
    assert not any("aquarium" in key for key in others.entities)


@pytest.mark.parametrize(
    ("name", "verb", "subject", "rest"),
    [
        ("pumpOn", Verb.ON, ("pump",), "pump"),
        ("打开水泵", Verb.ON, ("水泵",), "水泵"),
        ("开灯", Verb.ON, ("灯",), "灯"),
        ("开关灯", Verb.OTHER, ("开关灯",), "开关灯"),
        ("self.fan.turnOff", Verb.OFF, ("fan",), ""),
        ("self.door_lock_status", Verb.GET, ("door", "lock", "status"), "door_lock_status"),
        ("获取PM2.5", Verb.GET, ("pm", "2", "5"), "PM2_5"),
        ("水泵状态", Verb.GET, ("水泵",), "水泵"),
        ("speed_set", Verb.SET, ("speed",), "speed"),
        ("curtain_set_position", Verb.SET, ("curtain", "position"), "curtain_position"),
        ("self.disp.setbacklight", Verb.SET, ("disp", "backlight"), "backlight"),
        ("self.setup", Verb.OTHER, ("setup",), "setup"),
    ],
)
def test_a_name_is_a_verb_and_a_subject(name: str, verb: Verb, subject: tuple[str, ...], rest: str) -> None:
    parsed = parse_name(name)
    assert (parsed.verb, parsed.subject, parsed.rest) == (verb, subject, rest)


@pytest.mark.parametrize(
    ("description", "unit"),
    [
        ("Pressure in kPa", "kPa"),
        ("PM2.5 in ug/m3", "μg/m³"),
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
        ("设置" * 1000, None),
        ("'a'," * 1000, None),
        ("'" * 4000, None),
    ],
)
def test_an_enumeration_in_quotes_is_a_choice(text: str, texts: tuple[str, ...] | None) -> None:
    assert enumerated_texts(text) == texts


def test_only_some_readings_are_on_at_first() -> None:
    entities = map_tools([tool(f"self.room{index}.get_temperature") for index in range(40)])
    assert sum(entity.enabled for entity in entities) == 16
    (news,) = map_tools([tool("self.get_news")])
    assert not news.enabled
    assert news.category is EntityCategory.DIAGNOSTIC
    assert only(tool("self.air.get_tvoc", "TVOC in ppb")).enabled, "what has a unit changes"
    assert only(tool("self.air.get_humidity")).enabled, "its name says that it changes"


@pytest.mark.parametrize(
    ("tools", "kind", "name"),
    [
        ([tool("self.pump.turn_on"), tool("self.pump.turn_off")], SwitchTool, "Pump"),
        ([tool("pump.on"), tool("pump.off"), tool("pump.get_state")], SwitchTool, "Pump"),
        ([tool("self.turn_on"), tool("self.turn_off")], SwitchTool, "Turn on"),
        ([tool("self.car.turn_on_light"), tool("self.car.turn_off_light")], LightTool, "Car light"),
        ([tool("self.desk.lamp.on"), tool("self.desk.lamp.off")], LightTool, "Desk lamp"),
        ([tool("self.bar.set_color", r=number(0, 9), g=number(0, 9), b=number(0, 9))], LightTool, "Bar"),
        ([tool("self.fan.speed", speed=number(0, 5))], NumberTool, "Fan speed"),
        ([tool("self.fan.set_swing", on={"type": "boolean"})], SwitchTool, "Fan swing"),
        ([tool("self.ai.enable", on=number(0, 1, default=0))], SwitchTool, "Ai enable"),
        ([tool("self.eyes.set_style", "`a` or `b`.", style={"type": "string"})], SelectTool, "Eyes style"),
        ([tool("self.arm.wave", speed=number(1, 9, default=5))], ButtonTool, "Arm wave"),
        ([tool("self.room_is_dark")], BinarySensorTool, "Room dark"),
        ([tool("self.tank.has_water")], BinarySensorTool, "Tank water"),
        # To read a sensor every few minutes would ask a language model every few minutes.
        ([tool("self.eye.ask_what_is_seen")], ButtonTool, "Eye ask what is seen"),
        ([tool("self.eye.tell_me_who_it_is")], ButtonTool, "Eye tell me who it is"),
        # What only lists is read; what does something with a list is not.
        ([tool("ir.keys")], SensorTool, "IR keys"),
        ([tool("alarm.list")], SensorTool, "Alarm list"),
        ([tool("self.music.list_songs")], SensorTool, "Music songs"),
        ([tool("story_list")], SensorTool, "Story list"),
        ([tool("menu.show")], SensorTool, "Menu show"),
        ([tool("故事列表")], SensorTool, "故事列表"),
        ([tool("列出故事")], SensorTool, "故事"),
        ([tool("self.music.play_list")], ButtonTool, "Music play list"),
        ([tool("timer.clear_list")], ButtonTool, "Timer clear list"),
        ([tool("ir.send_keys")], ButtonTool, "IR send keys"),
        ([tool("self.light_show")], ButtonTool, "Light show"),
        ([tool("清空列表")], ButtonTool, "清空列表"),
        # The prefix of sketches for Arduino.
        ([tool("user.led_on"), tool("user.led_off")], LightTool, "LED"),
        ([tool("user.servo_set_angle", angle=number(0, 180))], NumberTool, "Servo angle"),
        ([tool("user.get_temperature")], SensorTool, "Temperature"),
        ([tool("self.user.greet")], ButtonTool, "User greet"),
        # Not enough is known to make more of these.
        ([tool("self.arm.move", x=number(), y=number())], ActionTool, "Arm move"),
        ([tool("self.fan.set_speed", speed={"type": "integer"})], ActionTool, "Fan set speed"),
        ([tool("self.say", "Say 'a' or 'b'; in 'c' or 'd'", text={"type": "string"})], ActionTool, "Say"),
        ([tool("self.note.set_text", "The `text`.", text={"type": "string"})], ActionTool, "Note set text"),
        ([tool("self.x.set_list", items={"type": "array"})], ActionTool, "X set list"),
    ],
)  # fmt: skip
def test_other_tools_are_treated_by_rules(tools: Sequence[Tool], kind: type[ToolEntity], name: str) -> None:
    entity = only(*tools)
    assert type(entity) is kind
    assert entity.name == name
    assert sorted(entity.tools) == sorted(tool.name for tool in tools)
    # As in version 0.1, so that the owner's entity stays.
    first = tools[0].name
    group = first.rpartition(".")[0]
    assert entity.key == (f"light_{group}" if group in {"self.desk.lamp", "self.bar"} else f"tool_{first}")


def test_two_tools_of_a_colour_are_two_things() -> None:
    channels = {"r": number(0, 255), "g": number(0, 255), "b": number(0, 255)}
    other, light = map_tools([tool("self.bar.set_first", **channels), tool("self.bar.set_all", **channels)])
    assert isinstance(light, LightTool)
    assert light.tools == ("self.bar.set_all",)
    assert isinstance(other, ActionTool)


def test_an_unknown_tool_with_a_risk_is_disabled() -> None:
    """`test_risk.py` has more of them."""
    risky, harmless = only(tool("self.wifi.reset")), only(tool("self.preset_next"))
    assert (risky.enabled, risky.category) == (False, EntityCategory.CONFIG)
    assert (harmless.enabled, harmless.category) == (True, None)


def test_words_of_different_tools_make_no_risk_together() -> None:
    names = ("self.pump.turn_on", "self.pump.turn_off", "self.pump.get_power")
    assert only(*map(tool, names)).enabled
    assert not only(tool("self.system.power_on"), tool("self.system.power_off")).enabled


def test_names_are_made_readable() -> None:
    assert readable_name("self.chassis.turn_left") == "Chassis turn left"
    assert readable_name("self.camera.camera_flip") == "Camera flip"
    assert readable_name("self.AEC.mode") == "AEC mode"
    assert readable_name("EnterWiFiConfig") == "Enter Wi-Fi config"
    assert readable_name("self.enterWiFiConfig") == "Enter Wi-Fi config"
    assert readable_name("self.wi_fi.forget") == "Wi-Fi forget"
    assert readable_name("self.wifi.wifi_scan") == "Wi-Fi scan"
    assert readable_name("self.RGBLight.turnOn2") == "RGB light turn on2"
    assert readable_name("self.air.co2_pm2_5_tvoc") == "Air CO₂ PM2.5 TVOC"
    assert readable_name("...") == "..."
    assert len(readable_name("very_" * 25)) <= 64


WORDS: Final = st.sampled_from(
    [
        *("self", "lamp", "led", "set", "get", "turn_on", "turn_off", "enable", "disable", "brightness"),
        *("rgb", "color", "reset", "is", "state", "power", "", "_", "on", "off", "fan", "灯", "A", "1"),
    ]
)
PROPERTIES: Final = st.dictionaries(
    st.sampled_from(["r", "g", "b", "red", "green", "blue", "level", "on", "mode"]),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["integer", "boolean", "string", "array"])},
        optional={
            "minimum": st.integers(-(2**40), 2**40),
            "maximum": st.integers(-(2**40), 2**40),
            "default": st.sampled_from([0, 1, True, "x"]),
        },
    ),
    max_size=4,
)
TOOLS: Final = st.lists(
    st.builds(
        lambda words, separator, properties, description, user_only: Tool.from_dict(
            {
                "name": separator.join(words) or "x",
                "description": description,
                "inputSchema": {
                    "type": "object",
                    "properties": properties,
                    "required": [key for key, rule in properties.items() if "default" not in rule],
                },
                "annotations": {"audience": ["user"]} if user_only else {},
            }
        ),
        st.lists(WORDS, max_size=5) | st.lists(st.text(max_size=10), max_size=3),
        st.sampled_from([".", "_", " "]),
        PROPERTIES,
        st.text(max_size=30) | st.sampled_from(["`a` or `b`", "'a', 'b' and 'c'", "a: x\nb: y"]),
        st.booleans(),
    ),
    max_size=12,
).map(lambda tools: list({tool.name: tool for tool in tools if tool is not None}.values()))


@given(TOOLS, st.randoms())
def test_invented_tools_are_mapped_once_each_and_always_the_same(tools: list[Tool], random: Any) -> None:
    entities = map_tools(tools)
    assert sorted(name for entity in entities for name in entity.tools) == sorted(tool.name for tool in tools)
    assert len({entity.key for entity in entities}) == len(entities)
    assert map_tools(tools) == entities
    shuffled = tools.copy()
    random.shuffle(shuffled)
    assert {entity.key for entity in map_tools(shuffled)} == {entity.key for entity in entities}
    for entity in entities:
        assert entity.name is None or 0 < len(entity.name) <= 64
        if isinstance(entity, SensorTool):
            # Home Assistant refuses a sensor that is configuration.
            is_shown = entity.measured and not entity.user_only
            assert entity.category is (None if is_shown else EntityCategory.DIAGNOSTIC)
        if isinstance(entity, NumberTool):
            assert -(2**31) <= entity.setter.minimum < entity.setter.maximum < 2**31


READERS: Final = (as_flag, as_number, enumerated_texts, parse_name, readable_name, risks_in_name, stated_unit)


@pytest.mark.parametrize("read", READERS)
def test_time_is_linear_in_the_size(read: Callable[[str], object]) -> None:
    # Of those whose results are remembered, the function itself.
    work = getattr(read, "__wrapped__", read)
    for unit in (*UNITS, "门", "get_", "'a',", "set 'a' or ", "aB", "unlock and "):
        assert_linear(work, lambda size, unit=unit: (unit * size)[:size])


def test_choices_of_the_schema_are_a_choice() -> None:
    mood = {"type": "string", "enum": ["happy", "sad"]}
    entity = only(tool("self.face.set_mood", mood=mood))
    assert isinstance(entity, SelectTool)
    assert entity.choice.options == ("happy", "sad")


@pytest.mark.parametrize(
    ("rule", "made"),
    [
        # Whatever the entity sends must pass our own check of arguments.
        ({"type": "boolean", "enum": [True]}, ActionTool),
        ({"type": "boolean", "enum": [True, False]}, SwitchTool),
        ({"type": "integer", "minimum": 0, "maximum": 1, "enum": [1]}, ActionTool),
        ({"type": "integer", "enum": [0, 1]}, SwitchTool),
        ({"type": "integer", "minimum": 0, "maximum": 100, "enum": [0, 50, 100]}, SelectTool),
        ({"type": "integer", "enum": [5]}, ActionTool),
        ({"type": "string", "enum": ["a"], "description": "'a' or 'b'"}, ActionTool),
        ({"type": ["string", "null"], "enum": ["a", "b", None]}, SelectTool),
        ({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, SwitchTool),
        ({"type": ["integer", "null"], "minimum": 0, "maximum": 9}, NumberTool),
        ({"$ref": "#/$defs/Mode"}, SelectTool),
        ({"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}], "default": None}, SelectTool),
        ({"$ref": "#/$defs/Level", "default": 3}, NumberTool),
        ({"type": "array", "items": {"$ref": "#/$defs/Mode"}}, ActionTool),
    ],
)
def test_an_entity_sends_only_what_the_schema_allows(rule: dict[str, Any], made: type[ToolEntity]) -> None:
    definitions = {
        "Mode": {"type": "string", "enum": ["eco", "boost"]},
        "Level": {"type": "integer", "minimum": 0, "maximum": 9},
    }
    schema = {"properties": {"mode": rule}, "required": ["mode"], "$defs": definitions}
    setter = listed("self.fan.set_mode", description="Set 'a' or 'b'", inputSchema=schema)
    entity = only(setter)
    assert type(entity) is made
    sent = (
        [entity.on.arguments, entity.off.arguments]
        if isinstance(entity, SwitchTool)
        else [entity.choice.call(option).arguments for option in entity.choice.options]
        if isinstance(entity, SelectTool)
        else []
    )
    assert all(check_arguments(setter, arguments) == arguments for arguments in sent)


@pytest.mark.parametrize(
    ("answer", "values"),
    [
        ({"pm2.5": 7}, {"pm2.5": 7}),
        ({"air": {"pm2.5": 7, "co2": 600}}, {"air.pm2.5": 7, "air.co2": 600}),
        ({"pm2.5": {"value.raw": 7}, "pm2": {"10": 8}}, {"pm2.5.value.raw": 7, "pm2.10": 8}),
        # Deeper ones are not shown.
        ({"a": {"b": {"c": 7}, "d": 8}}, {"a.d": 8}),
    ],
)
def test_a_name_with_a_dot_is_found_again(answer: Any, values: dict[str, Any]) -> None:
    assert {path: member(answer, path) for path, _ in members(answer)} == values


def test_what_is_answered_now_comes_before_what_was_answered_once() -> None:
    old, new = ({f"{kind}{number}": number for number in range(MAX_MEMBERS)} for kind in ("old", "new"))
    shape = shape_of(new, shape_of(old, ()))
    assert [path for path, _ in shape] == [*new]
    # One that is missing once stays, while there is room.
    assert shape_of({}, shape) == shape
    assert [path for path, _ in shape_of({"new1": 1, "more": 2}, shape)] == [*[*new][1:], "more"]


def test_a_member_without_a_name_is_left_out() -> None:
    answer = {"": 5, " ": 6, "a": {"": 7, "b": 8}, "\u200b": 9}
    assert [member.path for member in members(clean_data(answer))] == ["a.b"]
    assert readable_name("") == ""
