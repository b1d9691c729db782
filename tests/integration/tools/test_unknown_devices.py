"""Entities of devices that nobody knows: they do what they say, and say only what is known."""

import re
from typing import Any

from homeassistant.components.cover import DOMAIN as COVER
from homeassistant.const import (
    ATTR_DEVICE_CLASS,
    ATTR_UNIT_OF_MEASUREMENT,
    SERVICE_CLOSE_COVER,
    SERVICE_OPEN_COVER,
    STATE_UNKNOWN,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry as dr, entity_registry as er
from homeassistant.setup import async_setup_component
from homeassistant.util import yaml
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, get_profile
from simulator.board.tools import Tool as SimulatedTool
from tests.integration.boxes import MAC, Boot, state_of, wait_for_state
from tests.integration.tools.acting import act
from tests.integration.tools.own_tools import announce, register
from tests.paths import ROOT

LINK = LinkKind.MQTT


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


async def test_what_opens_and_closes_is_two_buttons_of_which_an_owner_makes_a_cover(
    hass: HomeAssistant, boot: Boot
) -> None:
    """By the example of the documentation."""
    device = await with_tools(
        hass,
        boot,
        tool("self.curtain.open", set={"curtain": 100}),
        tool("self.curtain.close", set={"curtain": 0}),
    )
    await wait_for_state(hass, "button.kitchen_box_curtain_open", STATE_UNKNOWN)
    assert hass.states.async_all(COVER) == []
    (example,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/tools.md").read_text(), re.DOTALL)
    assert await async_setup_component(hass, "template", yaml.parse_yaml(example))
    await hass.async_block_till_done()
    cover = "cover.curtain"
    await act(hass, COVER, SERVICE_OPEN_COVER, cover)
    assert device.values["curtain"] == 100
    assert hass.states.is_state(cover, "open")
    await act(hass, COVER, SERVICE_CLOSE_COVER, cover)
    assert device.values["curtain"] == 0
    assert hass.states.is_state(cover, "closed")


async def test_an_air_monitor_shows_what_it_measures(hass: HomeAssistant, boot: Boot) -> None:
    await with_tools(
        hass,
        boot,
        tool("self.air.get_co2", "CO2 in ppm", get="co2"),
        tool("self.air.get_temperature", "In °C", get="degrees"),
        tool("self.air.get_status", get={"pm2_5": "dust", "alarm": "alarm"}),
        tool("self.air.is_occupied", get="someone"),
        co2="612 ppm",
        dust=7,
        degrees=21.5,
        alarm=False,
        someone=True,
    )
    await wait_for_state(hass, "sensor.kitchen_box_air_co2", "612.0")
    await wait_for_state(hass, "sensor.kitchen_box_air_pm2_5", "7")
    await wait_for_state(hass, "sensor.kitchen_box_air_temperature", "21.5")
    await wait_for_state(hass, "binary_sensor.kitchen_box_air_alarm", "off")
    await wait_for_state(hass, "binary_sensor.kitchen_box_air_occupied", "on")
    assert state_of(hass, "sensor.kitchen_box_air_co2").attributes[ATTR_UNIT_OF_MEASUREMENT] == "ppm"
    assert state_of(hass, "sensor.kitchen_box_air_temperature").attributes[ATTR_DEVICE_CLASS] == "temperature"
    # No unit is stated.
    assert ATTR_UNIT_OF_MEASUREMENT not in state_of(hass, "sensor.kitchen_box_air_pm2_5").attributes
    # The object as a text is gone.
    assert er.async_get(hass).async_get_entity_id("sensor", DOMAIN, f"{MAC}_tool_self.air.get_status") is None


async def test_an_entity_that_its_tools_no_longer_make_is_gone(
    hass: HomeAssistant, boot: Boot, entity_registry: er.EntityRegistry
) -> None:
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    register(device, tool("self.pump.turn_on"))
    announce(device)
    button = "button.kitchen_box_pump_turn_on"
    await wait_for_state(hass, button, STATE_UNKNOWN)
    register(device, tool("self.pump.turn_off"))
    announce(device)
    await wait_for_state(hass, "switch.kitchen_box_pump", STATE_UNKNOWN)
    await hass.async_block_till_done()
    assert entity_registry.async_get(button) is None
    entry = entity_registry.async_get("switch.kitchen_box_pump")
    assert entry is not None
    assert entry.unique_id == f"{MAC}_tool_self.pump.turn_on"


async def test_the_sensor_of_an_answer_with_one_member_keeps_its_id_and_name(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry, entity_registry: er.EntityRegistry
) -> None:
    """Version 0.2 named it after the tool only. Later members and a restart change nothing."""
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    registered = dr.async_get(hass).async_get_device_by_identifier((DOMAIN, MAC), linked_entry.entry_id)
    (subentry_id,) = linked_entry.subentries
    assert registered is not None
    before = entity_registry.async_get_or_create(
        "sensor",
        DOMAIN,
        f"{MAC}_tool_self.room.get_status",
        config_entry=linked_entry,
        config_subentry_id=subentry_id,
        device_id=registered.id,
        suggested_object_id="my_air",
    )
    entity_registry.async_update_entity(before.entity_id, name="My air")
    device.values["co2"] = 600
    register(device, tool("self.room.get_status", get={"co2": "co2"}))
    announce(device)
    await wait_for_state(hass, "sensor.my_air", "600", 30)
    device.values["dust"] = 7
    register(device)[-1] = tool("self.room.get_status", get={"co2": "co2", "dust": "dust"})
    announce(device)
    await wait_for_state(hass, "sensor.kitchen_box_room_dust", "7", 30)
    assert hass.states.is_state("sensor.my_air", "600")
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await hass.async_block_till_done()
    known = {
        entry.entity_id: (entry.id, entry.name)
        for entry in entity_registry.entities.values()
        if "_tool_self.room.get_status" in entry.unique_id
    }
    assert known["sensor.my_air"] == (before.id, "My air")
    assert known.keys() == {"sensor.my_air", "sensor.kitchen_box_room_dust"}
    await wait_for_state(hass, "sensor.my_air", "600", 30)
