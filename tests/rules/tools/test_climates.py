"""Families of tools that become a climate entity, and those that do not."""

from typing import Any, Final

from homeassistant.components.climate import HVACMode
from homeassistant.const import Platform
import pytest

from custom_components.xiaozhi.protocol.mcp.tool import Tool
from custom_components.xiaozhi.tools.climates import hvac_mode_of
from custom_components.xiaozhi.tools.entities import ClimateTool, HumidifierTool, Reading, ToolEntity
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.values import members
from tests.rules.tools.invented import DEVICES, FLAG, TEXT
from tests.rules.tools.sample_tools import number, tool

CHINESE: Final = [
    tool("打开卧室空调", "打开卧室的空调"),
    tool("关闭卧室空调", "关闭卧室的空调"),
    tool("设置卧室空调模式", "设置空调的模式：制冷、制热、除湿、送风", 模式=TEXT),
    tool("设置卧室空调温度", "设置空调的温度", 温度=number(16, 30)),
    tool("设置卧室空调风速", "0: 自动，1: 低，2: 中，3: 高", 风速=number(0, 3)),
    tool("获取卧室空调状态", "返回开关、模式、温度、室内温度和风速"),
]
CHINESE_ANSWER: Final = {"开关": "开", "模式": "制冷", "温度": 26, "室内温度": 28.5, "风速": 2}


def mapped(tools: list[Tool], **answers: Any) -> list[ToolEntity]:
    shapes = {name: members(answer) for name, answer in answers.items()}
    return [entity for entity in map_tools(tools, shapes) if entity.platform is not None]


def climate(tools: list[Tool], **answers: Any) -> ClimateTool:
    (found,) = mapped(tools, **answers)
    assert isinstance(found, ClimateTool)
    return found


def test_an_air_conditioner_behind_infrared_is_one_entity() -> None:
    found = next(entity for entity in mapped(DEVICES["infrared"]) if isinstance(entity, ClimateTool))
    assert (found.key, found.name) == ("tool_self.ac.turn_on", "AC")
    assert (found.target.minimum, found.target.maximum, found.unit) == (16, 30, "°C")
    modes = (HVACMode.COOL, HVACMode.HEAT, HVACMode.DRY, HVACMode.FAN_ONLY, HVACMode.AUTO)
    assert found.hvac_modes == modes
    assert found.fan is not None
    # The words that Home Assistant translates, and the numbers that are sent.
    assert (found.fan.options, found.fan.values) == (("auto", "low", "medium", "high"), (0, 1, 2, 3))
    assert found.readings == ()
    assert not found.guarded


def test_chinese_names_make_the_same_entity() -> None:
    found = climate(CHINESE, 获取卧室空调状态=CHINESE_ANSWER)
    assert (found.key, found.name) == ("tool_打开卧室空调", "卧室空调")
    assert found.hvac_modes == (HVACMode.COOL, HVACMode.HEAT, HVACMode.DRY, HVACMode.FAN_ONLY)
    assert found.fan is not None
    assert found.fan.options == ("auto", "low", "medium", "high")
    assert [reading.member for reading in found.readings] == ["开关", "模式", "温度", "室内温度", "风速"]
    assert found.target_state == Reading(tool="获取卧室空调状态", member="温度")
    assert found.current_state == Reading(tool="获取卧室空调状态", member="室内温度")


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (
            [
                tool("self.bedroom_ac.set_power", on=FLAG),
                tool("self.bedroom_ac.set_temperature", temperature=number(16, 30)),
                tool("self.bedroom_ac.set_fan_speed", speed=number(1, 5)),
            ],
            ("Bedroom AC", (), "auto", ("1", "2", "3", "4", "5")),
        ),
        (
            [
                tool("AirConditioner.SetMode", "Modes: cool, heat, off", mode=TEXT),
                tool("AirConditioner.SetTemperature", "in °F", temperature=number(60, 86)),
            ],
            ("Air conditioner", ("cool", "heat", "off"), "auto", None),
        ),
        (
            [
                tool("self.radiator.turn_on"),
                tool("self.radiator.turn_off"),
                tool("self.radiator.set_target_temp", t=number(5, 30)),
            ],
            ("Radiator", (), "heat", None),
        ),
        (
            [
                tool("温控器.开关", "打开或关闭", on=number(0, 1)),
                tool("温控器.设置目标温度", 温度=number(5, 35)),
            ],
            ("温控器", (), "auto", None),
        ),
        (
            [
                tool("设置空调模式", "1: 制冷，2: 制热，3: 除湿", 模式=number(1, 3)),
                tool("设置空调温度", 温度=number(16, 30)),
            ],
            ("空调", ("cool", "heat", "dry"), "auto", None),
        ),
    ],
)
def test_makers_name_air_conditioners_in_many_ways(tools: list[Tool], expected: tuple[Any, ...]) -> None:
    found = climate(tools)
    speeds = found.fan.options if found.fan else None
    assert (found.name, found.hvac_modes, found.running, speeds) == expected


@pytest.mark.parametrize(
    ("more", "wanted", "measured"),
    [
        ([tool("self.ac.get_temperature", "Wanted by the user")], "self.ac.get_temperature", None),
        ([tool("self.ac.get_current_temperature")], None, "self.ac.get_current_temperature"),
        ([tool("self.ac.get_temperature", "Temperature of the room")], None, "self.ac.get_temperature"),
        (
            [tool("self.ac.get_temperature"), tool("self.ac.get_target_temperature")],
            "self.ac.get_target_temperature",
            "self.ac.get_temperature",
        ),
        (
            [tool("self.ac.get_temperature"), tool("self.ac.get_room_temperature")],
            "self.ac.get_temperature",
            "self.ac.get_room_temperature",
        ),
    ],
)
def test_the_wanted_and_the_measured_temperature_are_told_apart(
    more: list[Tool], wanted: str | None, measured: str | None
) -> None:
    found = climate([*DEVICES["infrared"][:5], *more])
    told = [state and state.tool for state in (found.target_state, found.current_state)]
    assert told == [wanted, measured]


@pytest.mark.parametrize(
    ("tools", "platforms"),
    [
        # Nothing says how to switch it on.
        ([tool("self.ac.set_temp", temp=number(16, 30))], [Platform.NUMBER]),
        # A water heater is no room.
        (
            [
                tool("self.heater.turn_on"),
                tool("self.heater.turn_off"),
                tool("self.heater.set_temperature", t=number(30, 75)),
            ],
            [Platform.SWITCH, Platform.NUMBER],
        ),
        # Modes that Home Assistant does not know remain a choice beside it, and a scale a number.
        (
            [
                *DEVICES["infrared"][:2],
                DEVICES["infrared"][3],
                tool("self.ac.set_mode", "Modes: cool, sleep, eco", mode=TEXT),
                tool("self.ac.set_fan_speed", speed=number(0, 100)),
            ],
            [Platform.CLIMATE, Platform.SELECT, Platform.NUMBER],
        ),
        # Nothing says how warm.
        ([tool("self.climate.turn_on"), tool("self.climate.turn_off")], [Platform.SWITCH]),
        # A choice of power that has other words.
        (
            [
                tool("self.ac.set_power", "Modes: on, off, boost", power=TEXT),
                tool("self.ac.set_temperature", t=number(16, 30)),
            ],
            [Platform.SELECT, Platform.NUMBER],
        ),
    ],
)
def test_what_is_not_clear_stays_as_it_is(tools: list[Tool], platforms: list[Platform]) -> None:
    found = mapped(tools)
    assert [entity.platform for entity in found] == platforms
    used = [name for entity in found for name in entity.tools]
    assert sorted(used) == sorted(each.name for each in tools)


def test_a_choice_of_on_and_off_is_the_power() -> None:
    found = climate(
        [
            tool("self.ac.set_power", "Values: on, off", power=TEXT),
            tool("self.ac.set_temperature", t=number(16, 30)),
        ]
    )
    assert found.on is not None
    assert (found.on.tool, found.on.arguments) == ("self.ac.set_power", {"power": "on"})
    assert found.tools == ("self.ac.set_power", "self.ac.set_temperature")


@pytest.mark.parametrize(
    ("tools", "name", "device_class"),
    [
        (
            [
                tool("self.humidifier.turn_on"),
                tool("self.humidifier.turn_off"),
                tool("self.humidifier.set_humidity", percent=number(30, 80)),
                tool("self.humidifier.set_mode", "Modes: auto, sleep, baby", mode=TEXT),
                tool("self.humidifier.get_humidity", "Humidity of the room"),
            ],
            "Humidifier",
            "humidifier",
        ),
        (
            [
                tool("打开除湿机"),
                tool("关闭除湿机"),
                tool("设置除湿机目标湿度", 湿度=number(30, 80)),
                tool("设置除湿机模式", "模式：自动、睡眠", 模式=TEXT),
                tool("获取除湿机当前湿度"),
            ],
            "除湿机",
            "dehumidifier",
        ),
    ],
)
def test_a_humidifier_is_one_entity(tools: list[Tool], name: str, device_class: str) -> None:
    (found,) = mapped(tools)
    assert isinstance(found, HumidifierTool)
    assert (found.key, found.name, found.device_class) == (f"tool_{tools[0].name}", name, device_class)
    assert (found.target.minimum, found.target.maximum) == (30, 80)
    assert found.modes is not None
    assert found.readings == (Reading(tool=tools[-1].name),)
    assert found.current_state == Reading(tool=tools[-1].name)
    # Without a target it is a switch, as ever.
    assert [entity.platform for entity in mapped(tools[:2])] == [Platform.SWITCH]


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("Cooling", HVACMode.COOL),
        ("制热模式", HVACMode.HEAT),
        ("fan-only", HVACMode.FAN_ONLY),
        ("heat cool", HVACMode.HEAT_COOL),
        ("auto_mode", HVACMode.AUTO),
        ("sleep", None),
        (3, None),
    ],
)
def test_names_of_modes_are_understood(name: Any, mode: HVACMode | None) -> None:
    assert hvac_mode_of(name) == mode
