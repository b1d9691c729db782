"""Devices that nobody knows look as if their makers had written an integration for them."""

import json
from typing import Any, Final

from homeassistant.const import EntityCategory, Platform
import pytest

from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.status import DeviceStatus
from custom_components.xiaozhi.tools.choices import described_texts, labelled_numbers
from custom_components.xiaozhi.tools.entities import (
    CoverTool,
    FanTool,
    LockTool,
    NumberTool,
    Reading,
    SelectTool,
    SensorTool,
    ToolEntity,
    ValveTool,
)
from custom_components.xiaozhi.tools.mapping import map_tools
from custom_components.xiaozhi.tools.measures import measure_of
from custom_components.xiaozhi.tools.parsing import parse
from custom_components.xiaozhi.tools.state import ToolState
from custom_components.xiaozhi.tools.values import as_flag, as_locked, as_number, members
from tests.rules.tools.invented import ANSWERS, DEVICES
from tests.rules.tools.sample_tools import number, only, tool

# Platform, name (or the device class, whose name is Home Assistant's), device class and unit.
EXPECTED: Final = {
    "curtain": ["cover Curtain curtain"],
    "aquarium": [
        "light Aquarium light",
        "switch Aquarium pump",
        "sensor Aquarium water temperature temperature °C",
        "sensor - ph",
        "sensor Aquarium water level %",
        "button Aquarium feed",
        "switch Aquarium heater",
    ],
    "air monitor": [
        "sensor - carbon_dioxide ppm",
        "sensor - pm25 μg/m³",
        "sensor - volatile_organic_compounds_parts ppb",
        "sensor - temperature °C",
        "sensor - humidity %",
        "sensor - atmospheric_pressure Pa",
        "sensor - illuminance lx",
        "sensor - sound_pressure dB",
    ],
    "arm": [
        "cover Arm gripper",
        "button Arm home",
        "number Arm base angle °",
        "button Arm wave",
        "binary_sensor Arm moving moving",
        "number Arm speed",
    ],
    "coffee machine": [
        "switch Coffee",
        "select Coffee brew",
        "select Coffee strength",
        "sensor Coffee water level %",
        "binary_sensor Coffee brewing running",
        "button Coffee clean",
    ],
    "door lock": ["lock Door", "binary_sensor Door open door", "sensor Door battery battery %"],
    "infrared": [
        "climate AC °C",
        "button TV power toggle",
    ],
    "e-ink": [
        "button Eink refresh",
        "button Eink clear",
        "select Eink page",
        "sensor Eink battery voltage voltage mV",
    ],
    "printer": [
        "button Printer feed paper",
        "number Printer density",
        "sensor Printer state",
        "sensor Printer paper remaining",
        "sensor Printer head temperature temperature °C",
        "binary_sensor Printer paper empty problem",
    ],
    "irrigation": [
        "valve Irrigation valve water",
        "sensor Irrigation soil moisture moisture %",
        "binary_sensor Irrigation raining",
    ],
    "train": [
        "button Train forward",
        "button Train backward",
        "button Train stop",
        "number Train speed %",
        "button Train whistle",
        "switch Train light",
    ],
    "Chinese names": [
        "cover 窗帘 curtain",
        "fan 风扇",
        "switch 水泵",
        "sensor - temperature °C",
        "sensor - humidity %",
        "sensor - moisture %",
        "sensor - illuminance lx",
        "binary_sensor 有人 occupancy",
        "select 空调模式",
        "number 亮度 %",
    ],
}
# What risk decides: what can do harm waits for its owner.
OFF: Final = {"switch Coffee", "button Eink clear"}


def entities_of(device: str) -> list[ToolEntity]:
    shapes = {name: members(answer) for name, answer in ANSWERS.get(device, {}).items()}
    return [entity for entity in map_tools(DEVICES[device], shapes) if entity.platform is not None]


def described(entity: ToolEntity) -> str:
    unit = getattr(entity, "unit", None)
    return " ".join(filter(None, (str(entity.platform), entity.name or "-", entity.device_class, unit)))


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_that_nobody_knows_has_the_entities_of_an_integration(device: str) -> None:
    entities = entities_of(device)
    assert [described(entity) for entity in entities] == EXPECTED[device]
    assert {described(entity) for entity in entities if not entity.enabled} == OFF & set(EXPECTED[device])
    assert len({entity.key for entity in entities}) == len(entities)


def test_twelve_devices_are_tried() -> None:
    assert len(EXPECTED) == 12


def entity[KindT: ToolEntity](device: str, kind: type[KindT]) -> KindT:
    return next(found for found in entities_of(device) if isinstance(found, kind))


def test_a_curtain_goes_where_it_is_sent_and_says_where_it_is() -> None:
    curtain = entity("curtain", CoverTool)
    assert curtain.position is not None
    assert curtain.position.tool == "self.curtain.set_position"
    assert curtain.position_state == Reading(tool="self.curtain.get_position")
    assert curtain.stop is not None
    assert not curtain.guarded


def test_what_opens_a_house_is_there_but_not_for_assistants() -> None:
    lock = entity("door lock", LockTool)
    assert (lock.enabled, lock.guarded, lock.category) == (True, True, None)
    assert (lock.lock.tool, lock.unlock.tool) == ("self.door.lock", "self.door.unlock")
    assert lock.state == Reading(tool="self.door.is_locked")
    valve = entity("irrigation", ValveTool)
    assert (valve.enabled, valve.guarded) == (True, True)
    garage = only(tool("self.garage.open"), tool("self.garage.close"))
    assert isinstance(garage, CoverTool)
    assert (garage.device_class, garage.guarded) == ("garage", True)


@pytest.mark.parametrize("risk", ["Restart the device.", "Erase all files.", "Update the firmware."])
def test_a_pair_with_another_risk_stays_off(risk: str) -> None:
    cover = only(tool("self.curtain.open", risk), tool("self.curtain.close"))
    assert isinstance(cover, CoverTool)
    assert (cover.enabled, cover.guarded) == (False, True)


def test_a_fan_has_its_speed() -> None:
    fan = entity("Chinese names", FanTool)
    assert fan.speed is not None
    assert (fan.speed.minimum, fan.speed.maximum) == (1, 3)


def test_getter_and_setter_are_one_number_however_they_are_spelt() -> None:
    arm = entity("arm", NumberTool)
    assert arm.key == "tool_self.arm.set_base_angle"
    speed = next(found for found in entities_of("arm") if found.key == "tool_self.arm.set_speed")
    assert isinstance(speed, NumberTool)
    assert speed.state == Reading(tool="self.arm.getSpeed")
    brightness = entity("Chinese names", NumberTool)
    assert brightness.state == Reading(tool="获取亮度")


def test_names_for_numbers_are_a_choice() -> None:
    strength = next(found for found in entities_of("coffee machine") if found.key.endswith("set_strength"))
    assert isinstance(strength, SelectTool)
    assert strength.choice.options == ("mild", "medium", "strong")
    assert strength.choice.values == (1, 2, 3)


def test_members_of_an_object_are_sensors_and_states_of_their_own() -> None:
    tools = [*DEVICES["aquarium"], tool("self.aquarium.set_water_level", level=number())]
    shapes = {"self.aquarium.get_status": members(ANSWERS["aquarium"]["self.aquarium.get_status"])}
    entities = {found.key: found for found in map_tools(tools, shapes)}
    level = entities["tool_self.aquarium.set_water_level"]
    assert isinstance(level, NumberTool)
    assert level.state == Reading(tool="self.aquarium.get_status", member="water_level")
    assert "tool_self.aquarium.get_status#water_level" not in entities
    # How the call went is no reading, and one reading is the sensor itself.
    alone = map_tools([tool("self.room.get_data")], {"self.room.get_data": members({"ok": True, "co2": 600})})
    (sensor,) = alone
    assert isinstance(sensor, SensorTool)
    assert (sensor.key, sensor.device_class) == ("tool_self.room.get_data", "carbon_dioxide")


class Record:
    """The stored state of a device's tools."""

    def __init__(self) -> None:
        self.tools = tuple(DEVICES["aquarium"])
        self.status = DeviceStatus()
        self.answers: dict[str, Any] = {}
        self.calls: dict[str, dict[str, Any]] = {}


def answer(value: Any) -> ToolResult:
    return ToolResult(text=json.dumps(value), items=(), structured=None)


def test_what_a_device_answers_makes_its_sensors_and_a_missing_member_takes_none_away() -> None:
    record = Record()
    state = ToolState(record)
    assert "tool_self.aquarium.get_status" in state.entities
    name = "self.aquarium.get_status"
    state.answered(name, answer({"water_temp": "--", "ph": 7}))
    state.answered(name, answer({"water_temp": 25.5}))
    known = state.entities
    assert {"tool_self.aquarium.get_status#water_temp", "tool_self.aquarium.get_status#ph"} <= known.keys()
    assert state.last_value(Reading(tool=name, member="water_temp")) == 25.5
    state.answered(name, answer({"water_temp": 26.0, "ph": 7}))
    assert state.entities is known
    # They are there after a restart.
    assert "tool_self.aquarium.get_status#water_temp" in ToolState(record).entities
    state.listed(tuple(DEVICES["train"]))
    assert not any("aquarium" in key for key in state.entities)


@pytest.mark.parametrize(
    ("name", "action", "subject"),
    [
        ("self.curtain.open", "open", ("curtain",)),
        ("openCurtain", "open", ("curtain",)),
        ("打开窗帘", "open", ("curtain",)),
        ("self.fan_on", "on", ("fan",)),
        ("self.fan.turnOff", "off", ("fan",)),
        ("self.lock.lock", "lock", ("lock",)),
        ("self.door_lock_status", "get", ("door", "lock")),
        ("获取PM2.5", "get", ("pm", "2", "5")),
        ("speed_set", "set", ("speed",)),
        ("self.train.whistle", "", ("train", "whistle")),
    ],
)
def test_a_name_is_an_action_and_a_subject(name: str, action: str, subject: tuple[str, ...]) -> None:
    parsed = parse(name)
    assert (parsed.action, parsed.subject) == (action, subject)


@pytest.mark.parametrize(
    ("subject", "description", "device_class", "unit"),
    [
        (("co", "2"), "", "carbon_dioxide", "ppm"),
        (("pressure",), "in kPa", "atmospheric_pressure", "kPa"),
        (("temperature",), "degrees Fahrenheit", "temperature", "°F"),
        (("temp", "f"), "", "temperature", "°F"),
        (("soil", "moisture"), "", "moisture", "%"),
        (("电", "battery"), "", "battery", "%"),
        (("lamp", "light"), "", None, None),
        (("light",), "光照强度", "illuminance", "lx"),
        (("colour",), "", None, None),
    ],
)
def test_readings_have_classes_and_units(
    subject: tuple[str, ...], description: str, device_class: str | None, unit: str | None
) -> None:
    measure = measure_of(subject, description)
    assert (measure and measure.device_class, measure and measure.unit) == (device_class, unit)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        ("mode: cool, heat, dry or auto", ("cool", "heat", "dry", "auto")),
        ("Set the mode (cool/heat/auto)", ("cool", "heat", "auto")),
        ("模式：制冷、制热、除湿", ("制冷", "制热", "除湿")),
        ("可选 cool(制冷)/heat(制热)", None),
        ("可选：cool(制冷)/heat(制热)", ("cool", "heat")),
        ("Set the mode, e.g. (cool/heat)", None),
        ("Set the mode (cool/heat/...)", None),
        ("Modes: cool, heat, etc.", None),
        ("Move left, then right, and stop", None),
        ("mode: 1, 2 or 3", None),
    ],
)
def test_an_enumeration_without_quotes_is_a_choice(text: str, texts: tuple[str, ...] | None) -> None:
    assert described_texts(text, "mode") == texts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0: off, 1: low, 2: high", ("off", "low", "high")),
        ("off=0, low=1, high=2", ("off", "low", "high")),
        ("0-关闭 1-低 2-高", ("关闭", "低", "高")),
        ("0: off, 2: high", None),
        ("0: on, 1: on, 2: off", None),
        ("Speed 0-2", None),
    ],
)
def test_numbers_with_names_are_a_choice(text: str, names: tuple[str, ...] | None) -> None:
    assert labelled_numbers(text, (0, 2)) == names


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


def test_words_for_yes_and_no_are_known_in_chinese_too() -> None:
    assert as_flag("已打开") is True
    assert as_flag("关闭") is False
    assert as_flag("closed") is False
    assert as_flag("perhaps") is None
    # Of a lock, open is not locked.
    assert as_locked("open") is False
    assert as_locked("已上锁") is True
    assert as_locked(True) is True
    assert as_locked(True, negated=True) is False
    assert as_locked("jammed") is None


@pytest.mark.parametrize(
    ("names", "platform"),
    [
        (("self.screen.lock", "self.screen.unlock"), Platform.SWITCH),
        (("self.lock.open", "self.lock.close"), Platform.LOCK),
        (("self.gate.up", "self.gate.down"), Platform.COVER),
        (("self.gas_valve.open", "self.gas_valve.close"), Platform.VALVE),
        (("open_light", "close_light"), Platform.LIGHT),
        (("pumpOn", "pumpOff"), Platform.SWITCH),
        (("self.sprinkler.start", "self.sprinkler.stop"), Platform.SWITCH),
        (("self.blind.turn_on", "self.blind.turn_off"), Platform.COVER),
        (("self.gate.enable", "self.gate.disable"), Platform.SWITCH),
        (("self.lock.turn_on", "self.lock.turn_off"), Platform.SWITCH),
        (("打开收音机", "关闭收音机"), Platform.SWITCH),
        (("self.open", "self.close"), Platform.COVER),
    ],
)
def test_a_pair_is_what_its_thing_is(names: tuple[str, str], platform: Platform) -> None:
    entity = only(*map(tool, names))
    assert entity.platform is platform
    assert entity.key == f"tool_{names[0]}"
    assert entity.name


def test_up_and_down_of_an_arm_are_two_buttons() -> None:
    entities = map_tools(
        [tool("self.arm.up"), tool("self.arm.down"), tool("self.song.start"), tool("self.song.stop")]
    )
    assert {entity.platform for entity in entities} == {Platform.BUTTON}


def test_only_some_readings_are_on_at_first() -> None:
    entities = map_tools([tool(f"self.room{index}.get_temperature") for index in range(40)])
    assert sum(entity.enabled for entity in entities) == 16
    (news,) = map_tools([tool("self.get_news")])
    assert not news.enabled
    assert news.category is EntityCategory.DIAGNOSTIC


@pytest.mark.parametrize("text", ["set " * 400, "设置" * 1000, "a" * 4000, "mode:" * 400, "mode is " * 300])
def test_a_hostile_description_is_no_choice(text: str) -> None:
    assert described_texts(text, "mode") is None
    assert labelled_numbers(text, (0, 2)) is None


@pytest.mark.parametrize(
    ("tools", "answers", "expected"),
    [
        (
            [
                tool("curtain_open"),
                tool("curtain_close"),
                tool("curtain_set_percent", percent=number()),
                tool("curtain_get_state"),
            ],
            {"curtain_get_state": {"percent": 30, "moving": False}},
            ["cover Curtain curtain", "binary_sensor Moving moving"],
        ),
        (
            # The state of the door is not that of its lock.
            [tool("lock_door"), tool("unlock_door"), tool("get_lock_state"), tool("get_door_state")],
            {},
            ["lock Door", "sensor Door state"],
        ),
        (
            [tool("灯.打开"), tool("灯.关闭"), tool("灯.设置亮度", 亮度=number()), tool("灯.获取亮度")],
            {},
            ["light 灯"],
        ),
        (
            [tool("开灯"), tool("关灯"), tool("开窗"), tool("关窗"), tool("上锁"), tool("开锁")],
            {},
            ["cover 窗 window", "lock Lock", "light 灯"],
        ),
        (
            [tool("获取温湿度"), tool("获取PM2.5浓度"), tool("has_motion"), tool("get_presence")],
            {"获取温湿度": {"温度": 22, "湿度": 40}},
            [
                "sensor - temperature °C",
                "sensor - humidity %",
                "sensor - pm25 μg/m³",
                "binary_sensor Motion motion",
                "binary_sensor Presence occupancy",
            ],
        ),
        (
            [
                tool("self.ac.set_temp", temp=number(16, 30)),
                tool("self.hum.set_target_humidity", to=number(30, 80)),
            ],
            {},
            ["number AC temperature °C", "number Hum target humidity %"],
        ),
        (
            [tool("set_wind", "设置风速：auto 自动, low 低, high 高", wind={"type": "string"})],
            {},
            ["select Wind"],
        ),
    ],
)
def test_makers_name_their_tools_in_many_ways(
    tools: list[Any], answers: dict[str, Any], expected: list[str]
) -> None:
    shapes = {name: members(told) for name, told in answers.items()}
    found = [described(entity) for entity in map_tools(tools, shapes) if entity.platform is not None]
    assert found == expected
