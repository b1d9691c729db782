"""When somebody has finished speaking; and what is cut off, typed or too fast disturbs no other turn."""

import asyncio
from unittest.mock import AsyncMock

from homeassistant.components.assist_pipeline.pipeline import PipelineInput
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.xiaozhi.protocol.conversation.conversation import Conversation
from custom_components.xiaozhi.protocol.transport.link import LinkClosedError, LinkKind
from custom_components.xiaozhi.timeouts import VoiceTimeouts
from simulator import Pace, SimulatedDevice, State, converse
from tests.integration.boxes import Speech, assert_nothing_lost, hear_answer, push_to_talk, wait_for_state
from tests.integration.names import COMMAND, LIGHT, NEW, SATELLITE, Boot
from tests.protocol.audio.sounds import hiss


async def test_a_replaced_conversation_ends_before_the_next_and_undisturbed(
    speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    speech.recognizer.stopping_seconds = 0.5
    speech.recognizer.lines = [COMMAND]
    first = await boot()
    await first.wake()
    await first.wait_for(lambda: bool(speech.recognizer.streams), 10)
    second = await boot()
    talk = await converse(second, command, word="hello again")
    assert talk.answers == ["Turned on the switch"]
    # What the first pipeline told while it ended is not in between.
    assert states[-4:] == ["listening", "processing", "responding", "idle"]
    assert states.count("processing") == 1


async def test_a_pipeline_without_an_end_does_not_block_the_next_conversation(
    hass: HomeAssistant, speech: Speech, boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    speech.recognizer.stopping_seconds = 60
    speech.recognizer.lines = [COMMAND, COMMAND]
    device = await boot()
    await device.wake()
    await device.wait_for(lambda: bool(speech.recognizer.streams), 10)
    began = asyncio.get_running_loop().time()
    await device.click()
    await device.wait_state(State.IDLE, 10)
    talk = await converse(device, speech.command, word="hello again")
    assert talk.answers == ["Turned on the switch"]
    assert hass.states.is_state(LIGHT, "on")
    await wait_for_state(hass, SATELLITE, "idle")
    assert (await converse(device, speech.command, word="hello again")).answers == ["Turned on the switch"]
    assert caplog.text.count("A voice pipeline of Kitchen box does not end") == 1, "it is waited for once"
    assert asyncio.get_running_loop().time() - began < 60, "it waited for the first pipeline"
    await asyncio.sleep(60)


async def test_a_device_that_leaves_at_once_cannot_start_pipelines_too_fast(
    speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    device = await boot()
    with monkeypatch.context() as broken:
        broken.setattr(Conversation, "show", AsyncMock(side_effect=LinkClosedError("the device has left")))
        await device.type(COMMAND)
        await device.wait_for(lambda: not device.channel_open, 20)
    await asyncio.sleep(VoiceTimeouts.quiet + 1)
    assert "Nothing has come from the voice pipeline" not in caplog.text
    began = asyncio.get_running_loop().time()
    for _ in range(30):
        await device.press()
        await device.release()
    await speech.hass.async_block_till_done()
    seconds = asyncio.get_running_loop().time() - began
    assert 0 < len(speech.recognizer.streams) <= 7 + seconds


async def test_an_unexpected_error_is_logged_once_and_the_next_one_is_answered(
    speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    with monkeypatch.context() as broken:
        broken.setattr(
            PipelineInput, "execute", AsyncMock(side_effect=LookupError("a fault of Home Assistant"))
        )
        await device.wake()
        await device.wait_for(lambda: not device.channel_open, 10)
        await device.wait_state(State.IDLE, 10)
    await wait_for_state(speech.hass, SATELLITE, "idle")
    assert caplog.text.count("Unexpected error in the conversation of Kitchen box") == 1
    assert "a fault of Home Assistant" in caplog.text
    caplog.clear()
    talk = await converse(device, speech.command, word="hello again")
    assert talk.answers == ["Turned on the switch"]
    assert speech.hass.states.is_state(LIGHT, "on")
    assert "Unexpected error" not in caplog.text


def stops(device: SimulatedDevice) -> int:
    """Return how often a device was told that an answer is over."""
    received = [event["message"] for event in device.events("received")]
    return sum(message.get("state") == "stop" for message in received)


# Unknown, such as that of a device whose check-in could not be read; and none.
@pytest.mark.parametrize("chip", ["esp32s3", None, "wroom", ""])
async def test_a_program_is_told_of_the_last_end_and_a_device_goes_idle_with_it(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, chip: str | None
) -> None:
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    boot.known.record.update(chip=chip)
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: not device.channel_open, 20)
    assert device.screen.captions == ["Turned on the switch"]
    assert stops(device) == (chip in {"wroom", ""})


async def test_a_typed_question_continues_the_conversation_and_an_alert_waits(
    hass: HomeAssistant, speech: Speech, boot: Boot, states: list[str]
) -> None:
    """Some clients send what was typed as a wake word, and no microphone follows."""
    await speech.answer_with("It is on.", "It is still on.")
    device = await boot()
    await converse(device, speech.command)
    await device.type("is it on")
    await device.wait_for(lambda: "It is still on." in device.screen.captions, 20)
    await device.wait_for(lambda: not device.channel_open, 20)
    await device.wait_state(State.IDLE)
    await wait_for_state(hass, SATELLITE, "idle")
    assert len(speech.recognizer.streams) == 1
    assert speech.agent.heard == [COMMAND, "is it on"]
    assert stops(device) == 1, "a program plays nothing until it is told that the answer is over"
    assert speech.agent.conversations[0] == speech.agent.conversations[1]
    assert states == ["listening", "processing", "responding", "idle", "processing", "responding", "idle"]
    await speech.answer_with("word " * 12)
    await device.wake("hello again")
    played, rung = device.played_seconds, device.speaker.own_seconds
    device.say(speech.command)
    await device.wait_for(lambda: device.played_seconds > played + 0.3, 20)
    ringing = [
        hass.async_create_task(
            boot.known.commands.show(status="Door", message=f"Ring {number}", emotion="happy")
        )
        for number in range(3)
    ]
    assert not device.screen.system_text
    await device.wait_for(lambda: device.screen.system_text == "Ring 2", 20)
    await device.wait_state(State.IDLE, 20)
    await device.wait_played()
    assert_nothing_lost(device)
    assert device.played_seconds >= played + 3
    assert device.speaker.own_seconds - rung == pytest.approx(3 * 0.84)
    await asyncio.gather(*ringing)


async def test_a_satellite_that_is_disabled_ends_its_answer_without_a_warning(
    hass: HomeAssistant, speech: Speech, boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    await speech.answer_with("It rains all day. " * 40)
    device = await boot()
    await device.wake()
    device.say(speech.command)
    await device.wait_state(State.SPEAKING, 30)
    er.async_get(hass).async_update_entity(SATELLITE, disabled_by=er.RegistryEntryDisabler.USER)
    await device.wait_state(State.IDLE, 5)
    await hass.async_block_till_done()
    assert "This is a bug" not in caplog.text


@pytest.mark.parametrize("ends", ["with our detector", "with an engine that finds it", "with neither"])
async def test_push_to_talk_records_as_long_as_the_button_is_held(
    hass: HomeAssistant, speech: Speech, boot: Boot, ends: str, request: pytest.FixtureRequest
) -> None:
    """23 s, most of them silence; each of them reaches speech recognition."""
    speech.recognizer.finds_the_end = ends == "with an engine that finds it"
    if ends == "with neither":
        request.getfixturevalue("no_detector")
    speech.recognizer.lines = [COMMAND]
    # At a quicker pace the channel would be stale by the end of so long a sentence.
    device = await boot(pace=Pace(waits=0.1, timeouts=1, main_loop_delay=0.001))
    await device.press()
    # Longer than anybody is waited for, and longer than any pause.
    spoken = bytes(16 * 32000) + speech.command + bytes(3 * 32000) + speech.command + bytes(2 * 32000)
    device.say(spoken)
    await device.wait_said(90)
    assert device.state is State.LISTENING
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 30)
    assert hass.states.is_state(LIGHT, "on")
    assert len(speech.recognizer.streams) == 1
    assert len(speech.recognizer.streams[0]) == pytest.approx(len(spoken), abs=0.5 * 32000)


async def test_a_button_held_in_silence_or_tapped_ends_the_conversation(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    await push_to_talk(device, hiss(2, 16000))
    await device.wait_for(lambda: not device.channel_open, 30)
    assert device.screen.captions == ["I did not hear anything."]
    assert speech.recognizer.ended.empty()
    assert hass.states.is_state(LIGHT, "off")
    # Not even a packet of silence arrives.
    await device.press()
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 30)


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
async def test_what_a_hole_in_the_wifi_holds_back_fits_into_the_play_queue(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    await speech.answer_with("word " * 30)
    device = await boot(NEW)
    await hear_answer(device, command, 2)
    device.cut_network()
    await asyncio.sleep(3)
    device.restore_network()
    await device.wait_state(State.IDLE, 30)
    # What its TCP has acknowledged comes on top; without the bound, 28 are dropped.
    assert device.speaker.dropped <= 3


@pytest.mark.parametrize("link", LinkKind)
async def test_a_button_pressed_again_before_its_release_begins_the_next_turn(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    """After a hole in the Wi-Fi, both arrive at once."""
    speech.recognizer.lines = [COMMAND, COMMAND]
    device = await boot()
    await device.press()
    device.say(command)
    await device.wait_said()
    device.cut_network()
    await device.release()
    await device.press()
    device.restore_network()
    device.say(command)
    await device.wait_said()
    assert device.state is State.LISTENING
    await device.release()
    await device.wait_for(lambda: "Turned on the switch" in device.screen.captions, 20)
    assert hass.states.is_state(LIGHT, "on")


async def test_a_message_after_an_answer_fails_if_the_user_hangs_up_in_it(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    await speech.answer_with("word " * 12)
    device = await boot()
    await hear_answer(device, command, 0.3)
    showing = hass.async_create_task(boot.known.commands.show(status="", message="The door", emotion="happy"))
    await device.click()
    await device.wait_state(State.LISTENING)
    await device.click()
    with pytest.raises(HomeAssistantError, match="conversation"):
        await showing
