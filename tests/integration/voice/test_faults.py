"""A person talks to a device, and something breaks: the screen says so, and the next one is answered."""

import asyncio
from collections import Counter
import logging
import pkgutil
from typing import Any
from unittest.mock import patch

from homeassistant.const import EVENT_STATE_CHANGED, MAJOR_VERSION, MINOR_VERSION
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.xiaozhi.device.bounds import TURNS
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import VoiceTimeouts
from custom_components.xiaozhi.voice.repeated_prompt import repeats_prompt
from simulator import State, converse
from simulator.audio.espeak import synthesize
from tests.integration.boxes import Speech, choose, hear_answer, push_to_talk, say, wait_for_state
from tests.integration.names import COMMAND, LIGHT, SATELLITE, Boot
from tests.protocol.audio.sounds import hiss, samples

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("all_enabled")

CONVERSATION_STATE = "sensor.kitchen_box_conversation_state"
NOT_UNDERSTOOD = "Sorry, I did not understand that."
FAILED = "Something went wrong. See the voice assistant's debug page in Home Assistant."


@pytest.mark.parametrize("transcript", ["word " * 100_000, 5], ids=["endless", "no text"])
async def test_what_nobody_can_have_said_goes_to_no_assistant(
    speech: Speech, boot: Boot, command: bytes, caplog: pytest.LogCaptureFixture, transcript: Any
) -> None:
    speech.recognizer.lines = [transcript] * 3
    device = await boot()
    await say(device, command)
    assert device.screen.captions == [FAILED]
    assert not [record for record in caplog.records if record.levelno == logging.ERROR]


async def test_the_screen_says_why_there_is_no_answer(
    speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    """Silence, what was not understood, a failure, and no engine, as in every fresh Home Assistant."""
    device = await boot()
    await device.wake()
    await device.wait_for(lambda: bool(device.screen.captions), 10)
    shown = asyncio.get_running_loop().time()
    await device.wait_state(State.IDLE, 15)
    assert asyncio.get_running_loop().time() - shown > 2, "nobody can read that"
    assert device.screen.captions == ["I did not hear anything."]
    speech.recognizer.lines = ["", None]
    for word, text in (("hello again", NOT_UNDERSTOOD), ("hi", FAILED)):
        device.screen.captions.clear()
        device.screen.emotions.clear()
        await say(device, command, word)
        assert device.screen.captions == [text]
        assert "confused" in device.screen.emotions
        assert [event["state"] for event in device.events("state")][-3:] == ["listening", "speaking", "idle"]
    assert states == ["listening", "idle"] * 3
    await speech.use(stt_engine=None, stt_language=None)
    device.screen.captions.clear()
    await say(device, b"", "hi again")
    (caption,) = device.screen.captions
    assert caption.startswith("This voice assistant has no speech recognition. Choose one")


@pytest.mark.skipif((MAJOR_VERSION, MINOR_VERSION) < (2026, 11), reason="had no codes for these")
async def test_an_assistant_that_may_not_answer_says_why(speech: Speech, boot: Boot, command: bytes) -> None:
    device = await boot()
    for error, text in (
        ("components.conversation.ConversationBusyError", "I am still busy with the last request."),
        ("exceptions.Unauthorized", "I may not continue this conversation."),
    ):
        raised = pkgutil.resolve_name(f"homeassistant.{error}")(None)
        speech.recognizer.lines = [COMMAND]
        with patch("homeassistant.components.conversation.async_converse", side_effect=raised):
            await say(device, command, f"hello {error}")
        assert device.screen.captions[-1].startswith(text)


async def test_a_turn_in_which_nobody_speaks_costs_nothing_and_is_no_command(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    """A recognition that is paid for by the second, or that makes words of noise, is sent nothing."""
    word, _ = synthesize("no", voice="en+m3", sample_rate=16000)
    begins = next(number for number, sample in enumerate(samples(word)) if abs(sample) > 300)
    half_a_word = word[2 * begins :][:3200]
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    await say(device, bytes(16000) + hiss(1, 16000))
    await say(device, bytes(16000) + half_a_word, "hello again")
    assert [bytes(stream) for stream in speech.recognizer.streams] == [b"", b""]
    assert speech.recognizer.ended.empty()
    assert hass.states.is_state(LIGHT, "off")


async def test_names_that_speech_recognition_makes_of_a_noise_are_no_command(
    speech: Speech, boot: Boot, command: bytes, area_registry: ar.AreaRegistry
) -> None:
    """It repeats what it was given as a prompt. By the button or after an answer, somebody says it."""
    names = "Living room, Kitchen light, Bedroom"
    area_registry.async_create("Living Room")
    area_registry.async_create("Bedroom")
    await speech.answer_with("Which ones?", "They are on.", heard=[names, COMMAND, names])
    device = await boot()
    assert (await converse(device, command)).heard == []
    assert (await converse(device, command, command, word="hello")).heard == [COMMAND, names]
    await speech.answer_with("They are on.", "Which ones?", "They are on.", heard=[names, COMMAND, names])
    await push_to_talk(device, command)
    await device.wait_for(lambda: speech.agent.heard[-1] == names)


async def test_only_names_of_the_home_repeat_a_prompt(
    hass: HomeAssistant, speech: Speech, area_registry: ar.AreaRegistry
) -> None:
    area_registry.async_create("Living Room", aliases={"Wohnzimmer"})
    area_registry.async_create("Bedroom")
    for transcript, repeats in {
        "Kitchen light, bedroom, living room.": True,
        "Wohnzimmer、kitchen light，Bedroom,": True,
        "Kitchen light, kitchen light, kitchen light": False,
        "Bedroom, kitchen light": False,
        "Wohnzimmer,": False,
        "Wohnzimmer, bedroom, kitchen light, thank you.": False,
        ",": False,
    }.items():
        assert repeats_prompt(hass, transcript) is repeats, transcript


async def test_a_voice_that_fails_leaves_the_answer_on_the_screen_and_says_why(
    hass: HomeAssistant, speech: Speech, boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    device = await boot()
    for word, error in (("hello", OSError("the voice is out of order")), ("hello again", None)):
        speech.voice.error, speech.voice.fails = error, error is None
        speech.recognizer.lines = [COMMAND]
        await say(device, speech.command, word)
        assert device.screen.captions[-1].startswith("The voice is not ready.")
    assert hass.states.is_state(LIGHT, "on")
    assert hass.states.is_state(SATELLITE, "idle")
    assert "the voice is out of order" in caplog.text


async def test_an_engine_that_hangs_is_given_up(
    hass: HomeAssistant, speech: Speech, boot: Boot, moments: list[dict[str, Any]]
) -> None:
    device = await boot()
    for engine, reason, text in (
        ("recognizer", "stt-timeout", "Speech recognition is not ready."),
        ("agent", "intent-timeout", "The conversation agent is not ready."),
        ("voice", "tts-timeout", "The voice is not ready."),
    ):
        await speech.answer_with("Good.")
        may_go_on: asyncio.Event = getattr(speech, engine).may_go_on
        may_go_on.clear()
        await say(device, speech.command, f"hello {engine}")
        may_go_on.set()
        assert [moment["reason"] for moment in moments if moment["event_type"] == "failed"] == [reason]
        assert device.screen.captions[-1].startswith(text)
        assert not device.channel_open
        assert hass.states.is_state(SATELLITE, "idle")
        assert hass.states.is_state(CONVERSATION_STATE, "idle")
        moments.clear()


@pytest.mark.timeouts(VoiceTimeouts, quiet=0.7)
async def test_an_assistant_that_works_and_an_answer_that_plays_are_not_given_up(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    # Written in 1.2 s and spoken in 2.
    await speech.answer_with("|".join(["so"] * 20))
    talk = await converse(await boot(), command)
    assert talk.played_seconds == pytest.approx(2, abs=0.2)
    assert talk.answers == ["so" * 20]


@pytest.mark.parametrize(("link", "left"), [(LinkKind.WEBSOCKET, "idle"), (LinkKind.MQTT, "unavailable")])
async def test_a_device_that_loses_power_in_mid_answer_leaves_nothing_behind(
    hass: HomeAssistant, speech: Speech, boot: Boot, states: list[str], left: str
) -> None:
    """A device that should stay connected is known to be away."""
    await speech.answer_with("word " * 60)
    device = await boot()
    await hear_answer(device, speech.command, 0.3)
    await device.power_off()
    await wait_for_state(hass, SATELLITE, left)
    assert states == ["listening", "processing", "responding", left]
    assert hass.states.is_state(CONVERSATION_STATE, left)


async def test_a_single_word_answers_a_question(speech: Speech, boot: Boot, command: bytes) -> None:
    """Whisper's transcripts begin with a space, which is not shown."""
    device = await boot()
    for word in ("no", "stop"):
        short, _ = synthesize(word, speed=150, sample_rate=16000)
        await speech.answer_with("Shall I?", "As you like.", heard=[f" {COMMAND}", word])
        talk = await converse(device, command, short, word=f"hello {word}")
        assert talk.heard == [COMMAND, word]
        assert talk.answers == ["Shall I?", "As you like."]


async def test_an_open_conversation_goes_on_until_nobody_speaks(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    await choose(hass, "select.kitchen_box_conversations", "open")
    (subentry,) = boot.entry.subentries.values()
    assert subentry.data["conversation_style"] == "open"
    speech.recognizer.lines = [COMMAND, "turn off the kitchen light", COMMAND, COMMAND]
    device = await boot()
    talk = await converse(device, command, command)
    assert hass.states.is_state(LIGHT, "off")
    assert talk.answers == ["Turned on the switch", "Turned off the switch"]
    assert not talk.hung_up
    for _ in range(2):
        await push_to_talk(device, command)
        for state in ("speaking", "idle"):
            await wait_for_state(hass, CONVERSATION_STATE, state, 10)
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


async def test_a_sentence_is_shown_although_the_model_pauses_before_its_end(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    begin = "Let me look that up for you right now, it will only take me a moment"
    await speech.answer_with(f"{begin}|, or two. Here it is.")
    speech.agent.pause = 25
    await speech.use(tts_engine=speech.streaming_voice.entity_id)
    device = await boot()
    await hear_answer(device, command)
    await asyncio.sleep(8)
    assert device.screen.captions[-1] == begin
    await device.wait_state(State.IDLE, 120)
    assert " ".join(device.screen.captions).endswith(f"{begin} , or two. Here it is.")


@pytest.mark.parametrize("answer", ["👍", ".", "…!"])
async def test_an_answer_without_a_word_is_shown_and_needs_no_voice(
    speech: Speech, boot: Boot, command: bytes, answer: str
) -> None:
    speech.voice.error = OSError("no sound for this")
    await speech.answer_with(answer)
    device = await boot()
    talk = await converse(device, command)
    assert talk.answers == [answer]
    assert "confused" not in str(device.events("received"))
    assert talk.played_seconds == 0


async def test_turns_that_no_person_causes_do_not_fill_the_database(
    hass: HomeAssistant, speech: Speech, boot: Boot, known: Device
) -> None:
    """A device gone bad begins one each second; it gets six hundred, and then one in fifteen seconds."""
    device = await boot()
    for _ in range(630):
        assert known.bounds.take(TURNS)
        await asyncio.sleep(1)
    changes = async_capture_events(hass, EVENT_STATE_CHANGED)
    for _ in range(60):
        await device.click()
        await asyncio.sleep(0.5)
        await device.click()
        await asyncio.sleep(0.5)
    written = Counter(change.data["entity_id"] for change in changes)
    # In each it listens, and is idle. So many are left of the first, and come back meanwhile.
    assert 10 < written[SATELLITE] / 2 <= 600 - 630 + (630 + 60) / 15 + 1
