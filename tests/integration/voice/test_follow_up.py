"""After an answer the device listens again: how long, and how it ends."""

from homeassistant.components.number import DOMAIN as NUMBER_DOMAIN, SERVICE_SET_VALUE
from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ServiceValidationError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from simulator import State, converse
from tests.integration.boxes import COMMAND, Boot, Speech

WAIT = "number.kitchen_box_keep_listening"


async def set_wait(hass: HomeAssistant, seconds: float) -> None:
    """Set how long a follow-up is waited for."""
    data = {ATTR_ENTITY_ID: WAIT, "value": seconds}
    await hass.services.async_call(NUMBER_DOMAIN, SERVICE_SET_VALUE, data, blocking=True)
    await hass.async_block_till_done()


async def test_a_follow_up_that_nobody_speaks_in_ends_quietly_after_the_wait(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, linked_entry: MockConfigEntry
) -> None:
    """The wait is stored with the device, and to change it disturbs no conversation."""
    await speech.answer_with("Which light?")
    device = await boot()
    assert hass.states.is_state(WAIT, "8")
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    for refused in (2, 31):
        with pytest.raises(ServiceValidationError):
            await set_wait(hass, refused)
    await set_wait(hass, 3)
    assert hass.states.is_state(WAIT, "3")
    (subentry,) = linked_entry.subentries.values()
    assert subentry.data["follow_up_wait"] == 3
    assert device.channel_open
    talk = await converse(device, command, patience=60)
    assert talk.answers == ["Which light?"]
    assert not talk.hung_up
    assert len(speech.recognizer.streams) <= 2
    states = [(event.time, event.data["state"]) for event in device.transcript if event.kind == "state"]
    (ended, idle), (listened, listening) = states[-1], states[-2]
    assert (listening, idle) == ("listening", "idle")
    assert ended - listened == pytest.approx(3, abs=1.5)


@pytest.mark.usefixtures("no_detector")
async def test_without_our_detector_a_long_wait_ends_just_as_quietly_but_sooner(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """Home Assistant's detector takes 15 s of silence for a command."""
    await speech.answer_with("Which light?")
    device = await boot()
    await set_wait(hass, 30)
    talk = await converse(device, command, patience=60)
    assert talk.answers == ["Which light?"]
    assert not talk.hung_up
    assert speech.agent.heard == [COMMAND]
