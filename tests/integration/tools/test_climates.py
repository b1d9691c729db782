"""Climate entities and humidifiers of a device: they do what they say, and say only what is known."""

import asyncio
from typing import Any

from homeassistant.components.climate import (
    ATTR_CURRENT_TEMPERATURE,
    ATTR_FAN_MODE,
    ATTR_FAN_MODES,
    ATTR_HVAC_MODE,
    ATTR_HVAC_MODES,
    ATTR_MAX_TEMP,
    ATTR_MIN_TEMP,
    DOMAIN as CLIMATE,
    SERVICE_SET_FAN_MODE,
    SERVICE_SET_HVAC_MODE,
    SERVICE_SET_TEMPERATURE,
)
from homeassistant.components.humidifier import DOMAIN as HUMIDIFIER
from homeassistant.const import (
    ATTR_ASSUMED_STATE,
    ATTR_TEMPERATURE,
    SERVICE_TOGGLE,
    SERVICE_TURN_OFF,
    SERVICE_TURN_ON,
    STATE_UNKNOWN,
)
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, get_profile
from simulator.board.tools import Tool as SimulatedTool
from tests.integration.boxes import Boot, wait_for_state
from tests.integration.tools.acting import act
from tests.integration.tools.own_tools import announce, register

TEXT = {"type": "string"}


@pytest.fixture
def link() -> LinkKind:
    """A device on MQTT can be reached while it is idle."""
    return LinkKind.MQTT


def whole(minimum: int, maximum: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": minimum, "maximum": maximum}


def tool(name: str, description: str = "", **fields: Any) -> SimulatedTool:
    return SimulatedTool(name=name, description=description, **fields)


async def booted(hass: HomeAssistant, boot: Boot) -> SimulatedDevice:
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    return device


def state_of(hass: HomeAssistant, entity_id: str) -> State:
    state = hass.states.get(entity_id)
    assert state is not None, entity_id
    return state


async def test_an_air_conditioner_behind_infrared_shows_what_was_last_sent(
    hass: HomeAssistant, boot: Boot, entity_registry: er.EntityRegistry
) -> None:
    ac, former = "climate.kitchen_box_ac", "number.kitchen_box_ac_temperature"
    device = await booted(hass, boot)
    target = tool("self.ac.set_temperature", properties={"degrees": whole(16, 30)}, set={"set": "$degrees"})
    register(device, target)
    announce(device)
    # Alone it is only a number.
    await wait_for_state(hass, former, STATE_UNKNOWN)
    register(
        device,
        tool("self.ac.turn_on", set={"ac": True}),
        tool("self.ac.turn_off", set={"ac": False}),
        tool("self.ac.set_mode", "Modes: cool, heat, dry", properties={"mode": TEXT}, set={"mode": "$mode"}),
        tool(
            "self.ac.set_fan_speed",
            "0: auto, 1: low, 2: high, 3: turbo",
            properties={"speed": whole(0, 3)},
            set={"fan": "$speed"},
        ),
        # The only part of it that is measured.
        tool("self.ac.get_room_temperature", get="room"),
    )
    device.values["room"] = 27.5
    announce(device)
    await wait_for_state(hass, ac, STATE_UNKNOWN)
    await hass.async_block_till_done()
    assert entity_registry.async_get(former) is None
    # The device is asked for the temperature.
    await asyncio.sleep(1)
    attributes = state_of(hass, ac).attributes
    assert attributes[ATTR_HVAC_MODES] == ["off", "cool", "heat", "dry"]
    assert attributes[ATTR_FAN_MODES] == ["auto", "low", "high", "turbo"]
    assert (attributes[ATTR_MIN_TEMP], attributes[ATTR_MAX_TEMP]) == (16, 30)
    assert attributes[ATTR_CURRENT_TEMPERATURE] == 27.5
    assert attributes[ATTR_ASSUMED_STATE] is True
    await act(hass, CLIMATE, SERVICE_SET_TEMPERATURE, ac, **{ATTR_TEMPERATURE: 23, ATTR_HVAC_MODE: "cool"})
    assert [device.values[name] for name in ("ac", "mode", "set")] == [True, "cool", 23]
    assert state_of(hass, ac).state == "cool"
    assert state_of(hass, ac).attributes[ATTR_TEMPERATURE] == 23
    await act(hass, CLIMATE, SERVICE_SET_FAN_MODE, ac, **{ATTR_FAN_MODE: "turbo"})
    assert device.values["fan"] == 3
    assert state_of(hass, ac).attributes[ATTR_FAN_MODE] == "turbo"
    await act(hass, CLIMATE, SERVICE_TURN_OFF, ac)
    assert device.values["ac"] is False
    assert state_of(hass, ac).state == "off"
    await act(hass, CLIMATE, SERVICE_TURN_ON, ac)
    # In the mode that it had.
    assert (device.values["ac"], state_of(hass, ac).state) == (True, "cool")


async def test_a_chinese_air_conditioner_that_tells_its_state_is_believed(
    hass: HomeAssistant, boot: Boot
) -> None:
    device = await booted(hass, boot)
    device.values.update(power="关", mode="heating", wanted=20, room=18.5, wind="低")
    register(
        device,
        tool("打开空调", "打开空调", set={"power": "开"}),
        tool("关闭空调", "关闭空调", set={"power": "关"}),
        tool("设置空调模式", "模式：制冷、制热、自动", properties={"模式": TEXT}, set={"mode": "$模式"}),
        tool("设置空调温度", "设置温度", properties={"温度": whole(16, 30)}, set={"wanted": "$温度"}),
        tool("设置空调风速", "可选：低、中、高", properties={"风速": TEXT}, set={"wind": "$风速"}),
        tool(
            "获取空调状态",
            get={"电源": "power", "模式": "mode", "温度": "wanted", "室内温度": "room", "风速": "wind"},
        ),
    )
    announce(device)
    ac = "climate.kitchen_box_kong_diao"
    await wait_for_state(hass, ac, "off")
    attributes = state_of(hass, ac).attributes
    assert ATTR_ASSUMED_STATE not in attributes
    assert (attributes[ATTR_TEMPERATURE], attributes[ATTR_CURRENT_TEMPERATURE]) == (20, 18.5)
    assert (attributes[ATTR_FAN_MODES], attributes[ATTR_FAN_MODE]) == (["low", "medium", "high"], "low")
    await act(hass, CLIMATE, SERVICE_TOGGLE, ac)
    # It tells its mode in other words than it takes.
    await wait_for_state(hass, ac, "heat")
    await act(hass, CLIMATE, SERVICE_SET_HVAC_MODE, ac, **{ATTR_HVAC_MODE: "cool"})
    assert device.values["mode"] == "制冷"
    await wait_for_state(hass, ac, "cool")
    await act(hass, CLIMATE, SERVICE_SET_FAN_MODE, ac, **{ATTR_FAN_MODE: "high"})
    assert device.values["wind"] == "高"
    await act(hass, CLIMATE, SERVICE_SET_HVAC_MODE, ac, **{ATTR_HVAC_MODE: "off"})
    await wait_for_state(hass, ac, "off")


async def test_modes_alone_and_power_alone_are_enough(hass: HomeAssistant, boot: Boot) -> None:
    device = await booted(hass, boot)
    register(
        device,
        tool("self.thermostat.set_mode", "(off/heat/cool)", properties={"mode": TEXT}, set={"mode": "$mode"}),
        tool("self.thermostat.set_target", properties={"to": whole(5, 30)}, set={"to": "$to"}),
        tool("self.radiator.turn_on", set={"radiator": True}),
        tool("self.radiator.turn_off", set={"radiator": False}),
        tool("self.radiator.set_temperature", properties={"to": whole(5, 30)}),
    )
    announce(device)
    thermostat, radiator = "climate.kitchen_box_thermostat", "climate.kitchen_box_radiator"
    await wait_for_state(hass, thermostat, STATE_UNKNOWN)
    await act(hass, CLIMATE, SERVICE_TURN_ON, thermostat)
    assert (device.values["mode"], state_of(hass, thermostat).state) == ("heat", "heat")
    await act(hass, CLIMATE, SERVICE_TURN_OFF, thermostat)
    assert (device.values["mode"], state_of(hass, thermostat).state) == ("off", "off")
    assert state_of(hass, radiator).attributes[ATTR_HVAC_MODES] == ["off", "heat"]
    await act(hass, CLIMATE, SERVICE_SET_HVAC_MODE, radiator, **{ATTR_HVAC_MODE: "heat"})
    assert (device.values["radiator"], state_of(hass, radiator).state) == (True, "heat")


async def test_a_humidifier_does_what_it_says(hass: HomeAssistant, boot: Boot) -> None:
    device = await booted(hass, boot)
    device.values.update(mist=False, room=41, mode="auto")
    register(
        device,
        tool("self.humidifier.turn_on", set={"mist": True}),
        tool("self.humidifier.turn_off", set={"mist": False}),
        tool(
            "self.humidifier.set_humidity", properties={"percent": whole(30, 80)}, set={"wanted": "$percent"}
        ),
        tool(
            "self.humidifier.set_mode", "Modes: auto, sleep", properties={"mode": TEXT}, set={"mode": "$mode"}
        ),
        tool("self.humidifier.get_status", get={"power": "mist", "mode": "mode", "current_humidity": "room"}),
    )
    announce(device)
    humidifier = "humidifier.kitchen_box_humidifier"
    await wait_for_state(hass, humidifier, "off")
    attributes = state_of(hass, humidifier).attributes
    assert (attributes["min_humidity"], attributes["max_humidity"]) == (30, 80)
    assert (attributes["current_humidity"], attributes["mode"]) == (41, "auto")
    assert ATTR_ASSUMED_STATE not in attributes
    await act(hass, HUMIDIFIER, SERVICE_TURN_ON, humidifier)
    await wait_for_state(hass, humidifier, "on")
    await act(hass, HUMIDIFIER, "set_humidity", humidifier, humidity=55)
    assert device.values["wanted"] == 55
    assert state_of(hass, humidifier).attributes["humidity"] == 55
    await act(hass, HUMIDIFIER, "set_mode", humidifier, mode="sleep")
    assert device.values["mode"] == "sleep"
    await act(hass, HUMIDIFIER, SERVICE_TURN_OFF, humidifier)
    await wait_for_state(hass, humidifier, "off")
