"""Somebody speaks while the device does, on boards that listen meanwhile."""

import asyncio
from collections import Counter
import json
from typing import Any

from homeassistant.const import EVENT_STATE_CHANGED
from homeassistant.core import HomeAssistant
import numpy as np
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from simulator import ListeningMode, SimulatedDevice, State, converse, get_profile
from simulator.audio.espeak import synthesize
from tests.integration.boxes import Speech, act, change_settings, hear_answer, state_of
from tests.integration.names import COMMAND, Boot

SWITCH = "switch.kitchen_box_interrupt_by_speaking"
CANCELS_ECHO = get_profile("s3", mode=ListeningMode.REALTIME)
OFF = "turn off the kitchen light"
# What is left of the loudspeaker's sound: 34 dB less.
ECHO = 0.02

pytestmark = pytest.mark.usefixtures("all_enabled")


@pytest.fixture
def switched_on(hass: HomeAssistant, all_enabled: None, linked_entry: MockConfigEntry) -> None:
    """The owner wants to interrupt by speaking."""
    change_settings(hass, linked_entry, interrupt_by_speaking=True)


@pytest.fixture(scope="session")
def next_command() -> bytes:
    """Another sentence: 16 kHz mono PCM."""
    pcm, _ = synthesize(OFF, speed=200, sample_rate=16000)
    return pcm


def loudness(pcm: bytes | bytearray) -> float:
    """Return the energy of a sound. Opus hardly changes it."""
    return float(np.sum(np.square(np.frombuffer(pcm, "<i2").astype(float))))


async def begin_long_answer(
    speech: Speech, device: SimulatedDevice, command: bytes, next_transcript: str = OFF
) -> None:
    long = "Listen to this. " + "word " * 21
    await speech.answer_with(long, "Good.", heard=[COMMAND, next_transcript])
    await hear_answer(device, command)


@pytest.mark.usefixtures("switched_on")
async def test_speaking_ends_the_answer_and_its_first_words_are_the_next_command(
    speech: Speech, boot: Boot, next_command: bytes, moments: list[dict[str, Any]]
) -> None:
    device = await boot(CANCELS_ECHO, echo=ECHO)
    await begin_long_answer(speech, device, speech.command)
    said = asyncio.get_running_loop().time()
    device.say(next_command)
    await device.wait_for(lambda: len(device.speaker.answers) == 2, 30)
    first, _ = device.speaker.answers
    # A third of a second of speech, the way of its packets, and 120 ms.
    assert first[-1] - said < 0.6
    await device.wait_state(State.IDLE, 30)
    assert speech.agent.heard == [COMMAND, OFF]
    await speech.hass.async_block_till_done()
    happened = [moment["event_type"] for moment in moments]
    assert [event for event in happened if event != "wake_word"] == [
        *("started", "heard", "answered", "interrupted", "heard", "answered", "ended")
    ]
    # All that was said, and no more than a bit of what came before.
    heard = speech.recognizer.streams[1]
    assert len(heard) / 32000 - len(next_command) / 32000 < 2
    assert loudness(heard) > 0.8 * loudness(next_command)


@pytest.mark.usefixtures("switched_on")
async def test_its_own_voice_does_not_interrupt_a_device_but_a_person_does(
    speech: Speech, boot: Boot, command: bytes, next_command: bytes
) -> None:
    """Echo cancellation leaves a rest of the answer, a packet late, in what the microphone hears."""
    speech.voice.says_words = True
    story = "The quick brown fox jumps over the lazy dog in the garden. " * 2
    await speech.answer_with(story, "Good.", heard=[COMMAND, OFF])
    device = await boot(CANCELS_ECHO, echo=ECHO)
    await hear_answer(device, command, 4)
    assert device.state is State.SPEAKING
    assert len(speech.recognizer.streams) == 1
    device.say(next_command)
    await device.wait_state(State.IDLE, 60)
    assert speech.agent.heard == [COMMAND, OFF]


@pytest.mark.usefixtures("switched_on")
async def test_a_device_that_hears_itself_does_as_if_nothing_was_said(
    speech: Speech, boot: Boot, command: bytes, next_command: bytes
) -> None:
    device = await boot(CANCELS_ECHO)
    await begin_long_answer(speech, device, command, "listen to this word word word")
    device.say(next_command)
    await device.wait_state(State.IDLE, 60)
    assert device.played_seconds < 5
    assert speech.agent.heard == [COMMAND]
    assert "I did not hear anything." not in device.screen.captions


async def test_what_is_said_right_after_an_answer_is_not_lost(
    hass: HomeAssistant, speech: Speech, boot: Boot, next_command: bytes
) -> None:
    await speech.answer_with("Which light do you mean?", "Good.", heard=[COMMAND, OFF])
    device = await boot(CANCELS_ECHO)
    await hear_answer(device, speech.command, 1.15)
    await device.wait_for(lambda: device.speaker.empty, 30)
    await asyncio.sleep(0.06)
    tone = (12000 * np.sin(2 * np.pi * 1000 / 16000 * np.arange(16000 // 5))).astype("<i2").tobytes()
    device.say(tone + next_command)
    await device.wait_state(State.IDLE, 60)
    assert speech.agent.heard == [COMMAND, OFF]
    heard = speech.recognizer.streams[1]
    assert loudness(heard) > 0.8 * loudness(tone + next_command)


async def test_devices_that_hear_while_speaking_have_a_switch_which_is_off(
    hass: HomeAssistant, speech: Speech, boot: Boot, next_command: bytes
) -> None:
    device = await boot()
    await converse(device, speech.command, word="hi")
    assert hass.states.get(SWITCH) is None
    await device.power_off()
    device = await boot(CANCELS_ECHO)
    await begin_long_answer(speech, device, speech.command)
    device.say(next_command)
    await device.wait_state(State.IDLE, 60)
    assert device.played_seconds == pytest.approx(6, abs=0.5)
    assert speech.agent.heard == [COMMAND]
    assert hass.states.is_state(SWITCH, "off")
    for action, state in (("turn_on", "on"), ("turn_off", "off")):
        await act(hass, "switch", action, SWITCH)
        await hass.async_block_till_done()
        assert hass.states.is_state(SWITCH, state)


async def test_a_build_that_removes_its_echo_has_the_switch_from_the_beginning(
    hass: HomeAssistant, speech: Speech, boot: Boot, next_command: bytes
) -> None:
    device = await boot(get_profile("camera"))
    await hass.async_block_till_done()
    assert hass.states.is_state(SWITCH, "off")
    await act(hass, "switch", "turn_on", SWITCH)
    await hass.async_block_till_done()
    assert hass.states.is_state(SWITCH, "on")
    await begin_long_answer(speech, device, speech.command)
    device.say(next_command)
    await device.wait_state(State.IDLE, 60)
    assert speech.agent.heard == [COMMAND, OFF]
    await device.power_off()
    # Echo cancellation can be switched off on the device, which its next conversation shows.
    device = await boot(get_profile("camera", mode=ListeningMode.AUTO))
    await converse(device, speech.command)
    await hass.async_block_till_done()
    state = state_of(hass, SWITCH)
    assert state.state == "unavailable"
    assert "restored" not in state.attributes


async def test_a_device_that_changes_its_mode_without_end_keeps_the_switch(
    hass: HomeAssistant, boot: Boot
) -> None:
    device = await boot()
    await device.wake()
    await device.wait_state(State.LISTENING, 10)
    changes = async_capture_events(hass, EVENT_STATE_CHANGED)
    for number in range(200):
        mode = ("realtime", "auto")[number % 2]
        await device._on.transport.send_text(json.dumps({"type": "listen", "state": "start", "mode": mode}))
        await asyncio.sleep(0.02)
    written = Counter(change.data["entity_id"] for change in changes)
    assert 2 <= written[SWITCH] <= 5


@pytest.mark.usefixtures("switched_on", "no_detector")
async def test_without_a_detector_the_switch_is_unavailable(
    hass: HomeAssistant, speech: Speech, boot: Boot, next_command: bytes
) -> None:
    device = await boot(CANCELS_ECHO)
    await begin_long_answer(speech, device, speech.command)
    assert hass.states.is_state(SWITCH, "unavailable")
    device.say(next_command)
    await device.wait_state(State.IDLE, 60)
    assert device.played_seconds == pytest.approx(6, abs=0.5)
