"""A conversation of more than one turn, and an answer of more than one sentence."""

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import State, converse
from simulator.audio.espeak import synthesize
from tests.integration.boxes import COMMAND, LIGHT, Boot, Speech, change_settings, wait_for_state

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("all_enabled")


@pytest.mark.parametrize("word", ["no", "stop"])
async def test_a_single_word_answers_a_question(
    speech: Speech, boot: Boot, command: bytes, word: str
) -> None:
    """Whisper's transcripts begin with a space, which is not shown."""
    short, _ = synthesize(word, speed=150, sample_rate=16000)
    await speech.answer_with("Shall I?", "As you like.", heard=[f" {COMMAND}", word])
    talk = await converse(await boot(), command, short)
    assert talk.heard == [COMMAND, word]
    assert talk.answers == ["Shall I?", "As you like."]


async def test_an_open_conversation_goes_on_until_nobody_speaks(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, linked_entry: MockConfigEntry
) -> None:
    conversations = {"entity_id": "select.kitchen_box_conversations", "option": "open"}
    await hass.services.async_call("select", "select_option", conversations, blocking=True)
    (subentry,) = linked_entry.subentries.values()
    assert subentry.data["conversation_style"] == "open"
    speech.recognizer.lines = [COMMAND, "turn off the kitchen light"]
    talk = await converse(await boot(), command, command)
    assert hass.states.is_state(LIGHT, "off")
    assert talk.answers == ["Turned on the switch", "Turned off the switch"]
    assert not talk.hung_up


async def test_push_to_talk_in_an_open_conversation_is_idle_until_the_button_is_pressed_again(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, linked_entry: MockConfigEntry
) -> None:
    change_settings(hass, linked_entry, conversation_style="open")
    speech.recognizer.lines = [COMMAND] * 2
    device = await boot()
    for _ in range(2):
        await device.press()
        device.say(command)
        await device.wait_said()
        await device.release()
        for state in ("speaking", "idle"):
            await wait_for_state(hass, "sensor.kitchen_box_conversation_state", state, 10)
        await device.wait_state(State.IDLE, 5)
        assert device.channel_open, "it was idle because the conversation was over"


async def test_a_long_answer_is_spoken_while_it_is_still_written(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    sentences = ["This is the first sentence of a long answer.", "Here is one more.", "The end."]
    await speech.answer_with(" |".join(sentences))
    await speech.use(tts_engine=speech.streaming_voice.entity_id)
    talk = await converse(await boot(), command)
    assert talk.answers == sentences
    assert talk.played_seconds == pytest.approx(len(" ".join(sentences)) / 20, abs=0.2)
    # In more than one piece.
    assert len(speech.streaming_voice.spoken) >= 2
