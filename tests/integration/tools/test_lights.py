"""Lights that the tools of a board make, each told only what its board can do."""

from homeassistant.components.light import ATTR_BRIGHTNESS, ATTR_RGB_COLOR, DOMAIN as LIGHT
from homeassistant.components.number import ATTR_VALUE, DOMAIN as NUMBER, SERVICE_SET_VALUE
from homeassistant.const import (
    ATTR_ASSUMED_STATE,
    SERVICE_TURN_OFF,
    SERVICE_TURN_ON,
    STATE_UNKNOWN,
    EntityCategory,
)
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.gateway import Gateway
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import get_profile
from simulator.board.tools import Tool as SimulatedTool
from tests.integration.boxes import MAC, Boot, state_of, wait_for_state
from tests.integration.tools.acting import LAMP, STATUS_LIGHT, STRIP, act, calls, colour
from tests.integration.tools.own_tools import announce, register

LINK = LinkKind.MQTT

DOG_LIGHT = "light.kitchen_box_light"


async def test_a_strip_of_leds_is_darkened_by_its_colour_and_not_by_its_status_light(
    hass: HomeAssistant, boot: Boot, entity_registry: er.EntityRegistry
) -> None:
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, STRIP, STATE_UNKNOWN)
    state = state_of(hass, STRIP)
    assert state.attributes["supported_color_modes"] == ["rgb"]
    assert state.attributes[ATTR_ASSUMED_STATE] is True
    await act(hass, LIGHT, SERVICE_TURN_ON, STRIP, **{ATTR_RGB_COLOR: [255, 64, 0], ATTR_BRIGHTNESS: 191})
    assert colour(device) == (191, 48, 0)
    state = state_of(hass, STRIP)
    assert state.state == "on"
    assert state.attributes[ATTR_RGB_COLOR] == (255, 64, 0)
    assert state.attributes[ATTR_BRIGHTNESS] == 191
    await act(hass, LIGHT, SERVICE_TURN_ON, STRIP, **{ATTR_BRIGHTNESS: 255})
    assert colour(device) == (255, 64, 0)
    # However dark, what is switched on is not off.
    await act(hass, LIGHT, SERVICE_TURN_ON, STRIP, **{ATTR_RGB_COLOR: [10, 0, 0], ATTR_BRIGHTNESS: 10})
    assert colour(device) == (1, 0, 0)
    assert hass.states.is_state(STRIP, "on")

    await wait_for_state(hass, STATUS_LIGHT, "4")
    entry = entity_registry.async_get(STATUS_LIGHT)
    assert entry is not None
    assert entry.entity_category is EntityCategory.CONFIG
    await act(hass, NUMBER, SERVICE_SET_VALUE, STATUS_LIGHT, **{ATTR_VALUE: 7})
    assert device.values["led_brightness"] == 7
    await wait_for_state(hass, STATUS_LIGHT, "7")


async def test_a_light_of_other_firmware_takes_its_brightness_on_its_own_scale(
    hass: HomeAssistant, boot: Boot
) -> None:
    device = await boot(get_profile("otto"))
    await wait_for_state(hass, "button.kitchen_box_stop_moving", STATE_UNKNOWN)
    channel = {"type": "integer", "minimum": 0, "maximum": 255}
    register(
        device,
        SimulatedTool(
            name="self.bar.set_color",
            description="",
            properties={"red": channel, "green": channel, "blue": channel},
            set={"led_red": "$red", "led_green": "$green", "led_blue": "$blue"},
        ),
        SimulatedTool(
            name="self.bar.set_brightness",
            description="",
            properties={"level": {"type": "integer", "minimum": 0, "maximum": 8}},
            set={"bar": "$level"},
        ),
        SimulatedTool(name="self.bar.get_brightness", description="", get="bar"),
    )
    announce(device)
    bar = "light.kitchen_box_bar"
    await wait_for_state(hass, bar, STATE_UNKNOWN)
    await act(hass, LIGHT, SERVICE_TURN_ON, bar, **{ATTR_RGB_COLOR: [255, 64, 0], ATTR_BRIGHTNESS: 191})
    assert colour(device) == (255, 64, 0)
    assert device.values["bar"] == 6
    assert [name for name in calls(device) if "set" in name] == [
        "self.bar.set_brightness",
        "self.bar.set_color",
    ]
    await device.wait_for(lambda: calls(device)[-1] == "self.bar.get_brightness", 5)
    # One tool at a time: what is called next waits for that answer.
    await act(hass, LIGHT, SERVICE_TURN_ON, bar)
    assert colour(device) == (255, 64, 0)
    state = state_of(hass, bar)
    assert state.state == "on"
    assert state.attributes[ATTR_RGB_COLOR] == (255, 64, 0)
    assert state.attributes[ATTR_BRIGHTNESS] == 191


async def test_a_light_that_is_switched_off_and_on_has_its_colour_again(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    """Also after a restart of Home Assistant; one that never had a colour is white."""
    device = await boot(get_profile("led-strip"))
    await wait_for_state(hass, STRIP, STATE_UNKNOWN)
    await act(hass, LIGHT, SERVICE_TURN_ON, STRIP)
    assert colour(device) == (255, 255, 255)
    await act(hass, LIGHT, SERVICE_TURN_ON, STRIP, **{ATTR_RGB_COLOR: [10, 20, 30]})
    await act(hass, LIGHT, SERVICE_TURN_OFF, STRIP)
    assert colour(device) == (0, 0, 0)
    assert hass.states.is_state(STRIP, "off")
    await act(hass, LIGHT, SERVICE_TURN_ON, STRIP)
    assert colour(device) == (10, 20, 30)
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await wait_for_state(hass, STRIP, "on", 30)
    state = state_of(hass, STRIP)
    assert state.attributes[ATTR_RGB_COLOR] == (85, 170, 255)
    assert state.attributes[ATTR_BRIGHTNESS] == 30


async def test_a_colour_is_assumed_until_the_light_is_switched_on_without_it(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    device = await boot(get_profile("dog"))
    await wait_for_state(hass, DOG_LIGHT, "off")
    state = state_of(hass, DOG_LIGHT)
    assert state.attributes[ATTR_ASSUMED_STATE] is True
    await act(hass, LIGHT, SERVICE_TURN_ON, DOG_LIGHT)
    assert calls(device)[-1] == "self.light.turn_on"
    await wait_for_state(hass, DOG_LIGHT, "on")
    # Half as bright: without a scale of its own it is in the colour.
    await act(hass, LIGHT, SERVICE_TURN_ON, DOG_LIGHT, **{ATTR_RGB_COLOR: [0, 0, 255], ATTR_BRIGHTNESS: 128})
    assert [device.values[f"light_{part}"] for part in "rgb"] == [0, 0, 128]
    state = state_of(hass, DOG_LIGHT)
    assert state.attributes[ATTR_RGB_COLOR] == (0, 0, 255)
    assert state.attributes[ATTR_BRIGHTNESS] == 128
    await act(hass, LIGHT, SERVICE_TURN_OFF, DOG_LIGHT)
    await wait_for_state(hass, DOG_LIGHT, "off")
    assert device.values["light"] is False
    await act(hass, LIGHT, SERVICE_TURN_ON, DOG_LIGHT)
    assert [device.values[f"light_{part}"] for part in "rgb"] == [0, 0, 128]
    # An assistant switches it on by name, and the device chooses the colour.
    gateway: Gateway = linked_entry.runtime_data
    await gateway.devices[MAC].commands.call_tool("self.light.turn_on", {})
    state = state_of(hass, DOG_LIGHT)
    assert (state.attributes[ATTR_RGB_COLOR], state.attributes[ATTR_BRIGHTNESS]) == (None, None)
    await act(hass, LIGHT, SERVICE_TURN_OFF, DOG_LIGHT)
    await act(hass, LIGHT, SERVICE_TURN_ON, DOG_LIGHT)
    assert [device.values[f"light_{part}"] for part in "rgb"] == [255, 255, 255]


async def test_a_lamp_without_colour_can_only_be_on_or_off(hass: HomeAssistant, boot: Boot) -> None:
    device = await boot(get_profile("lamp"))
    await wait_for_state(hass, LAMP, "off")
    state = state_of(hass, LAMP)
    assert state.attributes["supported_color_modes"] == ["onoff"]
    assert ATTR_ASSUMED_STATE not in state.attributes
    await act(hass, LIGHT, SERVICE_TURN_ON, LAMP)
    await wait_for_state(hass, LAMP, "on")
    assert device.values["lamp"] is True
