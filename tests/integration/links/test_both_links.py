"""A device from its pairing to its removal, over each link; what else there is, is tested over one."""

import asyncio
from collections.abc import Awaitable, Callable

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.utterance import Utterance
from custom_components.xiaozhi.const import CONF_WEBSOCKET_PORT
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import ListeningMode, SimulatedDevice, State, converse, get_profile
from tests.integration.announcements.sounds import beep
from tests.integration.boxes import (
    Speech,
    act,
    assert_nothing_lost,
    change_settings,
    hear_answer,
    open_conversation,
    wait_for_state,
)
from tests.integration.names import COMMAND, CONNECTED, LIGHT, MAC, VOLUME, Boot
from tests.integration.provisioning.forms import pair_new

pytestmark = pytest.mark.usefixtures("all_enabled")

type Connect = Callable[[], Awaitable[SimulatedDevice]]


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    kind: LinkKind = request.param
    return kind


@pytest.fixture
def connect(hass: HomeAssistant, speech: Speech, boot: Boot) -> Connect:
    """Return what boots a device that Home Assistant knows, and opens a channel, which WebSocket needs."""

    async def connect() -> SimulatedDevice:
        device = await boot()
        await open_conversation(hass, device)
        assert hass.states.is_state(CONNECTED, "on")
        return device

    return connect


@pytest.mark.parametrize("paired", [()], ids=["new"])
async def test_a_new_device_is_paired_with_its_code_and_answers(
    speech: Speech, boot: Boot, link: LinkKind
) -> None:
    device = await pair_new(boot)
    assert device.link == link
    speech.recognizer.lines = [COMMAND]
    assert (await converse(device, speech.command)).answers == ["Turned on the switch"]


async def test_tools_become_entities_and_a_new_check_in_takes_over(
    hass: HomeAssistant, connect: Connect, boot: Boot
) -> None:
    device = await connect()
    await act(hass, "number", "set_value", VOLUME, value=35)
    assert device.values["volume"] == 35
    await wait_for_state(hass, VOLUME, "35")
    assert hass.states.is_state("sensor.kitchen_box_battery", "82")
    assert hass.states.is_state("sensor.kitchen_box_ip_address", device.values["ip"])
    second = await boot()
    await second.wake("hello again")
    await second.wait_state(State.LISTENING, 5)
    await device.wait_state(State.IDLE, 5)
    assert hass.states.is_state(CONNECTED, "on")


async def test_a_spoken_command_and_a_question_back_are_answered(
    hass: HomeAssistant, speech: Speech, boot: Boot, states: list[str]
) -> None:
    device = await boot()
    speech.recognizer.lines = [COMMAND]
    talk = await converse(device, speech.command)
    assert hass.states.is_state(LIGHT, "on")
    assert (talk.heard, talk.answers) == ([COMMAND], ["Turned on the switch"])
    assert talk.emotions == ["thinking", "happy"]
    await speech.answer_with("Which light?", "Done.", heard=[COMMAND, "that one"])
    talk = await converse(device, speech.command, speech.command, word="hello again")
    assert (talk.heard, talk.answers) == ([COMMAND, "that one"], ["Which light?", "Done."])
    assert not talk.hung_up
    assert_nothing_lost(device)
    assert states == ["listening", "processing", "responding", "idle"] * 3


@pytest.mark.parametrize("how", ["button", "speaking"])
async def test_an_answer_is_interrupted(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, how: str
) -> None:
    change_settings(hass, boot.entry, interrupt_by_speaking=True)
    await speech.answer_with("word " * 60, "Good.", heard=[COMMAND, "thank you"])
    device = await boot(get_profile("s3", mode=ListeningMode.REALTIME))
    await hear_answer(device, command)
    if how == "button":
        await device.click()
        await device.wait_state(State.LISTENING, 5)
    device.say(command)
    await device.wait_state(State.IDLE, 20)
    assert device.played_seconds < 5
    assert speech.agent.heard == [COMMAND, "thank you"]


async def test_an_announcement_is_spoken_between_two_turns(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    await device.wake()
    gateway = boot.entry.runtime_data
    utterance = Utterance(text="Dinner is ready.", speech=beep(1))
    announcing = hass.async_create_task(gateway.devices[MAC].part(Announcer).say(utterance))
    talk = await converse(device, command)
    await announcing
    assert talk.answers == ["Turned on the switch", "Dinner is ready."]
    assert_nothing_lost(device)


async def test_a_reload_ends_the_conversation_and_a_removed_device_is_cut_off(
    hass: HomeAssistant, connect: Connect, speech: Speech, linked_entry: MockConfigEntry
) -> None:
    device = await connect()
    known = linked_entry.runtime_data.devices[MAC]
    assert await hass.config_entries.async_unload(linked_entry.entry_id)
    await device.wait_state(State.IDLE, 3)
    # What is learnt of a device while the gateway stops makes no entities that the next one could not have.
    known.record.update(listens_while_speaking=True)
    await hass.async_block_till_done()
    assert {state.state for state in hass.states.async_all("switch")} <= {"unavailable"}
    port = linked_entry.data[CONF_WEBSOCKET_PORT]
    server = await asyncio.start_server(lambda _reader, _writer: None, port=port)
    server.close()
    await server.wait_closed()
    assert await hass.config_entries.async_setup(linked_entry.entry_id)
    speech.recognizer.lines = [COMMAND]
    await device.wait_for(lambda: device.connected or device.link == "websocket", 10)
    assert (await converse(device, speech.command, word="hello again")).heard == [COMMAND]
    await wait_for_state(hass, VOLUME, "70")
    known = linked_entry.runtime_data.devices[MAC]
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    (subentry_id,) = linked_entry.subentries
    hass.config_entries.async_remove_subentry(linked_entry, subentry_id)
    await device.wait_state(State.IDLE, 3)
    await hass.async_block_till_done()
    assert not [state for state in hass.states.async_all() if "kitchen_box" in state.entity_id]
    await device.wake("hi again")
    assert device.state is State.IDLE
    assert device.last_error
    with pytest.raises(HomeAssistantError):
        await known.commands.call_tool("self.get_device_status")
