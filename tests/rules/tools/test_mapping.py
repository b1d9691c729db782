"""What the tools of the stock firmware become."""

from typing import Final

from homeassistant.const import EntityCategory
import pytest

from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.stock_tools import CATALOGUE, stock_tool
from custom_components.xiaozhi.tools.tool_entities import (
    Call,
    Colour,
    LightTool,
    NumberTool,
    Reading,
    SelectTool,
    SensorTool,
    Setter,
    ToolEntity,
)
from custom_components.xiaozhi.tools.tool_names import word_set
from scripts.tool_table import PAGE, render, stock_tools

BOARDS: Final = stock_tools()


def entity(board: str, key: str) -> ToolEntity:
    return next(found for found in map_tools(BOARDS[board]) if found.key == key)


# Entities, automations and dashboards of owners depend on them.
KNOWN_KEYS: Final = word_set(
    "brightness light_self.lamp light_self.led_strip light_self.light reboot theme",
    "tool_self.AEC.set_mode tool_self.battery.get_level tool_self.camera.enable_ir_filter",
    "tool_self.camera.set_camera_flipped tool_self.chassis.dance tool_self.chassis.go_back",
    "tool_self.chassis.go_forward tool_self.chassis.switch_light_mode tool_self.chassis.turn_left",
    "tool_self.chassis.turn_right tool_self.disp.network tool_self.disp.setbacklight",
    "tool_self.dog.advanced_control tool_self.dog.basic_control tool_self.dog.get_status",
    "tool_self.dog.get_trims tool_self.dog.lift_left_front_leg tool_self.dog.lift_left_rear_leg",
    "tool_self.dog.lift_right_front_leg tool_self.dog.lift_right_rear_leg tool_self.dog.shake",
    "tool_self.dog.sit tool_self.dog.stand tool_self.dog.stop tool_self.dog.stretch tool_self.dog.turn",
    "tool_self.dog.walk tool_self.edarobot.bend tool_self.edarobot.get_status",
    "tool_self.edarobot.get_trims tool_self.edarobot.hand_wave tool_self.edarobot.hands_down",
    "tool_self.edarobot.hands_up tool_self.edarobot.jump tool_self.edarobot.moonwalk",
    "tool_self.edarobot.shake_leg tool_self.edarobot.stop tool_self.edarobot.swing",
    "tool_self.edarobot.turn_left tool_self.edarobot.updown tool_self.edarobot.walk_forward",
    "tool_self.electron.body_turn tool_self.electron.get_ip tool_self.electron.get_status",
    "tool_self.electron.get_trims tool_self.electron.hand_action tool_self.electron.head_move",
    "tool_self.electron.home tool_self.electron.stop tool_self.led_strip.set_brightness",
    "tool_self.model.enable tool_self.model.param_get tool_self.otto.action tool_self.otto.get_ip",
    "tool_self.otto.get_status tool_self.otto.get_trims tool_self.otto.stop tool_self.res.esp_restart",
    "tool_self.set_press_to_talk tool_self.system.reconfigure_wifi tool_self.system.set_aec",
    "tool_self.system.switch_TFT volume",
)


def test_the_entities_of_the_stock_firmware_keep_their_keys() -> None:
    made = {found.key for tools in BOARDS.values() for found in map_tools(tools) if found.platform}
    assert made == KNOWN_KEYS


def test_the_catalogue_is_about_the_98_tools_of_the_stock_firmware() -> None:
    stock = {tool.name for tools in BOARDS.values() for tool in tools}
    assert len(stock) == 98
    assert CATALOGUE.keys() <= stock
    assert {tool.state.tool for tool in CATALOGUE.values() if tool.state is not None} <= stock
    assert stock_tool("self.plant.water") == stock_tool("self.garden.water")


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
        assert entity.translation_key or entity.device_class, "it has no name in all languages"
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
        # The media player has it.
        "self.audio_speaker.set_volume",
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


def test_a_choice_that_is_not_read_has_the_default_of_the_firmware() -> None:
    talk = entity("xmini/c3", "tool_self.set_press_to_talk")
    assert isinstance(talk, SelectTool)
    assert (talk.state, talk.default) == (None, "click_to_talk")


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


def test_the_page_of_all_tools_is_up_to_date() -> None:
    """`python -m scripts.tool_table` writes it."""
    assert PAGE.read_text() == render()
