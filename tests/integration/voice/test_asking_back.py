"""Alarms: questions back, those of another room, and a thing of the owner's that is called so."""

from collections.abc import Awaitable, Callable
from typing import Any

from homeassistant.components.conversation import HOME_ASSISTANT_AGENT, async_converse
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, device_registry as dr
import pytest

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.spoken.sentence_files import CONF_UNDERSTAND_ALARMS
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State
from tests.integration.boxes import TWO_DEVICES, Speech
from tests.integration.clock.alarms import has_rung, rings_no_more, set_alarm
from tests.integration.names import OTHER_MAC, Boot

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("wall_clock")

WHAT_TIME = "At what time?"

type Say = Callable[..., Awaitable[str]]


@pytest.fixture
def link_data(speech: Speech, mqtt_data: dict[str, Any]) -> dict[str, Any]:
    return mqtt_data | {CONF_UNDERSTAND_ALARMS: True}


@pytest.fixture
def say(hass: HomeAssistant, device_ids: list[str]) -> Say:
    """Return what types something in the place of a device, and returns the answer."""

    async def say(text: str, at: int = 0) -> str:
        result = await async_converse(
            hass, text, None, Context(), "en", HOME_ASSISTANT_AGENT, device_id=device_ids[at]
        )
        return str(result.response.speech["plain"]["speech"])

    return say


async def talk(speech: Speech, device: SimulatedDevice, *heard: str) -> list[str]:
    """Say something in one conversation, as often as the device listens again; return what is spoken."""
    speech.recognizer.lines = [*heard]
    speech.voice.spoken.clear()
    speech.voice.pace = 200
    await device.wake()
    for _ in heard:
        await device.wait_state(State.LISTENING, 20)
        device.say(speech.command)
        await device.wait_said(20)
        await device.wait_state(State.SPEAKING, 20)
    await device.wait_state(State.IDLE, 60)
    return [*speech.voice.spoken]


def starts(device: Device) -> list[str]:
    """Return the times of the alarms of a device."""
    return sorted(alarm.start.strftime("%H:%M") for alarm in device.state.owned["alarms"].values())


async def test_a_time_that_lacks_is_asked_for_and_said_in_the_same_talk(
    boot: Boot, known: Device, speech: Speech
) -> None:
    device = await boot()
    assert await talk(speech, device, "wake me tomorrow", "at half past seven") == [
        WHAT_TIME,
        "Alarm set: tomorrow at 7:30 AM.",
    ]
    assert starts(known) == ["07:30"]


async def test_an_answer_that_is_no_time_sets_nothing(boot: Boot, known: Device, speech: Speech) -> None:
    device = await boot()
    asked, answer = await talk(speech, device, "wake me tomorrow", "when it rains")
    assert asked == WHAT_TIME
    assert answer.startswith("I did not understand when.")
    assert not known.state.owned["alarms"]


async def test_a_question_that_is_typed_is_not_waited_for(
    boot: Boot, known: Device, speech: Speech, say: Say
) -> None:
    device = await boot()
    assert await say("wake me tomorrow") == f"{WHAT_TIME} Say, for example: wake me tomorrow at seven."
    assert await talk(speech, device, "wake me tomorrow at eight") == ["Alarm set: tomorrow at 8 AM."]
    assert starts(known) == ["08:00"]


@pytest.fixture
def bedroom(hass: HomeAssistant, device_ids: list[str]) -> str:
    """The room of the second device, by its id."""
    area = ar.async_get(hass).async_create("Bedroom")
    dr.async_get(hass).async_update_device(device_ids[1], area_id=area.id)
    return area.id


@TWO_DEVICES
async def test_an_alarm_is_set_in_another_room(boot: Boot, bedroom: str, known: Device, say: Say) -> None:
    await boot()
    answer = await say("set an alarm for seven thirty tomorrow in the bedroom")
    assert answer == "Alarm set: tomorrow at 7:30 AM."
    assert starts(boot.entry.runtime_data.devices[OTHER_MAC]) == ["07:30"]
    assert not known.state.owned["alarms"]


@TWO_DEVICES
async def test_a_room_with_two_devices_gets_no_alarm_and_both_are_named(
    boot: Boot, bedroom: str, say: Say
) -> None:
    await boot()
    dr.async_get(boot.hass).async_update_device(boot.device_id, area_id=bedroom)
    answer = await say("set an alarm for seven thirty tomorrow in the bedroom")
    assert "Bedroom box, Kitchen box" in answer
    assert not any(each.state.owned["alarms"] for each in boot.entry.runtime_data.devices.values())


@TWO_DEVICES
async def test_the_alarm_of_another_room_is_stopped_from_here(
    hass: HomeAssistant, boot: Boot, say: Say
) -> None:
    device = await boot()
    await set_alarm(hass, 10)
    await has_rung(device, 2)
    assert await say("stop the alarm", 1) == "Alarm stopped."
    await rings_no_more(device, 60)


async def test_a_thing_called_alarm_is_switched_off_while_nothing_rings(
    hass: HomeAssistant, boot: Boot, say: Say
) -> None:
    await boot()
    assert await say("turn off the alarm") == "No alarm rings."
    hass.states.async_set("input_boolean.siren", "on", {"friendly_name": "Alarm clock"})
    async_expose_entity(hass, "conversation", "input_boolean.siren", True)
    called: list[Any] = []
    hass.services.async_register("input_boolean", "turn_off", lambda call: called.append(call.data))
    assert await say("turn off the alarm") == "Switched off."
    assert called


async def test_nothing_is_done_for_anybody_while_the_gateway_is_off(
    hass: HomeAssistant, boot: Boot, say: Say
) -> None:
    await boot()
    await hass.config_entries.async_unload(boot.entry.entry_id)
    assert "XiaoZhi" in await say("stop the alarm")
