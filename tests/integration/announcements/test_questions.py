"""Questions of automations: in a conversation, and of a device whose microphone nothing can open."""

import asyncio
from itertools import groupby, product
from typing import Any

from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import HomeAssistant, ServiceResponse
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
import voluptuous as vol

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.heard import End
from custom_components.xiaozhi.announcements.utterance import Rank, Utterance
from custom_components.xiaozhi.const import DOMAIN
from simulator import SimulatedDevice, State, converse
from tests.integration.announcements.sounds import beep, is_heard
from tests.integration.boxes import (
    Speech,
    act,
    alerts,
    announce,
    failure_of,
    push_to_talk,
    say,
    wait_for_state,
)
from tests.integration.names import BRIGHTNESS, COMMAND, LIGHT, NEW, OLD, SATELLITE, Boot

QUESTION = "Shall I close the garage?"
YES = {"id": "yes", "sentence": "yes", "slots": {}}
ANSWERS = [
    {"id": "yes", "sentences": ["yes [please]"]},
    {"id": "later", "sentences": ["in {minutes} minutes"]},
]


async def ask(hass: HomeAssistant, **data: Any) -> ServiceResponse:
    """Call our action; it asks the device's satellite unless a device is given."""
    target = {} if "device_id" in data else {"entity_id": SATELLITE}
    asked = {**target, "question": QUESTION, "answers": ANSWERS, **data}
    return await hass.services.async_call(DOMAIN, "ask", asked, blocking=True, return_response=True)


async def begin_asking(
    hass: HomeAssistant, boot: Boot, **data: Any
) -> tuple[SimulatedDevice, asyncio.Task[ServiceResponse]]:
    """Ask, and wait until an idle device has said the question."""
    device = await boot(NEW)
    asking = hass.async_create_task(ask(hass, **data))
    await device.wait_announced()
    return device, asking


async def test_the_next_conversation_is_the_answer(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    speech.recognizer.lines = ["yes please"]
    device, asking = await begin_asking(hass, boot, device_id=boot.device_id)
    assert [text for _, text in device.announcements[0].shown] == [QUESTION, "To answer, wake me and speak."]
    await asyncio.sleep(30)
    answer = await converse(device, command)
    # It is acknowledged: no assistant has an answer to it.
    assert answer.answers == ["Thank you."]
    assert answer.played_seconds > 0
    assert await asking == {"id": "yes", "sentence": "yes please", "slots": {}}
    assert device.screen.user_text == "yes please" or "yes please" in str(device.events("received"))
    # The next command is one for the assistant again.
    speech.recognizer.lines = [COMMAND]
    talk = await converse(device, command, word="hello again")
    assert talk.answers == ["Turned on the switch"]
    assert hass.states.is_state(LIGHT, "on")


async def test_the_satellite_responds_while_it_asks(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    """Automations that quieten the television notice that it speaks: idle, and in a conversation."""
    speech.recognizer.lines = [COMMAND, "yes please"]
    device = await boot(NEW)
    changes = async_capture_events(hass, EVENT_STATE_CHANGED)

    def states() -> list[str]:
        own = [change.data["new_state"] for change in changes if change.data["entity_id"] == SATELLITE]
        changes.clear()
        return [state for state, _ in groupby(each.state for each in own)]

    asking = hass.async_create_task(ask(hass, timeout=30))
    await is_heard(device)
    assert hass.states.is_state(SATELLITE, "responding")
    await device.wait_announced()
    await asking
    assert states() == ["responding", "idle"]
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    device.say(command)
    asking = hass.async_create_task(ask(hass, question="Now?"))
    await device.wait_for(lambda: "Now?" in device.screen.captions)
    assert hass.states.is_state(SATELLITE, "responding")
    await device.wait_state(State.LISTENING, 9)
    device.say(command)
    assert (await asking or {})["id"] == "yes"
    assert states()[2:5] == ["responding", "idle", "listening"]


@pytest.mark.parametrize("heard", [None, ""])
async def test_a_noise_leaves_the_question_to_the_next_conversation(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes, heard: str | None
) -> None:
    speech.recognizer.lines = [heard, heard, "yes please"]
    device, asking = await begin_asking(hass, boot)
    for number in range(2):
        await say(device, command, f"hello {number}")
    assert not asking.done()
    assert (await converse(device, command)).answers == ["Thank you."]
    assert await asking == {"id": "yes", "sentence": "yes please", "slots": {}}


async def test_what_was_said_comes_with_its_slots_or_as_it_was_understood(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    device = await boot(NEW)
    for number, (said, which, slots) in enumerate(
        (("in ten minutes", "later", {"minutes": "ten"}), ("what garage", None, {})), 1
    ):
        await speech.use(tts_engine=speech.voice.entity_id)
        speech.recognizer.lines = [said]
        asking = hass.async_create_task(ask(hass))
        await device.wait_announced(number)
        # If the voice is gone, the thanks are only shown.
        await speech.use(tts_engine="tts.gone")
        answer = await converse(device, command, word=f"hello {number}")
        assert (answer.answers, answer.played_seconds) == (["Thank you."], 0)
        assert await asking == {"id": which, "sentence": said, "slots": slots}


@pytest.mark.parametrize("ends", ["reload", "removal", "disabling", "reload in the answer"])
async def test_it_ends_with_the_satellite(
    hass: HomeAssistant, boot: Boot, speech: Speech, linked_entry: MockConfigEntry, ends: str
) -> None:
    device, asking = await begin_asking(hass, boot)
    await asyncio.sleep(5)
    match ends:
        case "removal":
            hass.config_entries.async_remove_subentry(linked_entry, *linked_entry.subentries)
        case "disabling":
            er.async_get(hass).async_update_entity(SATELLITE, disabled_by=er.RegistryEntryDisabler.USER)
        case _:
            if ends == "reload in the answer":
                await device.wake()
            assert await hass.config_entries.async_reload(linked_entry.entry_id)
    began = hass.loop.time()
    with pytest.raises(HomeAssistantError, match="gateway was stopped or the device was removed"):
        await asking
    assert hass.loop.time() - began < 10


async def test_no_answer_is_a_result_too(hass: HomeAssistant, boot: Boot, speech: Speech) -> None:
    device = await boot(NEW)
    nothing = {"id": None, "sentence": None, "slots": {}}
    began = hass.loop.time()
    assert await ask(hass, timeout=20) == nothing
    assert hass.loop.time() - began == pytest.approx(25, abs=3)
    asking = hass.async_create_task(ask(hass))
    await device.wait_announced(2)
    await device.wake()
    await device.wait_state(State.IDLE, 30)
    assert await asking == nothing


async def test_what_was_said_before_the_question_is_no_answer(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    device = await boot(NEW)
    speech.recognizer.lines = [COMMAND, "yes"]
    before = hass.async_create_task(announce(hass, "This takes some time. " * 10))
    await is_heard(device)
    asking = hass.async_create_task(ask(hass))
    await asyncio.sleep(1)
    # The user interrupts the announcement, and the question is asked in the conversation.
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: QUESTION in device.screen.captions, 30)
    await device.wait_state(State.LISTENING, 10)
    device.say(command)
    await device.wait_state(State.IDLE, 30)
    with pytest.raises(HomeAssistantError, match="interrupted"):
        await before
    assert hass.states.is_state(LIGHT, "on")
    assert await asking == YES


async def test_an_answer_that_has_begun_in_time_is_heard_to_the_end(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    speech.recognizer.lines = ["yes"]
    speech.recognizer.may_go_on.clear()
    device, asking = await begin_asking(hass, boot, timeout=10)
    await asyncio.sleep(4)
    answering = hass.async_create_task(converse(device, command))
    await asyncio.sleep(15)
    speech.recognizer.may_go_on.set()
    assert (await answering).answers == ["Thank you."]
    assert await asking == YES


async def test_a_waiting_question_is_left_alone_by_other_announcements(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    speech.recognizer.lines = ["yes"]
    device, asking = await begin_asking(hass, boot)
    await announce(hass, "The door.")
    with pytest.raises(HomeAssistantError, match="asked something already"):
        await ask(hass)
    for action, text in (("start_conversation", "start_message"), ("ask_question", "question")):
        asked = {text: "And the door?"}
        with pytest.raises(HomeAssistantError, match="asked something already"):
            await act(hass, "assist_satellite", action, SATELLITE, returns=text == "question", **asked)
    await say(device, command)
    assert await asking == YES


async def test_home_assistants_own_actions_say_what_helps(
    hass: HomeAssistant, boot: Boot, speech: Speech
) -> None:
    await speech.use(conversation_engine=speech.agent.entity_id)
    device = await boot(NEW)
    for action, text in (("start_conversation", "start_message"), ("ask_question", "question")):
        asked = {text: QUESTION}
        with pytest.raises(HomeAssistantError, match="action Ask"):
            await act(hass, "assist_satellite", action, SATELLITE, returns=text == "question", **asked)
    assert not device.announcements


async def test_a_question_that_nobody_can_hear_or_see_fails_at_once(hass: HomeAssistant, boot: Boot) -> None:
    device = await boot(OLD)
    await wait_for_state(hass, BRIGHTNESS, "75")
    assert await failure_of(ask(hass, device_id=boot.device_id, timeout=600)) == "announcement_too_old"
    assert not alerts(device)


ASKED: dict[str, tuple[str | None, str, list[str]]] = {
    "our action": (None, "Turned on the switch", ["Thank you."]),
    "Home Assistant's": ("ask_question", "Turned on the switch", ["Thank you."]),
    "a conversation that it begins": ("start_conversation", "It is on.", ["I close it."]),
}
"""The action of Home Assistant's that asks, what is said before, and the answer to who has answered."""


# `test_meetings` has what waits behind our action.
@pytest.mark.parametrize(
    ("asks", "behind"),
    [
        *((asks, None) for asks in ASKED),
        *product([*ASKED][1:], [Rank.ANNOUNCEMENT, Rank.TIMER]),
    ],
)
async def test_in_a_conversation_the_device_listens_before_it_says_what_waits(
    hass: HomeAssistant, boot: Boot, speech: Speech, announcer: Announcer, asks: str, behind: Rank | None
) -> None:
    """While the channel is open. What waits is said after the answer, and is thanks enough."""
    action, before, after = ASKED[asks]
    speech.recognizer.lines = [COMMAND, "in ten minutes"]
    expected: Any = {"id": "later", "sentence": "in ten minutes", "slots": {"minutes": "ten"}}
    if action is None:
        asking = ask(hass)
    elif action == "ask_question":
        asked = {"question": QUESTION, "answers": ANSWERS}
        asking = act(hass, "assist_satellite", action, SATELLITE, returns=True, **asked)
    else:
        await speech.answer_with(before, *after, heard=speech.recognizer.lines)
        asking = act(hass, "assist_satellite", action, SATELLITE, start_message=QUESTION)
        expected = None
    device = await boot(OLD)
    await device.wake()
    task = hass.async_create_task(asking)
    await asyncio.sleep(0.1)
    if behind is not None:
        after = ["The door."] if expected else [*after, "The door."]
        door = Utterance(text="The door.", speech=beep(2), rank=behind)
        saying = hass.async_create_task(announcer.say(door))
    talk = await converse(device, speech.command, speech.command)
    assert await task == expected
    assert talk.answers == [before, QUESTION, *after]
    assert not talk.hung_up
    assert behind is None or (await saying).end is End.DONE


async def test_with_the_talk_button_what_waits_is_said_after_the_answer(
    hass: HomeAssistant, boot: Boot, speech: Speech, announcer: Announcer
) -> None:
    """The device rests between the question and the button, with an open channel."""
    await speech.answer_with("Which light?", heard=[COMMAND, "yes"])
    device = await boot(OLD)
    await push_to_talk(device, speech.command)
    await device.wait_for(lambda: device.screen.captions == ["Which light?"], 30)
    await device.wait_state(State.IDLE, 10)
    asking = hass.async_create_task(ask(hass))
    await device.wait_for(lambda: QUESTION in device.screen.captions, 30)
    saying = hass.async_create_task(announcer.say(Utterance(text="The door.", speech=beep(2))))
    await device.wait_state(State.IDLE, 30)
    await asyncio.sleep(1)
    assert device.screen.captions[-1] == QUESTION
    await push_to_talk(device, speech.command)
    assert await asking == YES
    assert (await saying).end is End.DONE
    assert device.screen.captions == ["Which light?", QUESTION, "The door."]


async def test_a_question_is_asked_after_a_ring_that_cannot_wait_for_it(
    hass: HomeAssistant, boot: Boot, speech: Speech, announcer: Announcer
) -> None:
    await speech.answer_with("It goes on. " * 12, heard=[COMMAND, "yes"])
    device = await boot(OLD)
    await device.wake()
    asking = hass.async_create_task(ask(hass))
    await asyncio.sleep(0.1)
    ring = Utterance(text="The pizza.", speech=beep(2), rank=Rank.TIMER)
    ringing = hass.async_create_task(announcer.say(ring))
    talk = await converse(device, speech.command, speech.command)
    assert (await ringing).end is End.DONE
    assert talk.answers[-3:] == ["The pizza.", QUESTION, "Thank you."]
    assert await asking == YES


async def test_sentences_that_cannot_be_matched_are_refused(
    hass: HomeAssistant, linked_entry: MockConfigEntry
) -> None:
    for sentences in ([], [""], ["yes."], ["(yes"], "x" * 2000):
        with pytest.raises(vol.Invalid):
            await ask(hass, answers=[{"id": "yes", "sentences": sentences}])
    with pytest.raises(ServiceValidationError, match="no XiaoZhi device with the id x"):
        await ask(hass, device_id="x", entity_id=SATELLITE)
