"""Voice messages: spoken to one device, heard on others, and kept until somebody hears them."""

import asyncio

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.quiet.do_not_disturb import DoNotDisturb
from custom_components.xiaozhi.guests.spoken.sentence_files import async_write_sentences
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import VoiceTimeouts
from simulator import ListeningMode, State, get_profile
from simulator.audio.sound import likeness
from tests.integration.boxes import (
    Speech,
    alerts,
    call_action,
    change_settings,
    failure_of,
    wait_for_state,
)
from tests.integration.messages.speaking import PROMPT, listens, send, sounds, speak_to
from tests.integration.names import COMMAND, NEW, OLD, OTHER_MAC, Boot

LINK = LinkKind.MQTT
BOTH_LINKS = pytest.mark.parametrize("link", LinkKind)

pytestmark = pytest.mark.usefixtures("wall_clock")

FROM_KITCHEN = "A message from Kitchen box."
# Opus, a resampler and the noise of neither.
ALIKE = 0.9


@BOTH_LINKS
async def test_a_message_is_spoken_to_one_device_and_heard_on_the_other(
    hass: HomeAssistant, boot: Boot, speech: Speech, message: bytes, bedroom: Device, link: LinkKind
) -> None:
    kitchen, other = await boot(NEW), await boot(NEW, mac=OTHER_MAC)
    await send(kitchen, speech, message, boot.device_ids)
    assert kitchen.screen.captions[-2:] == [PROMPT, "Sent."]
    # No engine has had it.
    assert len(speech.recognizer.streams) == 1
    if link is LinkKind.MQTT:
        heard = await other.wait_announced()
        assert [text for _, text in heard.shown] == [FROM_KITCHEN]
        pcm = heard.pcm
    else:
        assert len(bedroom.state.owned["messages"]) == len(sounds(hass)) == 1
        await asyncio.sleep(300)
        await other.wake("good evening")
        await other.wait_for(lambda: bool(other.screen.captions), 30)
        assert other.screen.captions[0].startswith("A message from Kitchen box, ")
        await other.wait_state(State.LISTENING, 60)
        pcm = other.speaker.played_pcm
    assert likeness(message, 16000, pcm, other.speaker.rate) > ALIKE
    await asyncio.sleep(3)
    assert not bedroom.state.owned["messages"]
    assert not sounds(hass)


async def test_what_cannot_be_heard_now_is_shown_and_heard_before_anything_else(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    """Two messages for an idle device whose firmware cannot speak then; its owner lets it show texts."""
    change_settings(speech.hass, boot.entry, show_announcements=True)
    kitchen, other = await boot(OLD), await boot(OLD, mac=OTHER_MAC)
    for word in ("hello", "hello again"):
        await send(kitchen, speech, message, boot.device_ids, word=word)
    assert [alert["message"] for alert in alerts(other)] == [FROM_KITCHEN] * 2
    # A restart loses nothing, and plays nothing by itself.
    assert await speech.hass.config_entries.async_reload(boot.entry.entry_id)
    await wait_for_state(speech.hass, "binary_sensor.bedroom_box_connectivity", "on", 30)
    known = boot.entry.runtime_data.devices[OTHER_MAC]
    assert len(known.state.owned["messages"]) == len(sounds(speech.hass)) == 2
    played = other.played_seconds
    await asyncio.sleep(600)
    assert other.played_seconds == played
    await speech.answer_with("Fine.")
    await other.wake("good morning")
    await other.wait_for(lambda: len(other.screen.captions) == 2, 60)
    await other.wait_state(State.LISTENING, 60)
    assert all(text.startswith("A message from Kitchen box, ") for text in other.screen.captions)
    assert other.played_seconds - played > 2 * len(message) / 32000
    other.say(speech.command)
    await other.wait_state(State.IDLE, 60)
    assert other.screen.captions[-1] == "Fine."
    assert not known.state.owned["messages"]
    assert not sounds(speech.hass)


async def test_who_interrupts_a_message_hears_it_the_next_time(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    kitchen, other = await boot(NEW), await boot(NEW, mac=OTHER_MAC)
    await send(kitchen, speech, message, boot.device_ids)
    await other.wait_for(lambda: bool(other.announcements and other.announcements[0].played), 30)
    await other.wake("good evening")
    await other.wait_state(State.LISTENING, 10)
    await other.wait_state(State.IDLE, 60)
    assert other.screen.captions == [FROM_KITCHEN, "I did not hear anything."]
    for number in range(2):
        await other.wake(f"good evening {number}")
        await other.wait_for(lambda: other.state is State.SPEAKING, 30)
        if number == 0:
            # By the button, the device closes its channel or listens.
            await other.click()
        else:
            await other.wait_state(State.LISTENING, 60)
            await other.leave()
        await other.wait_state(State.IDLE, 60)
        assert bool(bedroom.state.owned["messages"]) is (number == 0)


async def test_two_who_send_each_other_a_message_lose_none(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    """The message of the one arrives while the other one is asked to speak."""
    kitchen, other = await boot(OLD), await boot(OLD, mac=OTHER_MAC)
    await speech.answer_with("Fine.", "Fine. " * 12, heard=[COMMAND] * 2)
    first, second = boot.device_ids
    await kitchen.wake()
    kitchen.say(speech.command)
    await other.wake("good evening")
    sending = [
        speech.hass.async_create_task(call_action(speech.hass, "send_voice_message", [to], sender=sender))
        for sender, to in ((first, second), (second, first))
    ]
    for device in (kitchen, other):
        if device is other:
            other.say(speech.command)
        await device.wait_for(lambda device=device: PROMPT in device.screen.captions, 30)
        await device.wait_state(State.LISTENING, 30)
        device.say(message)
    await asyncio.gather(*sending)
    await other.wait_state(State.IDLE, 60)
    assert other.screen.captions[-3:] == [PROMPT, "Sent.", FROM_KITCHEN]
    await asyncio.sleep(3)
    # The kitchen is idle again when its message comes, and cannot speak then.
    known = {
        device.name: len(device.state.owned["messages"])
        for device in boot.entry.runtime_data.devices.values()
    }
    assert known == {"Kitchen box": 1, "Bedroom box": 0}


@pytest.mark.usefixtures("no_detector")
async def test_where_our_detector_cannot_run_a_message_ends_with_what_was_said(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    kitchen = await boot(OLD)
    await speech.hass.async_block_till_done()
    began = speech.hass.loop.time()
    await send(kitchen, speech, message, boot.device_ids)
    assert kitchen.screen.captions[-1] == "Sent."
    assert speech.hass.loop.time() - began < 40
    (file,) = sounds(speech.hass)
    assert file.stat().st_size < 40_000
    saying = speak_to(kitchen, speech, bytes(32000), boot.device_ids, word="hello again")
    assert await failure_of(saying) == "message_not_spoken"
    assert len(bedroom.state.owned["messages"]) == 1


@pytest.mark.parametrize("ends", ["silence", "button", "power"])
async def test_a_message_ends_with_what_was_said(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device, ends: str
) -> None:
    """The button ends it, as does the loss of power; without a word there is none."""
    kitchen = await boot(OLD)
    silent = ends == "silence"
    sending = speech.hass.async_create_task(
        speak_to(kitchen, speech, bytes(32000) if silent else message * 3, boot.device_ids)
    )
    await listens(kitchen)
    if not silent:
        await asyncio.sleep(3)
        await (kitchen.click() if ends == "button" else kitchen.power_off())
        await sending
    else:
        assert await failure_of(sending) == "message_not_spoken"
        await kitchen.wait_for(lambda: kitchen.screen.captions[-1] == "Cancelled.", 10)
    await asyncio.sleep(1)
    assert len(bedroom.state.owned["messages"]) == len(sounds(speech.hass)) == (0 if silent else 1)


@BOTH_LINKS
async def test_both_are_told_that_the_end_of_a_message_is_missing(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device, link: LinkKind
) -> None:
    """The sender's Wi-Fi is lost in the middle of it."""
    kitchen, other = await boot(OLD), await boot(OLD, mac=OTHER_MAC)
    talk = speak_to(kitchen, speech, message * 2, boot.device_ids)
    sending = speech.hass.async_create_task(talk)
    await listens(kitchen)
    await asyncio.sleep(3)
    kitchen.cut_network()
    await sending
    await asyncio.sleep(10)
    kitchen.restore_network()
    await asyncio.sleep(30)
    for device, sentence in ((kitchen, "Sent."), (other, "A message from Kitchen box")):
        await device.wake("good evening")
        await device.wait_state(State.IDLE, 60)
        shown = " ".join(device.screen.captions[-2:])
        assert shown.startswith(sentence)
        assert shown.endswith("The end is missing.")


@BOTH_LINKS
async def test_somebody_asks_for_it_by_a_sentence_also_if_undisturbed(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    kitchen, other = await boot(OLD), await boot(OLD, mac=OTHER_MAC)
    speech.recognizer.lines = ["send a voice message to the bedroom box"]
    await async_write_sentences(speech.hass, ["en"])
    (known,) = (each for each in boot.entry.runtime_data.devices.values() if each is not bedroom)
    await known.part(DoNotDisturb).async_switch(True)
    await kitchen.wake()
    kitchen.say(speech.command)
    await kitchen.wait_for(lambda: PROMPT in kitchen.screen.captions, 30)
    assert kitchen.screen.captions[0] == "A voice message to Bedroom box."
    await kitchen.wait_state(State.LISTENING, 30)
    kitchen.say(message)
    await kitchen.wait_state(State.IDLE, 60)
    assert kitchen.screen.captions[-1] == "Sent."
    await other.wake("good evening")
    await other.wait_for(lambda: bool(other.screen.captions), 30)
    await other.wait_state(State.LISTENING, 60)
    await asyncio.sleep(3)
    assert not bedroom.state.owned["messages"]


@pytest.mark.timeouts(VoiceTimeouts, message=15)
async def test_a_microphone_that_is_never_off_records_until_the_time_is_over(
    boot: Boot, speech: Speech, message: bytes, bedroom: Device
) -> None:
    """And nothing of what the device itself says; it plays the message before it listens."""
    always = get_profile("s3", mode=ListeningMode.REALTIME)
    kitchen, other = await boot(always), await boot(always, mac=OTHER_MAC)
    long = message * (25 * 32000 // len(message))
    await send(kitchen, speech, long, boot.device_ids)
    assert kitchen.screen.captions[-1] == "Sent."
    (file,) = sounds(speech.hass)
    assert 50_000 < file.stat().st_size < 100_000
    await other.wake("good evening")
    await other.wait_for(lambda: bool(other.screen.captions), 30)
    await other.wait_state(State.LISTENING, 90)
    assert other.played_seconds == pytest.approx(16.5, abs=1)
    assert likeness(long[: 10 * 32000], 16000, other.speaker.played_pcm, other.speaker.rate) > ALIKE
    await asyncio.sleep(3)
    assert not bedroom.state.owned["messages"]
