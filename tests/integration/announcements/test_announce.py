"""The action *Announce* of Home Assistant, over real sockets, with each kind of device."""

import asyncio
from contextlib import nullcontext
from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import area_registry as ar, device_registry as dr, intent
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.announcements.heard import End
from custom_components.xiaozhi.announcements.utterance import Rank, Utterance
from custom_components.xiaozhi.const import (
    CONF_ANNOUNCEMENT_VOLUME,
    CONF_SHOW_ANNOUNCEMENTS,
    EVENT_ANNOUNCEMENT_SKIPPED,
)
from custom_components.xiaozhi.device.state import DeviceState
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Misbehaviour, SimulatedDevice, State
from simulator.application.announcement import Announcement, Outcome
from tests.integration.announcements.sounds import beep, is_heard
from tests.integration.boxes import (
    BOTH,
    TWO_DEVICES,
    Speech,
    act,
    activity,
    alerts,
    announce,
    change_settings,
    wait_for_state,
)
from tests.integration.media.media_server import media_server, music
from tests.integration.names import (
    BRIGHTNESS,
    COMMAND,
    MAC,
    NEW,
    OLD,
    OTHER_MAC,
    OTHER_SATELLITE,
    SATELLITE,
    Boot,
)
from tests.protocol.audio.sounds import pitch_level

pytestmark = pytest.mark.usefixtures("speech")

# Ten seconds: a device has read the last of a short announcement before it is heard.
LONG_TEXT = "Dinner is ready. " * 12


async def test_an_announcement_is_spoken_and_shown_by_an_idle_device(
    hass: HomeAssistant, boot: Boot, speech: Speech
) -> None:
    device = await boot(NEW)
    await announce(hass, "Dinner is ready. Come to the table.")
    announcement = await device.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    assert announcement.underruns == 0
    assert announcement.ended <= hass.loop.time(), "it was said before the device had played it"
    assert [text for _, text in announcement.shown] == ["Dinner is ready.", "Come to the table."]
    assert pitch_level(announcement.pcm, device.speaker.rate, 440) > 5000
    assert speech.voice.spoken == ["Dinner is ready. Come to the table."]
    assert hass.states.is_state(SATELLITE, "idle")
    assert device.state is State.IDLE


@pytest.mark.usefixtures("ffmpeg")
async def test_media_are_announced_after_a_sound_of_the_owner_cut_to_its_limit(
    hass: HomeAssistant, boot: Boot
) -> None:
    device = await boot(NEW)

    async def announced(message: str | None, **data: Any) -> tuple[Announcement, float]:
        before = len(device.announcements)
        await announce(hass, message, **data)
        announcement = await device.wait_announced(before + 1)
        assert announcement.outcome is Outcome.PLAYED
        return announcement, len(announcement.pcm) / 2 / device.speaker.rate

    async with media_server() as server:
        one, two, long = (server.file(f"/{seconds}.mp3", music(seconds)) for seconds in (1, 2, 40))
        announcement, seconds = await announced("The door.", media_id=two, preannounce_media_id=one)
        assert seconds == pytest.approx(3.1, abs=0.2)
        ((at, text),) = announcement.shown
        assert text == "The door."
        assert at - announcement.played[0].time == pytest.approx(1, abs=0.1)
        # The usual sound of Home Assistant is left out.
        _, seconds = await announced(None, media_id=one)
        assert seconds == pytest.approx(1.1, abs=0.15)
        _, seconds = await announced("The door.", preannounce_media_id=long)
        assert seconds == pytest.approx(30.6, abs=0.3)
        _, seconds = await announced("The door.", preannounce_media_id=one, preannounce=False)
        assert seconds == pytest.approx(0.6, abs=0.15)


@pytest.mark.usefixtures("ffmpeg")
async def test_words_are_said_also_without_the_sound_before_them(
    hass: HomeAssistant, boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    device = await boot(NEW)
    renamed = "media-source://media_source/local/renamed.mp3"
    async with media_server() as server:
        damaged = server.file("/damaged.mp3", b"x" * 5000)
        for number, sound in enumerate((server.url("/gone.mp3"), damaged, renamed, "http://[", "nothing"), 1):
            await announce(hass, "The door.", preannounce_media_id=sound)
            ((_, text),) = (await device.wait_announced(number)).shown
            assert text == "The door."
            assert caplog.text.count("The sound before an announcement is left out") == number
            with pytest.raises((HomeAssistantError, ValueError)):
                await announce(hass, "The door.", media_id=sound)


async def test_a_text_without_end_is_refused_before_any_work_on_it(
    hass: HomeAssistant, boot: Boot, speech: Speech
) -> None:
    device = await boot(NEW)
    for action, text in (
        ("announce", "message"),
        ("ask_question", "question"),
        ("start_conversation", "start_message"),
    ):
        long = {text: "." * 4001}
        with pytest.raises(ServiceValidationError, match="4001 characters"):
            await act(hass, "assist_satellite", action, SATELLITE, returns=text == "question", **long)
    spoken = {"media_player_entity_id": "media_player.kitchen_box_speaker", "message": "." * 4001}
    with pytest.raises(ServiceValidationError, match="4001 characters"):
        await act(hass, "tts", "speak", speech.voice.entity_id, **spoken)
    assert not speech.voice.spoken
    assert not device.announcements


async def test_a_resting_device_speaks_at_once_while_its_channel_is_open(
    boot: Boot, announcer: Announcer, speech: Speech, command: bytes
) -> None:
    await speech.answer_with("Which light?")
    device = await boot(OLD)
    await device.press()
    device.say(command)
    await device.wait_said()
    await device.release()
    await device.wait_for(lambda: len(device.speaker.answers) == 1)
    await device.wait_state(State.IDLE)
    for number in range(2):
        heard = await announcer.say(Utterance(text=f"Number {number}.", speech=beep(1)))
        assert (heard.how, heard.end) == (Delivery.CONVERSATION, End.DONE)
        assert device.screen.captions[-1] == f"Number {number}."
        await device.wait_state(State.IDLE)
    assert device.channel_open


@TWO_DEVICES
async def test_devices_begin_together(hass: HomeAssistant, boot: Boot, speech: Speech) -> None:
    devices = [await boot(NEW), await boot(NEW, mac=OTHER_MAC)]
    speech.voice.delay = 1
    await announce(hass, at=BOTH)
    announcements = [await device.wait_announced() for device in devices]
    assert {announcement.outcome for announcement in announcements} == {Outcome.PLAYED}
    first, second = (announcement.began for announcement in announcements)
    assert abs(first - second) <= 0.1


@TWO_DEVICES
async def test_a_broadcast_reaches_those_that_can_speak_in_spite_of_others(
    hass: HomeAssistant, boot: Boot
) -> None:
    new, old = await boot(NEW), await boot(OLD, mac=OTHER_MAC)
    left_out = async_capture_events(hass, EVENT_ANNOUNCEMENT_SKIPPED)
    lines = activity(hass, EVENT_ANNOUNCEMENT_SKIPPED)
    await intent.async_handle(
        hass, "test", intent.INTENT_BROADCAST, {"message": {"value": "Dinner is ready."}}
    )
    assert (await new.wait_announced()).outcome is Outcome.PLAYED
    assert not old.announcements
    assert not old.screen.system_text
    for several in ("all", f"{SATELLITE}, {OTHER_SATELLITE}"):
        await act(hass, "assist_satellite", "announce", several, message="Come to the table.")
    assert [event.data["name"] for event in left_out] == ["Bedroom box"] * 3
    assert "was left out of an announcement" in lines[0]
    # What comes next for it alone fails again.
    with pytest.raises(HomeAssistantError, match="text with a sound instead"):
        await announce(hass, "It gets cold.", OTHER_SATELLITE)


async def test_a_device_that_cannot_speak_while_idle_says_so_or_shows_the_text(
    hass: HomeAssistant, boot: Boot, device_id: str, linked_entry: MockConfigEntry
) -> None:
    device = await boot(OLD)
    area = ar.async_get(hass).async_create("Kitchen").id
    dr.async_get(hass).async_update_device(device_id, area_id=area)
    for target in ({"entity_id": SATELLITE}, {"device_id": device_id}, {"area_id": area}):
        data = {"message": "Dinner is ready.", **target}
        with pytest.raises(HomeAssistantError, match="text with a sound instead"):
            await hass.services.async_call("assist_satellite", "announce", data, blocking=True)
    assert not device.screen.system_text
    change_settings(hass, linked_entry, **{CONF_SHOW_ANNOUNCEMENTS: True})
    await announce(hass)
    await device.wait_for(lambda: device.screen.system_text == "Dinner is ready.", 5)
    await wait_for_state(hass, SATELLITE, "idle")
    # As much as fits on the screen at a time, for as long as it takes to read.
    began = hass.loop.time()
    await announce(hass, LONG_TEXT * 3)
    assert hass.loop.time() - began == pytest.approx(500 / 15.5, abs=1)
    await asyncio.sleep(1)
    shown = [alert["message"] for alert in alerts(device)]
    assert " ".join(shown[1:]) == (LONG_TEXT * 3).strip()


@pytest.fixture
async def device(hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry) -> SimulatedDevice:
    device = await boot(NEW)
    await wait_for_state(hass, BRIGHTNESS, "75")
    device.values["volume"] = 40
    change_settings(hass, linked_entry, **{CONF_ANNOUNCEMENT_VOLUME: 90})
    await hass.async_block_till_done()
    return device


async def begin_loudly(
    hass: HomeAssistant, device: SimulatedDevice, message: str = LONG_TEXT
) -> asyncio.Task[None]:
    saying = hass.async_create_task(announce(hass, message))
    await device.wait_for(lambda: device.state is State.NOTIFYING)
    assert device.values["volume"] == 90
    return saying


async def test_it_is_set_for_an_announcement_and_restored_if_that_changes_it(
    hass: HomeAssistant, speech: Speech, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    """Also if there is no sound, the gateway ends, or the device is removed."""
    for usual in (90, "loud"):
        device.values["volume"] = usual
        await announce(hass)
        assert device.values["volume"] == usual
    assert not [call for call in device.events("tool") if "set_volume" in str(call)]
    device.values["volume"] = 40
    await (await begin_loudly(hass, device, "Come to the table."))
    assert device.values["volume"] == 40
    speech.voice.fails = True
    with pytest.raises(HomeAssistantError, match="nothing to play"):
        await announce(hass, "It gets cold.")
    assert device.values["volume"] == 40
    speech.voice.fails = False
    saying = await begin_loudly(hass, device)
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    with pytest.raises(HomeAssistantError, match="gateway was stopped"):
        await saying
    assert device.values["volume"] == 40
    # A device that refuses it announces all the same.
    device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
    await device.wait_for(lambda: device.connected)
    said = len(device.announcements)
    await announce(hass)
    assert (await device.wait_announced(said + 1)).outcome is Outcome.PLAYED
    device.misbehaviours.clear()
    saying = await begin_loudly(hass, device)
    hass.config_entries.async_remove_subentry(linked_entry, *linked_entry.subentries)
    with pytest.raises(HomeAssistantError, match="gateway was stopped"):
        await saying
    assert device.values["volume"] == 40


@pytest.mark.parametrize("reloads", [False, True])
async def test_it_is_restored_later_by_a_device_that_has_not_answered(
    hass: HomeAssistant,
    device: SimulatedDevice,
    linked_entry: MockConfigEntry,
    caplog: pytest.LogCaptureFixture,
    reloads: bool,
) -> None:
    saying = await begin_loudly(hass, device, LONG_TEXT if reloads else "Dinner is ready.")
    device.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)
    if reloads:
        assert await hass.config_entries.async_reload(linked_entry.entry_id)
    with pytest.raises(HomeAssistantError, match="gateway was stopped") if reloads else nullcontext():
        await saying
    assert not [record.message for record in caplog.records if record.exc_info]
    assert device.values["volume"] == 90
    # It is not forgotten when Home Assistant is restarted, either.
    stored = linked_entry.runtime_data.devices[MAC].state.as_dict()
    assert DeviceState.from_dict(stored).volume_to_restore == (40, 90)
    device.misbehaviours.clear()
    await device.wait_for(lambda: device.values["volume"] == 40, 180)


@pytest.mark.parametrize("meanwhile", [90, 55])
async def test_a_device_that_left_gets_its_volume_back_unless_it_was_changed(
    hass: HomeAssistant, device: SimulatedDevice, meanwhile: int
) -> None:
    saying = hass.async_create_task(announce(hass, LONG_TEXT))
    await is_heard(device)
    await device.power_off()
    with pytest.raises(HomeAssistantError, match="interrupted"):
        await saying
    assert device.values["volume"] == 90
    device.values["volume"] = meanwhile
    await device.boot()
    await asyncio.sleep(120)
    assert device.values["volume"] == (40 if meanwhile == 90 else 55)


async def test_the_satellite_shows_the_turn_while_an_announcement_waits_for_it(
    hass: HomeAssistant, boot: Boot, speech: Speech, command: bytes
) -> None:
    device = await boot(OLD)
    speech.recognizer.lines = [COMMAND]
    await device.wake()
    await wait_for_state(hass, SATELLITE, "listening")
    announcing = asyncio.create_task(announce(hass))
    await asyncio.sleep(0.5)
    assert hass.states.is_state(SATELLITE, "listening")
    device.say(command)
    await device.wait_for(lambda: "Dinner is ready." in device.screen.captions, 30)
    assert hass.states.is_state(SATELLITE, "responding")
    await announcing
    await device.wait_state(State.IDLE, 10)
    await wait_for_state(hass, SATELLITE, "idle")


@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
async def test_the_last_moment_of_a_conversation_is_an_occasion_too(
    hass: HomeAssistant, boot: Boot, speech: Speech
) -> None:
    """On WebSocket there is no other. The status is read then."""
    device = await boot(OLD)
    for after in range(6):
        answer, before = f"Fine {after}.", device.played_seconds
        await speech.answer_with(answer)
        device.screen.captions.clear()
        await device.wake(f"hello {after}")
        device.say(speech.command)
        await device.wait_for(lambda before=before: device.played_seconds > before, 30)
        await asyncio.sleep(after / 10)
        await announce(hass, "The door.")
        assert device.screen.captions == [answer, "The door."]
        await device.wait_state(State.IDLE, 30)


async def test_a_ring_waits_five_seconds_for_who_does_not_speak(boot: Boot, announcer: Announcer) -> None:
    """The microphone is open, for eight."""
    device = await boot(OLD)
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    ringing = asyncio.create_task(announcer.say(Utterance(text="Pizza.", speech=beep(2), rank=Rank.TIMER)))
    await device.wait_state(State.SPEAKING, 6)
    assert (await ringing).end is End.DONE
    assert device.screen.captions == ["Pizza."]
