"""What the tools of a device become."""

from collections.abc import Sequence
from typing import Any, Final

from homeassistant.const import EntityCategory, Platform
from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.client import Tool, ToolResult
from custom_components.xiaozhi.tools.catalogue import STATUS_TOOL
from custom_components.xiaozhi.tools.entities import (
    ActionTool,
    ButtonTool,
    Call,
    Colour,
    LightTool,
    NumberTool,
    Reading,
    SelectTool,
    SensorTool,
    Setter,
    SwitchTool,
    ToolEntity,
)
from custom_components.xiaozhi.tools.mapping import MAX_ENTITIES, map_tools
from custom_components.xiaozhi.tools.values import as_attributes, as_flag, as_number, as_text, parse_answer
from custom_components.xiaozhi.tools.words import readable
from scripts.tool_table import PAGE, render, stock_tools

BOARDS: Final = stock_tools()

# Key of the entity, whose part each tool is; for the others, why it is none.
EXPECTED: Final = {
    Platform.BUTTON: {
        "reboot": ["self.reboot"],
        **{
            f"tool_self.{name}": [f"self.{name}"]
            for name in (
                "camera.set_camera_flipped",
                "chassis.dance",
                "chassis.go_back",
                "chassis.go_forward",
                "chassis.turn_left",
                "chassis.turn_right",
                "disp.network",
                "dog.shake",
                "dog.sit",
                "dog.stand",
                "dog.stop",
                "dog.stretch",
                "edarobot.stop",
                "electron.home",
                "electron.stop",
                "otto.stop",
                "res.esp_restart",
                "system.reconfigure_wifi",
                "system.switch_TFT",
            )
        },
    },
    Platform.LIGHT: {
        "light_self.lamp": ["self.lamp.get_state", "self.lamp.turn_off", "self.lamp.turn_on"],
        "light_self.led_strip": ["self.led_strip.set_all_color"],
        "light_self.light": [
            "self.light.get_power",
            "self.light.set_rgb",
            "self.light.turn_off",
            "self.light.turn_on",
        ],
    },
    Platform.NUMBER: {
        "volume": ["self.audio_speaker.set_volume"],
        "brightness": ["self.screen.set_brightness"],
        "tool_self.chassis.switch_light_mode": ["self.chassis.switch_light_mode"],
        "tool_self.disp.setbacklight": ["self.disp.setbacklight"],
        "tool_self.led_strip.set_brightness": [
            "self.led_strip.get_brightness",
            "self.led_strip.set_brightness",
        ],
    },
    Platform.SELECT: {
        "theme": ["self.screen.set_theme"],
        "tool_self.dog.advanced_control": ["self.dog.advanced_control"],
        "tool_self.dog.basic_control": ["self.dog.basic_control"],
        "tool_self.set_press_to_talk": ["self.set_press_to_talk"],
    },
    Platform.SENSOR: {
        f"tool_self.{name}": [f"self.{name}"]
        for name in (
            "battery.get_level",
            "dog.get_status",
            "dog.get_trims",
            "edarobot.get_status",
            "edarobot.get_trims",
            "electron.get_ip",
            "electron.get_status",
            "electron.get_trims",
            "model.param_get",
            "otto.get_ip",
            "otto.get_status",
            "otto.get_trims",
        )
    },
    Platform.SWITCH: {
        "tool_self.AEC.set_mode": ["self.AEC.get_mode", "self.AEC.set_mode"],
        "tool_self.camera.enable_ir_filter": [
            "self.camera.disable_ir_filter",
            "self.camera.enable_ir_filter",
            "self.camera.get_ir_filter_state",
        ],
        "tool_self.model.enable": ["self.model.enable"],
        "tool_self.system.set_aec": ["self.system.set_aec"],
    },
    None: {
        f"tool_self.{name}": [f"self.{name}"]
        for name in (
            "assets.set_download_url",
            "camera.take_photo",
            "chassis.get_light_mode",
            "dog.lift_left_front_leg",
            "dog.lift_left_rear_leg",
            "dog.lift_right_front_leg",
            "dog.lift_right_rear_leg",
            "dog.set_trim",
            "dog.turn",
            "dog.walk",
            "edarobot.bend",
            "edarobot.hand_wave",
            "edarobot.hands_down",
            "edarobot.hands_up",
            "edarobot.jump",
            "edarobot.moonwalk",
            "edarobot.set_trim",
            "edarobot.shake_leg",
            "edarobot.swing",
            "edarobot.turn_left",
            "edarobot.updown",
            "edarobot.walk_forward",
            "electron.body_turn",
            "electron.hand_action",
            "electron.head_move",
            "electron.servo_move",
            "electron.servo_sequences",
            "electron.set_trim",
            "get_device_status",
            "get_system_info",
            "led_strip.blink",
            "led_strip.scroll",
            "led_strip.set_single_color",
            "model.param_set",
            "otto.action",
            "otto.servo_sequences",
            "otto.set_trim",
            "screen.get_info",
            "screen.preview_image",
            "screen.snapshot",
            "upgrade_firmware",
        )
    },
}
NAMES: Final = sorted({tool.name for tools in BOARDS.values() for tool in tools})


def tool(name: str, description: str = "", *, user_only: bool = False, **properties: Any) -> Tool:
    made = Tool.from_dict(
        {
            "name": name,
            "description": description,
            "inputSchema": {
                "type": "object",
                "properties": properties,
                "required": [key for key, rule in properties.items() if "default" not in rule],
            },
            "annotations": {"audience": ["user"]} if user_only else {},
        }
    )
    assert made is not None
    return made


def number(minimum: int = 0, maximum: int = 100, **rule: Any) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": maximum, **rule}


def only(*tools: Tool) -> ToolEntity:
    (entity,) = map_tools(tools)
    return entity


def entity(board: str, key: str) -> ToolEntity:
    return next(found for found in map_tools(BOARDS[board]) if found.key == key)


def test_the_stock_firmware_has_98_tools() -> None:
    assert len(NAMES) == 98
    mapped = [name for entities in EXPECTED.values() for names in entities.values() for name in names]
    assert sorted(mapped) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_tool_of_the_stock_firmware_becomes_what_it_should(name: str) -> None:
    found = {
        (entity.platform, entity.key, tuple(sorted(entity.tools)))
        for tools in BOARDS.values()
        for entity in map_tools(tools)
        if name in entity.tools
    }
    expected = {
        (platform, key, tuple(names))
        for platform, entities in EXPECTED.items()
        for key, names in entities.items()
        if name in names
    }
    assert found == expected


@pytest.mark.parametrize("board", BOARDS)
def test_a_board_has_every_tool_once_and_its_entities_have_keys_and_names_of_their_own(board: str) -> None:
    entities = map_tools(BOARDS[board])
    assert sorted(name for entity in entities for name in entity.tools) == sorted(
        tool.name for tool in BOARDS[board]
    )
    shown = [entity for entity in entities if entity.platform]
    assert len({entity.key for entity in entities}) == len(entities)
    labels = [
        (entity.platform, entity.name or entity.translation_key or entity.device_class) for entity in shown
    ]
    assert len(set(labels)) == len(labels)
    for entity in shown:
        assert entity.name or entity.translation_key or entity.device_class
        assert entity.user_only is any(tool.user_only for tool in BOARDS[board] if tool.name in entity.tools)
        if entity.user_only:
            assert entity.category is EntityCategory.CONFIG


def test_what_takes_a_device_away_is_there_only_when_its_owner_asks_for_it() -> None:
    hidden = {
        name
        for tools in BOARDS.values()
        for entity in map_tools(tools)
        if not entity.enabled and not isinstance(entity, SensorTool)
        for name in entity.tools
    }
    assert hidden == {
        "self.disp.network",
        "self.res.esp_restart",
        "self.system.reconfigure_wifi",
        "self.system.switch_TFT",
    }


def test_the_brightness_of_a_strips_status_colours_is_not_that_of_its_light() -> None:
    assert entity("kevin/c3", "light_self.led_strip") == LightTool(
        key="light_self.led_strip",
        tools=("self.led_strip.set_all_color",),
        translation_key="led_strip",
        colour=Colour(tool="self.led_strip.set_all_color", arguments=("red", "green", "blue"), maximum=255),
    )
    assert entity("kevin/c3", "tool_self.led_strip.set_brightness") == NumberTool(
        key="tool_self.led_strip.set_brightness",
        tools=("self.led_strip.set_brightness", "self.led_strip.get_brightness"),
        translation_key="status_light_brightness",
        category=EntityCategory.CONFIG,
        setter=Setter(tool="self.led_strip.set_brightness", argument="level", minimum=0, maximum=8),
        state=Reading(tool="self.led_strip.get_brightness"),
    )


def test_a_strip_of_other_firmware_is_a_light_with_colour_and_its_own_scale_of_brightness() -> None:
    channels = {"red": number(0, 255), "green": number(0, 255), "blue": number(0, 255)}
    tools = [
        tool("self.bar.set_color", **channels),
        tool("self.bar.set_brightness", level=number(0, 8)),
        tool("self.bar.get_brightness"),
    ]
    assert only(*tools) == LightTool(
        key="light_self.bar",
        tools=("self.bar.set_color", "self.bar.set_brightness", "self.bar.get_brightness"),
        name="Bar",
        colour=Colour(tool="self.bar.set_color", arguments=("red", "green", "blue"), maximum=255),
        brightness=Setter(tool="self.bar.set_brightness", argument="level", minimum=0, maximum=8),
        brightness_state=Reading(tool="self.bar.get_brightness"),
    )


def test_a_getter_that_does_not_tell_what_was_set_is_no_state() -> None:
    effect = entity("espressif/esp-sparkbot", "tool_self.chassis.switch_light_mode")
    assert isinstance(effect, NumberTool)
    assert effect.state is None
    assert (effect.setter.minimum, effect.setter.maximum) == (3, 6)


def test_a_lamp_is_a_light_that_tells_whether_it_is_on() -> None:
    assert entity("bread-compact-wifi", "light_self.lamp") == LightTool(
        key="light_self.lamp",
        tools=("self.lamp.turn_on", "self.lamp.turn_off", "self.lamp.get_state"),
        translation_key="lamp",
        on=Call(tool="self.lamp.turn_on"),
        off=Call(tool="self.lamp.turn_off"),
        state=Reading(tool="self.lamp.get_state"),
    )


def test_the_volume_is_a_number_that_the_status_tells() -> None:
    volume = entity("kevin/c3", "volume")
    assert isinstance(volume, NumberTool)
    assert volume.setter == Setter(
        tool="self.audio_speaker.set_volume", argument="volume", minimum=0, maximum=100
    )
    assert volume.state == Reading(tool=STATUS_TOOL, member="volume")
    assert volume.unit == "%"


def test_echo_cancellation_by_a_text_is_a_switch() -> None:
    aec = entity("zhengchen/cam", "tool_self.AEC.set_mode")
    assert isinstance(aec, SwitchTool)
    assert aec.off.arguments == {"mode": "kAecOff"}
    assert aec.state == Reading(tool="self.AEC.get_mode", member="message", on_off=("开启", "关闭"))


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("AEC对话打断模式处于关闭状态", False),
        ("AEC对话打断模式处于开启状态", True),
        ("AEC语音打断模式处于关闭状态", False),
        ("AEC语音打断模式处于开启状态", True),
        ("AEC on", None),
        ("开启或关闭", None),
        (True, True),
        (None, None),
    ],
)
def test_a_sentence_is_on_or_off_by_its_part(text: Any, flag: bool | None) -> None:
    assert as_flag(text, ("开启", "关闭")) is flag


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
        ([tool("self.chassis.turn_left")], ButtonTool, "Chassis turn left"),
        ([tool("self.arm.wave", speed=number(1, 9, default=5))], ButtonTool, "Arm wave"),
        ([tool("self.room.get_temperature")], SensorTool, "Room temperature"),
        ([tool("self.room.is_dark")], SensorTool, "Room dark"),
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


def test_a_getter_tells_what_its_setter_sets_and_is_no_sensor_then() -> None:
    fan = only(tool("self.fan.get_speed"), tool("self.fan.set_speed", speed=number(0, 5)))
    assert isinstance(fan, NumberTool)
    assert fan.state == Reading(tool="self.fan.get_speed")


def test_two_tools_of_a_colour_are_two_things() -> None:
    channels = {"r": number(0, 255), "g": number(0, 255), "b": number(0, 255)}
    light, other = map_tools([tool("self.bar.set_first", **channels), tool("self.bar.set_all", **channels)])
    assert isinstance(light, LightTool)
    assert light.tools == ("self.bar.set_all",)
    assert isinstance(other, ActionTool)


def test_one_half_of_a_pair_is_a_button() -> None:
    assert isinstance(only(tool("self.pump.turn_on")), ButtonTool)


@pytest.mark.parametrize(
    "name",
    [
        "self.wifi.reset",
        "self.factoryReset",
        "self.ota.start",
        "self.device.shutdown",
        "self.system.power_off",
        "self.power.off",
        "self.system.poweroff",
        "self.system.turn_off",
        "self.enterWiFiConfig",
        "self.system.enter_config_mode",
        "self.bluetooth.provision",
        "self.wi_fi.forget",
        "self.Wi_Fi.stop",
        "self.nvs.clear",
        "self.data.clear",
        "self.system.hibernate",
        "self.system.halt",
        "self.door.unlock",
        "self.esp32Reset",
        "self.OTAStart",
    ],
)
def test_an_unknown_tool_with_a_risk_is_disabled(name: str) -> None:
    entity = only(tool(name))
    assert isinstance(entity, ButtonTool)
    assert not entity.enabled
    assert entity.category is EntityCategory.CONFIG


@pytest.mark.parametrize(
    "name",
    [
        "self.arm.rotate",
        "self.preset_next",
        "self.flashlight_blink",
        "self.kiwi_fish",
        "self.led.off",
        "self.lamp.power_off",
        "self.screen.poweroff",
        "self.screen.clear",
        "self.servo.halt",
    ],
)
def test_one_that_only_contains_such_a_word_is_not(name: str) -> None:
    entity = only(tool(name))
    assert entity.enabled
    assert entity.category is None


@pytest.mark.parametrize("group", ["led", "light", "lamp", "screen", "servo", "pump"])
@pytest.mark.parametrize("verb", ["", "turn_", "power_"])
def test_what_switches_a_part_on_and_off_stays_enabled(group: str, verb: str) -> None:
    entity = only(
        *(tool(f"self.{group}.{name}") for name in (f"{verb}on", f"{verb}off")),
        tool(f"self.{group}.get_power"),
    )
    assert isinstance(entity, LightTool if group in {"led", "light", "lamp"} else SwitchTool)
    assert entity.enabled
    assert entity.category is None


def test_words_of_different_tools_make_no_risk_together() -> None:
    names = ("self.kettle.turn_on", "self.kettle.turn_off", "self.kettle.get_power")
    assert only(*map(tool, names)).enabled
    assert not only(tool("self.system.power_on"), tool("self.system.power_off")).enabled


def test_a_tool_for_the_user_is_configuration() -> None:
    entity = only(tool("self.beep", user_only=True))
    assert entity.user_only
    assert entity.category is EntityCategory.CONFIG


def test_a_device_with_a_thousand_tools_does_not_flood_home_assistant() -> None:
    entities = map_tools([tool(f"self.many.tool_{index}") for index in range(1000)])
    assert len(entities) == 1000
    assert sum(entity.platform is not None for entity in entities) == MAX_ENTITIES


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
            assert entity.category is EntityCategory.DIAGNOSTIC
        if isinstance(entity, NumberTool):
            assert -(2**31) <= entity.setter.minimum < entity.setter.maximum < 2**31


@pytest.mark.parametrize(
    ("text", "flag", "value", "state"),
    [
        ("true", True, None, "on"),
        ("false", False, None, "off"),
        ("null", None, None, "null"),
        ("7", None, 7, 7),
        ("1", True, 1, 1),
        ("2.5", None, 2.5, 2.5),
        ("moving", None, None, "moving"),
        ('{"power": true}', True, None, "on"),
        ('{"enable": 0}', False, 0, 0),
        ('{"level": 82, "charging": false}', None, 82, 82),
        ('{"success": true, "message": "AEC on"}', None, None, "AEC on"),
        ('{"a": 1, "b": [2]}', None, None, "a: 1, b: [2]"),
        ('["a", 1]', None, None, "a, 1"),
        ("{", None, None, "{"),
        ("NaN", None, None, "NaN"),
        ("", None, None, ""),
    ],
)
def test_answers_are_read_as_what_they_say(
    text: str, flag: bool | None, value: float | None, state: str | float
) -> None:
    answer = parse_answer(ToolResult(text=text))
    assert as_flag(answer) is flag
    assert as_number(answer) == value
    assert as_text(answer) == state


def test_a_tool_that_says_nothing_has_no_state() -> None:
    answer = parse_answer(ToolResult())
    assert (as_flag(answer), as_number(answer), as_text(answer), as_attributes(answer)) == (
        None,
        None,
        None,
        {},
    )


def test_a_huge_answer_is_cut() -> None:
    assert len(str(as_text(parse_answer(ToolResult(text="x" * 60000))))) == 255
    assert len(str(as_text(parse_answer(ToolResult(text=str(["on"] * 9000)))))) == 255
    assert len(str(as_text(parse_answer(ToolResult(text='{"a": "' + "x" * 2000 + '"}'))))) == 255


@given(
    st.text(max_size=50)
    | st.recursive(st.none() | st.booleans() | st.integers() | st.floats(), st.lists).map(str)
)
def test_no_answer_is_too_strange(text: str) -> None:
    answer = parse_answer(ToolResult(text=text))
    as_flag(answer)
    as_number(answer)
    as_attributes(answer)
    assert len(str(as_text(answer))) <= 255


def test_the_page_of_all_tools_is_up_to_date() -> None:
    """`python -m scripts.tool_table` writes it."""
    assert PAGE.read_text() == render()


@pytest.mark.parametrize(
    "description",
    [
        "Set the mood, e.g. 'happy' or 'sad'",
        "Set the mood, for example `happy`, `sad`",
        "Set the mood (such as 'happy' and 'sad')",
        "Set the mood: 'happy', 'sad', etc.",
        "Set the mood: 'happy', 'sad' and so on",
        "设置心情，例如“happy”、“sad”",
        "设置心情，“happy”、“sad”等",
    ],
)
def test_examples_are_no_choice(description: str) -> None:
    found = Tool.from_dict(
        {
            "name": "self.face.set_mood",
            "description": description,
            "inputSchema": {"properties": {"mood": {"type": "string"}}, "required": ["mood"]},
        }
    )
    assert found is not None
    assert isinstance(only(found), ActionTool)


def test_choices_of_the_schema_are_a_choice() -> None:
    mood = {"type": "string", "enum": ["happy", "sad"]}
    found = Tool.from_dict(
        {"name": "self.face.set_mood", "inputSchema": {"properties": {"mood": mood}, "required": ["mood"]}}
    )
    assert found is not None
    entity = only(found)
    assert isinstance(entity, SelectTool)
    assert entity.options == ("happy", "sad")
