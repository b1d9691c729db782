"""A conversation of more than one turn, and an answer of more than one sentence."""

import asyncio
from collections.abc import AsyncGenerator

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State
from simulator.audio.espeak import synthesize
from tests.integration.both_links import (
    boot_both,
    converse_with_both,
    paired_on_both,
    states_of_both,
    word_for,
)
from tests.integration.boxes import COMMAND, LIGHT, Boot, Speech, wait_for_state

pytestmark = pytest.mark.usefixtures("all_enabled")


@pytest.fixture
def link() -> LinkKind:
    """The gateway offers MQTT; a device may want the other link."""
    return LinkKind.MQTT


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """A device on each link."""
    return paired_on_both()


@pytest.fixture
async def states(hass: HomeAssistant) -> AsyncGenerator[dict[LinkKind, list[str]]]:
    """The states that each satellite goes through from the first time that it listens."""
    with states_of_both(hass) as seen:
        yield seen


def sent(device: SimulatedDevice, kind: str, state: str | None = None) -> list[dict[str, object]]:
    """Return what the device was sent."""
    messages = [data["message"] for data in device.events("received")]
    return [
        message
        for message in messages
        if message["type"] == kind and (state is None or message.get("state") == state)
    ]


async def test_a_question_back_opens_the_microphone_again(
    speech: Speech,
    boot: Boot,
    command: bytes,
    subtests: pytest.Subtests,
    states: dict[LinkKind, list[str]],
) -> None:
    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.agent.lines = ["Which light? 🤔 Say it?"] * 2 + ["Done."] * 2
    speech.recognizer.lines = [COMMAND, COMMAND, "the kitchen light", "the kitchen light"]
    talks = await converse_with_both(await boot_both(boot), command, command)
    for kind, talk in talks.items():
        with subtests.test(str(kind)):
            assert talk.heard == [COMMAND, "the kitchen light"]
            assert talk.answers == ["Which light?", "🤔 Say it?", "Done."]
            assert "thinking" in talk.emotions
            assert not talk.hung_up
            assert states[kind] == ["listening", "processing", "responding", "idle"] * 2
    assert speech.agent.heard == [COMMAND] * 2 + ["the kitchen light"] * 2


@pytest.mark.parametrize("word", ["no", "yes", "stop", "on"])
async def test_a_single_word_answers_a_question(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests, word: str
) -> None:
    short, _ = synthesize(word, speed=150, sample_rate=16000)
    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.agent.lines = ["Shall I?"] * 2 + ["As you like."] * 2
    speech.recognizer.lines = [COMMAND, COMMAND, word, word]
    talks = await converse_with_both(await boot_both(boot), command, short)
    for kind, talk in talks.items():
        with subtests.test(str(kind)):
            assert talk.heard == [COMMAND, word]
            assert talk.answers == ["Shall I?", "As you like."]


@pytest.mark.own_home
async def test_an_open_conversation_goes_on_until_nobody_speaks(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    linked_entry: MockConfigEntry,
    subtests: pytest.Subtests,
) -> None:
    for subentry in linked_entry.subentries.values():
        hass.config_entries.async_update_subentry(
            linked_entry, subentry, data={**subentry.data, "conversation_style": "open"}
        )
    off = "turn off the kitchen light"
    speech.recognizer.lines = [COMMAND, COMMAND, off, off]
    talks = await converse_with_both(await boot_both(boot), command, command)
    assert hass.states.is_state(LIGHT, "off")
    for kind, talk in talks.items():
        with subtests.test(str(kind)):
            assert talk.heard == [COMMAND, off]
            assert talk.answers == ["Turned on the switch", "Turned off the switch"]
            assert not talk.hung_up
            assert "I did not hear anything." not in talk.answers


@pytest.mark.own_home
async def test_push_to_talk_in_an_open_conversation_is_idle_until_the_button_is_pressed_again(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    linked_entry: MockConfigEntry,
    subtests: pytest.Subtests,
) -> None:
    async def talk(kind: LinkKind, device: SimulatedDevice) -> None:
        await device.press()
        device.say(command)
        await device.wait_said()
        await device.release()
        await wait_for_state(hass, f"sensor.{kind}_box_conversation_state", "speaking", 10)
        await wait_for_state(hass, f"sensor.{kind}_box_conversation_state", "idle", 10)
        await device.wait_state(State.IDLE, 5)

    for subentry in linked_entry.subentries.values():
        hass.config_entries.async_update_subentry(
            linked_entry, subentry, data={**subentry.data, "conversation_style": "open"}
        )
    speech.recognizer.lines = [COMMAND] * 4
    devices = await boot_both(boot)
    for _ in range(2):
        await asyncio.gather(*(talk(kind, device) for kind, device in devices.items()))
        for kind, device in devices.items():
            with subtests.test(str(kind)):
                assert device.channel_open, "it was idle because the conversation was over"


async def test_a_long_answer_is_spoken_while_it_is_still_written(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    await speech.use(conversation_engine=speech.agent.entity_id, tts_engine=speech.streaming_voice.entity_id)
    speech.agent.lines = ["This is the first sentence of a long answer. |Here is one more. |The end."] * 2
    speech.recognizer.lines = [COMMAND] * 2
    talks = await converse_with_both(await boot_both(boot), command)
    for kind, talk in talks.items():
        with subtests.test(str(kind)):
            assert talk.answers == [
                "This is the first sentence of a long answer.",
                "Here is one more.",
                "The end.",
            ]
            assert talk.played_seconds == pytest.approx(len(" ".join(talk.answers)) / 20, abs=0.2)
    # Each in more than one piece.
    assert len(speech.streaming_voice.spoken) >= 2 * len(talks)


async def test_the_button_silences_the_answer_at_once_and_listens_again(
    speech: Speech,
    boot: Boot,
    command: bytes,
    subtests: pytest.Subtests,
    states: dict[LinkKind, list[str]],
) -> None:
    at_once: dict[LinkKind, tuple[float, int]] = {}

    async def interrupt(kind: LinkKind, device: SimulatedDevice) -> None:
        await device.wake(word_for(kind))
        device.say(command)
        await device.wait_for(lambda: device.played_seconds > 0.6, 20)
        await device.click()
        await device.wait_state(State.LISTENING, 5)
        at_once[kind] = device.played_seconds, len(sent(device, "tts", "stop"))
        device.say(command)
        await device.wait_state(State.IDLE, 20)

    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.agent.lines = ["word " * 60] * 2 + ["Good."] * 2
    speech.recognizer.lines = [COMMAND, COMMAND, "thank you", "thank you"]
    devices = await boot_both(boot)
    await asyncio.gather(*(interrupt(kind, device) for kind, device in devices.items()))
    for kind in devices:
        with subtests.test(str(kind)):
            played, stops = at_once[kind]
            assert played < 3
            assert stops == 1
            assert states[kind] == ["listening", "processing", "responding", "idle"] * 2
    assert speech.agent.heard == [COMMAND] * 2 + ["thank you"] * 2
