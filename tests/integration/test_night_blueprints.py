"""The blueprints *night*, *sleep sounds* and *guests*, by what is seen and heard at the devices."""

import asyncio

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import State
from tests.integration.boxes import TWO_DEVICES, Speech, act, wait_for_state
from tests.integration.clock.alarms import set_alarm
from tests.integration.media.media_server import media_server, music
from tests.integration.names import NEW, OTHER_MAC, Boot
from tests.integration.test_blueprints import errors, installed, use

__all__ = ["installed"]

LINK = LinkKind.MQTT
BOXES = ("kitchen_box", "bedroom_box")
QUIET = [f"switch.{box}_do_not_disturb" for box in BOXES]
MICROPHONES = [f"switch.{box}_microphone" for box in BOXES]
SPEAKER = "media_player.kitchen_box_speaker"

pytestmark = [pytest.mark.usefixtures("all_enabled", "installed", "speech"), pytest.mark.own_home]


async def switch(hass: HomeAssistant, helper: str, state: str) -> None:
    hass.states.async_set(helper, state)
    await hass.async_block_till_done()


def states(hass: HomeAssistant, switches: list[str]) -> list[bool]:
    return [hass.states.is_state(each, "on") for each in switches]


@TWO_DEVICES
@pytest.mark.usefixtures("wall_clock")
async def test_the_night_ends_with_the_schedule_or_the_first_alarm(
    hass: HomeAssistant, boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a device, that of its own; and none ends a nap by day."""
    for mac in ({}, {"mac": OTHER_MAC}):
        await boot(NEW, **mac)
    schedule = "schedule.night"
    hass.states.async_set(schedule, "off")
    await use(hass, "night.yaml", schedule=schedule, switches=QUIET)
    await switch(hass, schedule, "on")
    assert states(hass, QUIET) == [True, True]
    await set_alarm(hass, 10)
    await asyncio.sleep(30)
    assert states(hass, QUIET) == [False, True]
    # The helper was loaded again.
    await switch(hass, schedule, "unavailable")
    await switch(hass, schedule, "on")
    assert states(hass, QUIET) == [False, True]
    await switch(hass, schedule, "off")
    assert states(hass, QUIET) == [False, False]
    await act(hass, "button", "press", "button.kitchen_box_alarm_stop")
    await act(hass, "switch", "turn_on", QUIET[0])
    await set_alarm(hass, 10)
    await asyncio.sleep(30)
    assert states(hass, QUIET) == [True, False]
    assert errors(caplog) == []


@TWO_DEVICES
@pytest.mark.usefixtures("linked_entry")
async def test_with_guests_the_chosen_microphones_are_off(
    hass: HomeAssistant, caplog: pytest.LogCaptureFixture
) -> None:
    guests = "input_boolean.guests"
    hass.states.async_set(guests, "off")
    await use(hass, "guest.yaml", guests=guests, microphones=MICROPHONES[:1])
    for state, expected in (("on", [False, True]), ("off", [True, True])):
        await switch(hass, guests, state)
        assert states(hass, MICROPHONES) == expected
    assert errors(caplog) == []


@pytest.mark.parametrize("ends", ["by itself", "woken"])
@pytest.mark.usefixtures("ffmpeg")
async def test_sleep_sounds_get_softer_and_end(
    hass: HomeAssistant, boot: Boot, speech: Speech, caplog: pytest.LogCaptureFixture, ends: str
) -> None:
    """Also on a device that is not to disturb, which is quiet and gets its own volume back."""
    device = await boot(NEW)
    await act(hass, "switch", "turn_on", QUIET[0])
    await device.wait_for(lambda: device.values["volume"] == 30, 5)
    await asyncio.sleep(3)
    speech.recognizer.lines = ["play some sleep sounds", "what time is it"]
    async with media_server() as server:
        rain = {"media_content_id": server.file("/rain.mp3", music(9)), "media_content_type": "music"}
        await use(hass, "sleep.yaml", sound=rain, minutes=2)
        await device.wake()
        device.say(speech.command)
        await wait_for_state(hass, SPEAKER, "playing", 60)
        # Longer than the sound itself, without a pause.
        await asyncio.sleep(65)
        assert hass.states.is_state(SPEAKER, "playing")
        assert device.values["volume"] == 15
        if ends == "woken":
            await device.wake("hello")
            await device.wait_state(State.LISTENING, 10)
            await device.click()
        await wait_for_state(hass, SPEAKER, "idle", 10 if ends == "woken" else 90)
        await device.wait_for(lambda: device.values["volume"] == 30, 5)
    await device.wait_state(State.IDLE, 30)
    await asyncio.sleep(65)
    await act(hass, "switch", "turn_off", QUIET[0])
    await device.wait_for(lambda: device.values["volume"] == 70, 5)
    assert hass.states.get(SPEAKER).attributes["repeat"] == "off"
    assert errors(caplog) == []
