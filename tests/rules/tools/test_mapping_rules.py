"""What tools that no table knows become."""

from collections.abc import Sequence
from typing import Any, Final

from homeassistant.const import EntityCategory
from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.tools.entity_descriptions import (
    ActionTool,
    BinarySensorTool,
    ButtonTool,
    LightTool,
    NumberTool,
    SelectTool,
    SensorTool,
    SwitchTool,
    ToolEntity,
)
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.tool_names import readable
from tests.rules.tools.sample_tools import number, only, tool


@pytest.mark.parametrize(
    ("tools", "kind", "name"),
    [
        ([tool("self.pump.turn_on"), tool("self.pump.turn_off")], SwitchTool, "Pump"),
        ([tool("pump.on"), tool("pump.off"), tool("pump.get_state")], SwitchTool, "Pump"),
        ([tool("self.turn_on"), tool("self.turn_off")], SwitchTool, "Turn on"),
        ([tool("self.car.turn_on_light"), tool("self.car.turn_off_light")], LightTool, "Car light"),
        ([tool("self.desk.lamp.on"), tool("self.desk.lamp.off")], LightTool, "Desk lamp"),
        ([tool("self.bar.set_color", r=number(0, 9), g=number(0, 9), b=number(0, 9))], LightTool, "Bar"),
        ([tool("self.fan.set_speed", speed=number(0, 5))], NumberTool, "Fan speed"),
        ([tool("self.fan.speed", speed=number(0, 5))], NumberTool, "Fan speed"),
        ([tool("self.fan.set_swing", on={"type": "boolean"})], SwitchTool, "Fan swing"),
        ([tool("self.ai.enable", on=number(0, 1, default=0))], SwitchTool, "Ai enable"),
        ([tool("self.eyes.set_style", "`a` or `b`.", style={"type": "string"})], SelectTool, "Eyes style"),
        ([tool("self.rover.turn_left")], ButtonTool, "Rover turn left"),
        ([tool("self.arm.wave", speed=number(1, 9, default=5))], ButtonTool, "Arm wave"),
        ([tool("self.room.get_temperature")], SensorTool, "Room temperature"),
        ([tool("self.room.is_dark")], BinarySensorTool, "Room dark"),
        ([tool("self.room_is_dark")], BinarySensorTool, "Room dark"),
        ([tool("self.tank.has_water")], BinarySensorTool, "Tank water"),
        # To read a sensor every few minutes would ask a language model every few minutes.
        ([tool("self.eye.ask_what_is_seen")], ButtonTool, "Eye ask what is seen"),
        ([tool("self.eye.tell_me_who_it_is")], ButtonTool, "Eye tell me who it is"),
        # Not enough is known to make more of these.
        ([tool("self.arm.move", x=number(), y=number())], ActionTool, "Arm move"),
        ([tool("self.arm.lift", height=number())], ActionTool, "Arm lift"),
        ([tool("self.fan.set_speed", speed={"type": "integer"})], ActionTool, "Fan set speed"),
        ([tool("self.say", text={"type": "string"})], ActionTool, "Say"),
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
    names = ("self.kettle.turn_on", "self.kettle.turn_off", "self.kettle.get_power")
    assert only(*map(tool, names)).enabled
    assert not only(tool("self.system.power_on"), tool("self.system.power_off")).enabled


def test_names_are_made_readable() -> None:
    assert readable("self.chassis.turn_left") == "Chassis turn left"
    assert readable("self.camera.camera_flip") == "Camera flip"
    assert readable("self.AEC.mode") == "AEC mode"
    assert readable("EnterWiFiConfig") == "Enter Wi-Fi config"
    assert readable("self.enterWiFiConfig") == "Enter Wi-Fi config"
    assert readable("self.wi_fi.forget") == "Wi-Fi forget"
    assert readable("self.wifi.wifi_scan") == "Wi-Fi scan"
    assert readable("self.RGBLight.turnOn2") == "RGB light turn on2"
    assert readable("...") == "..."
    assert len(readable("very_" * 25)) <= 64


WORDS: Final = st.sampled_from(
    [
        "self",
        "lamp",
        "led",
        "set",
        "get",
        "turn_on",
        "turn_off",
        "enable",
        "disable",
        "brightness",
        "rgb",
        "color",
        *("reset", "is", "state", "power", "", "_", "on", "off", "fan", "灯", "A", "1"),
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


def test_choices_of_the_schema_are_a_choice() -> None:
    mood = {"type": "string", "enum": ["happy", "sad"]}
    entity = only(tool("self.face.set_mood", mood=mood))
    assert isinstance(entity, SelectTool)
    assert entity.choice.options == ("happy", "sad")
