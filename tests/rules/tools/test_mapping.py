"""What the tools of the stock firmware become."""

from typing import Final

from homeassistant.const import EntityCategory, Platform
import pytest

from custom_components.xiaozhi.tools.catalogue import STATUS_TOOL
from custom_components.xiaozhi.tools.entity_descriptions import (
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
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.tool_names import word_set
from scripts.tool_table import PAGE, render, stock_tools
from tests.rules.tools.sample_tools import number, only, tool

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
                "dog.lift_left_front_leg",
                "dog.lift_left_rear_leg",
                "dog.lift_right_front_leg",
                "dog.lift_right_rear_leg",
                "dog.turn",
                "dog.walk",
                "edarobot.bend",
                "edarobot.hand_wave",
                "edarobot.hands_down",
                "edarobot.hands_up",
                "edarobot.jump",
                "edarobot.moonwalk",
                "edarobot.shake_leg",
                "edarobot.swing",
                "edarobot.turn_left",
                "edarobot.updown",
                "edarobot.walk_forward",
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
        "tool_self.disp.setbacklight": ["self.disp.setbacklight"],
        "tool_self.led_strip.set_brightness": [
            "self.led_strip.get_brightness",
            "self.led_strip.set_brightness",
        ],
    },
    Platform.SELECT: {
        "theme": ["self.screen.set_theme"],
        **{
            f"tool_self.{name}": [f"self.{name}"]
            for name in (
                "chassis.switch_light_mode",
                "electron.body_turn",
                "electron.hand_action",
                "electron.head_move",
                "otto.action",
            )
        },
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
            "dog.set_trim",
            "edarobot.set_trim",
            "electron.servo_move",
            "electron.servo_sequences",
            "electron.set_trim",
            "get_device_status",
            "get_system_info",
            "led_strip.blink",
            "led_strip.scroll",
            "led_strip.set_single_color",
            "model.param_set",
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


def entity(board: str, key: str) -> ToolEntity:
    return next(found for found in map_tools(BOARDS[board]) if found.key == key)


# Of version 0.1. Entities, automations and dashboards of owners depend on them.
KNOWN_KEYS: Final = word_set(
    "brightness light_self.lamp light_self.led_strip light_self.light reboot theme",
    "tool_self.AEC.set_mode tool_self.battery.get_level tool_self.camera.enable_ir_filter",
    "tool_self.camera.set_camera_flipped tool_self.chassis.dance tool_self.chassis.go_back",
    "tool_self.chassis.go_forward tool_self.chassis.switch_light_mode tool_self.chassis.turn_left",
    "tool_self.chassis.turn_right tool_self.disp.network tool_self.disp.setbacklight",
    "tool_self.dog.advanced_control tool_self.dog.basic_control tool_self.dog.get_status",
    "tool_self.dog.get_trims tool_self.dog.shake tool_self.dog.sit tool_self.dog.stand",
    "tool_self.dog.stop tool_self.dog.stretch tool_self.edarobot.get_status",
    "tool_self.edarobot.get_trims tool_self.edarobot.stop tool_self.electron.get_ip",
    "tool_self.electron.get_status tool_self.electron.get_trims tool_self.electron.home",
    "tool_self.electron.stop tool_self.led_strip.set_brightness tool_self.model.enable",
    "tool_self.model.param_get tool_self.otto.get_ip tool_self.otto.get_status",
    "tool_self.otto.get_trims tool_self.otto.stop tool_self.res.esp_restart",
    "tool_self.set_press_to_talk tool_self.system.reconfigure_wifi tool_self.system.set_aec",
    "tool_self.system.switch_TFT volume",
)


def test_the_entities_of_the_stock_firmware_keep_their_keys() -> None:
    made = {found.key for tools in BOARDS.values() for found in map_tools(tools) if found.platform}
    assert made >= KNOWN_KEYS


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
        # Unknown until it is chosen here.
        "self.chassis.switch_light_mode",
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
    assert isinstance(effect, SelectTool)
    assert effect.state is None
    # The schema also allows 1 and 2, which the device refuses.
    assert dict(zip(effect.choice.options, effect.choice.values or (), strict=True)) == {
        "blink": 3,
        "breathe_slowly": 4,
        "breathe_quickly": 5,
        "flow": 6,
    }


def test_otto_walks_and_electron_waves() -> None:
    otto = entity("otto-robot", "tool_self.otto.action")
    assert isinstance(otto, SelectTool)
    assert otto.choice.argument == "action"
    assert "walk" in otto.choice.options
    arm = entity("electron-bot", "tool_self.electron.hand_action")
    assert isinstance(arm, SelectTool)
    assert dict(zip(arm.choice.options, arm.choice.values or (), strict=True))["wave"] == 3
    assert otto.momentary
    assert arm.momentary


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


def test_the_page_of_all_tools_is_up_to_date() -> None:
    """`python -m scripts.tool_table` writes it."""
    assert PAGE.read_text() == render()
