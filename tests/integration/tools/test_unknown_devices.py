"""Entities of devices that nobody knows: they do what they say, and say only what is known."""

from typing import Any

from homeassistant.components.conversation import DOMAIN as CONVERSATION
from homeassistant.components.cover import ATTR_POSITION, DOMAIN as COVER
from homeassistant.components.fan import ATTR_PERCENTAGE, DOMAIN as FAN
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.components.lock import DOMAIN as LOCK
from homeassistant.components.select import ATTR_OPTION, DOMAIN as SELECT, SERVICE_SELECT_OPTION
from homeassistant.components.valve import DOMAIN as VALVE
from homeassistant.const import (
    ATTR_ASSUMED_STATE,
    ATTR_DEVICE_CLASS,
    ATTR_UNIT_OF_MEASUREMENT,
    SERVICE_CLOSE_COVER,
    SERVICE_CLOSE_VALVE,
    SERVICE_LOCK,
    SERVICE_OPEN_COVER,
    SERVICE_OPEN_VALVE,
    SERVICE_SET_COVER_POSITION,
    SERVICE_SET_VALVE_POSITION,
    SERVICE_STOP_COVER,
    SERVICE_STOP_VALVE,
    SERVICE_TURN_OFF,
    SERVICE_TURN_ON,
    SERVICE_UNLOCK,
    STATE_UNKNOWN,
)
from homeassistant.core import HomeAssistant, State
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, get_profile
from simulator.board.tools import Tool as SimulatedTool
from tests.integration.boxes import MAC, Boot, wait_for_state
from tests.integration.tools.acting import act
from tests.integration.tools.own_tools import announce, register

PERCENT = {"type": "integer", "minimum": 0, "maximum": 100}


@pytest.fixture
def link() -> LinkKind:
    """A device on MQTT can be reached while it is idle."""
    return LinkKind.MQTT


def tool(name: str, description: str = "", **fields: Any) -> SimulatedTool:
    return SimulatedTool(name=name, description=description, **fields)


async def with_tools(
    hass: HomeAssistant, boot: Boot, *tools: SimulatedTool, **values: Any
) -> SimulatedDevice:
    """Boot a device that has these tools and values, too."""
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    device.values.update(values)
    register(device, *tools)
    announce(device)
    return device


def state_of(hass: HomeAssistant, entity_id: str) -> State:
    state = hass.states.get(entity_id)
    assert state is not None, entity_id
    return state


async def test_a_curtain_tells_where_it_is(hass: HomeAssistant, boot: Boot) -> None:
    curtain = "cover.kitchen_box_curtain"
    device = await with_tools(
        hass,
        boot,
        tool("self.curtain.open", set={"curtain": 100}),
        tool("self.curtain.close", set={"curtain": 0}),
        tool("self.curtain.stop", set={"stopped": True}),
        tool("self.curtain.set_position", properties={"position": PERCENT}, set={"curtain": "$position"}),
        tool("self.curtain.get_position", get="curtain"),
    )
    await wait_for_state(hass, curtain, "closed")
    assert state_of(hass, curtain).attributes[ATTR_DEVICE_CLASS] == "curtain"
    assert ATTR_ASSUMED_STATE not in state_of(hass, curtain).attributes
    await act(hass, COVER, SERVICE_OPEN_COVER, curtain)
    await wait_for_state(hass, curtain, "open")
    await act(hass, COVER, SERVICE_SET_COVER_POSITION, curtain, **{ATTR_POSITION: 40})
    assert device.values["curtain"] == 40
    await act(hass, COVER, SERVICE_STOP_COVER, curtain)
    assert device.values["stopped"] is True
    await act(hass, COVER, SERVICE_CLOSE_COVER, curtain)
    await wait_for_state(hass, curtain, "closed")


async def test_what_tells_nothing_is_assumed(hass: HomeAssistant, boot: Boot) -> None:
    valve, blind = "valve.kitchen_box_garden_valve", "cover.kitchen_box_blind"
    device = await with_tools(
        hass,
        boot,
        tool("self.garden_valve.open", set={"valve": 8}),
        tool("self.garden_valve.close", set={"valve": 0}),
        tool("self.garden_valve.stop"),
        tool(
            "self.garden_valve.set_level",
            properties={"level": {"type": "integer", "minimum": 0, "maximum": 8}},
            set={"valve": "$level"},
        ),
        tool("self.blind.open"),
        tool("self.blind.close"),
        tool("self.tank_valve.open", set={"tank": "open"}),
        tool("self.tank_valve.close", set={"tank": "closed"}),
    )
    await wait_for_state(hass, valve, STATE_UNKNOWN)
    assert state_of(hass, valve).attributes[ATTR_ASSUMED_STATE] is True
    await act(hass, VALVE, SERVICE_SET_VALVE_POSITION, valve, **{ATTR_POSITION: 50})
    assert device.values["valve"] == 4
    assert state_of(hass, valve).state == "open"
    await act(hass, VALVE, SERVICE_CLOSE_VALVE, valve)
    assert state_of(hass, valve).state == "closed"
    await act(hass, VALVE, SERVICE_OPEN_VALVE, valve)
    assert state_of(hass, valve).state == "open"
    await act(hass, VALVE, SERVICE_STOP_VALVE, valve)
    assert state_of(hass, valve).state == STATE_UNKNOWN
    # Without a position, it is opened and closed.
    for action, state in ((SERVICE_OPEN_VALVE, "open"), (SERVICE_CLOSE_VALVE, "closed")):
        await act(hass, VALVE, action, "valve.kitchen_box_tank_valve")
        assert device.values["tank"] == state
        assert state_of(hass, "valve.kitchen_box_tank_valve").state == state
    await act(hass, COVER, SERVICE_CLOSE_COVER, blind)
    assert state_of(hass, blind).state == "closed"
    await act(hass, COVER, SERVICE_OPEN_COVER, blind)
    assert state_of(hass, blind).state == "open"


async def test_a_lock_is_there_for_its_owner_and_not_for_the_assistant(
    hass: HomeAssistant, boot: Boot
) -> None:
    told, assumed = "lock.kitchen_box_door", "lock.kitchen_box_shed"
    device = await with_tools(
        hass,
        boot,
        tool("self.door.lock", "Lock the door", set={"door": "locked"}),
        tool("self.door.unlock", "Unlock the door", set={"door": "unlocked"}),
        tool("self.door.get_lock_state", get="door"),
        tool("self.shed.lock"),
        tool("self.shed.unlock"),
        tool("self.garage.open", set={"garage": True}),
        tool("self.garage.close", set={"garage": False}),
        tool("self.blind.open"),
        tool("self.blind.close"),
    )
    await wait_for_state(hass, assumed, STATE_UNKNOWN)
    await act(hass, LOCK, SERVICE_LOCK, told)
    await wait_for_state(hass, told, "locked")
    assert device.values["door"] == "locked"
    await act(hass, LOCK, SERVICE_UNLOCK, assumed)
    assert state_of(hass, assumed).state == "unlocked"
    assert state_of(hass, assumed).attributes[ATTR_ASSUMED_STATE] is True
    await act(hass, LOCK, SERVICE_LOCK, assumed)
    assert state_of(hass, assumed).state == "locked"
    exposed = {
        entity_id: async_should_expose(hass, CONVERSATION, entity_id)
        for entity_id in (told, assumed, "cover.kitchen_box_garage", "cover.kitchen_box_blind")
    }
    assert exposed == {
        told: False,
        assumed: False,
        "cover.kitchen_box_garage": False,
        "cover.kitchen_box_blind": True,
    }


async def test_a_lock_that_tells_is_believed(hass: HomeAssistant, boot: Boot) -> None:
    lock = "lock.kitchen_box_door"
    device = await with_tools(
        hass,
        boot,
        tool("self.door.lock", set={"locked": True}),
        tool("self.door.unlock", set={"locked": False}),
        tool("self.door.is_locked", get="locked"),
    )
    await wait_for_state(hass, lock, STATE_UNKNOWN if device.values.get("locked") is None else "unlocked")
    await act(hass, LOCK, SERVICE_LOCK, lock)
    await wait_for_state(hass, lock, "locked")
    await act(hass, LOCK, SERVICE_UNLOCK, lock)
    await wait_for_state(hass, lock, "unlocked")


async def test_a_fan_has_speeds(hass: HomeAssistant, boot: Boot) -> None:
    fan, plain = "fan.kitchen_box_fan", "fan.kitchen_box_roof_fan"
    device = await with_tools(
        hass,
        boot,
        tool("self.fan_on", set={"fan": True}),
        tool("self.fan_off", set={"fan": False}),
        tool("self.fan_status", get="fan", texts={"True": "on", "False": "off", "*": "off"}),
        tool(
            "self.set_fan_speed",
            properties={"speed": {"type": "integer", "minimum": 1, "maximum": 4}},
            set={"speed": "$speed"},
        ),
        tool("self.get_fan_speed", get="speed"),
        tool("self.roof_fan.turn_on"),
        tool("self.roof_fan.turn_off"),
    )
    await wait_for_state(hass, plain, STATE_UNKNOWN)
    await act(hass, FAN, SERVICE_TURN_ON, fan, **{ATTR_PERCENTAGE: 50})
    assert (device.values["fan"], device.values["speed"]) == (True, 2)
    await act(hass, FAN, "set_percentage", fan, **{ATTR_PERCENTAGE: 100})
    assert device.values["speed"] == 4
    await act(hass, FAN, "set_percentage", fan, **{ATTR_PERCENTAGE: 0})
    assert device.values["fan"] is False
    await act(hass, FAN, SERVICE_TURN_ON, fan, **{ATTR_PERCENTAGE: 0})
    assert device.values["fan"] is False
    await act(hass, FAN, "set_percentage", fan, **{ATTR_PERCENTAGE: 75})
    assert (device.values["fan"], device.values["speed"]) == (True, 3)
    await act(hass, FAN, SERVICE_TURN_ON, plain)
    assert state_of(hass, plain).state == "on"
    await act(hass, FAN, SERVICE_TURN_OFF, plain)
    assert state_of(hass, plain).state == "off"


async def test_an_air_monitor_shows_what_it_measures(hass: HomeAssistant, boot: Boot) -> None:
    await with_tools(
        hass,
        boot,
        tool("self.air.get_co2", get="co2"),
        tool("self.air.get_status", get={"pm2_5": "dust", "temperature": "degrees", "alarm": "alarm"}),
        tool("self.air.is_occupied", get="someone"),
        co2="612 ppm",
        dust=7,
        degrees=21.5,
        alarm=False,
        someone=True,
    )
    await wait_for_state(hass, "sensor.kitchen_box_carbon_dioxide", "612.0")
    await wait_for_state(hass, "sensor.kitchen_box_pm2_5", "7")
    await wait_for_state(hass, "sensor.kitchen_box_temperature", "21.5")
    await wait_for_state(hass, "binary_sensor.kitchen_box_air_alarm", "off")
    await wait_for_state(hass, "binary_sensor.kitchen_box_air_occupied", "on")
    assert state_of(hass, "sensor.kitchen_box_pm2_5").attributes[ATTR_UNIT_OF_MEASUREMENT] == "μg/m³"
    # The object as a text is gone.
    assert er.async_get(hass).async_get_entity_id("sensor", DOMAIN, f"{MAC}_tool_self.air.get_status") is None


async def test_a_choice_of_names_sends_their_numbers(hass: HomeAssistant, boot: Boot) -> None:
    device = await with_tools(
        hass,
        boot,
        tool(
            "self.ac.set_fan",
            "0: auto, 1: low, 2: high",
            properties={"level": {"type": "integer", "minimum": 0, "maximum": 2}},
            set={"level": "$level"},
        ),
        tool("self.ac.get_fan", get="level"),
    )
    choice = "select.kitchen_box_ac_fan"
    await wait_for_state(hass, choice, "auto")
    await act(hass, SELECT, SERVICE_SELECT_OPTION, choice, **{ATTR_OPTION: "high"})
    assert device.values["level"] == 2
    await wait_for_state(hass, choice, "high")


async def test_buttons_that_have_become_one_entity_are_gone(
    hass: HomeAssistant, boot: Boot, entity_registry: er.EntityRegistry
) -> None:
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    register(device, tool("self.curtain.open"))
    announce(device)
    button = "button.kitchen_box_curtain_open"
    await wait_for_state(hass, button, STATE_UNKNOWN)
    register(device, tool("self.curtain.close"))
    announce(device)
    await wait_for_state(hass, "cover.kitchen_box_curtain", STATE_UNKNOWN)
    await hass.async_block_till_done()
    assert entity_registry.async_get(button) is None
    entry = entity_registry.async_get("cover.kitchen_box_curtain")
    assert entry is not None
    assert entry.unique_id == f"{MAC}_tool_self.curtain.open"
