"""The switch *Do not disturb*: what it refuses, and what is still heard."""

import asyncio

from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.announcements.heard import End
from custom_components.xiaozhi.announcements.utterance import Rank, Utterance
from custom_components.xiaozhi.const import EVENT_ANNOUNCEMENT_SKIPPED
from custom_components.xiaozhi.guests.messages.voice_message import VoiceMessage
from custom_components.xiaozhi.guests.spoken.sentences import ALARM_SENTENCE
from simulator import Profile, SimulatedDevice
from simulator.application.announcement import Outcome
from tests.integration.announcements.quiet import (
    QUIET,
    REASON,
    device,
    levels,
    switch,
)
from tests.integration.announcements.sounds import beep, is_heard
from tests.integration.boxes import (
    BOTH,
    TWO_DEVICES,
    Speech,
    act,
    activity,
    alerts,
    announce,
    call_action,
    say,
    wait_for_state,
)
from tests.integration.clock.conftest import Handle, handle
from tests.integration.media.media_server import media_server, music
from tests.integration.names import COMMAND, MAC, NEW, OLD, OTHER_MAC, SATELLITE, Boot

__all__ = ["device", "handle"]

pytestmark = pytest.mark.usefixtures("speech")

SPEAKER = "media_player.kitchen_box_speaker"
MESSAGE = "notify.kitchen_box_screen_message"
SONG = "http://localhost/song.mp3"


@TWO_DEVICES
async def test_a_quiet_device_is_left_out_and_refuses_what_is_for_it_alone(
    hass: HomeAssistant, boot: Boot, speech: Speech, hass_admin_user: MockUser
) -> None:
    # One that can begin conversations.
    await speech.answer_with("Yes.")
    device, other = await boot(NEW), await boot(NEW, mac=OTHER_MAC)
    await switch(hass, "on")
    lines = activity(hass, EVENT_ANNOUNCEMENT_SKIPPED)
    await announce(hass, at=BOTH)
    assert (await other.wait_announced()).outcome is Outcome.PLAYED
    assert lines == ["was left out of an announcement: it is not to be disturbed"]
    by_user = Context(user_id=hass_admin_user.id)
    for context in (None, by_user):
        for doing in (
            announce(hass, context=context),
            act(
                hass,
                "assist_satellite",
                "start_conversation",
                SATELLITE,
                context=context,
                start_message="Shall I?",
            ),
            act(
                hass,
                "assist_satellite",
                "ask_question",
                SATELLITE,
                context=context,
                question="Shall I?",
                returns=True,
            ),
            call_action(hass, "ask", boot.device_id, context, question="Shall I?"),
            call_action(hass, "show_text", boot.device_id, context, message="Dinner is ready."),
            act(hass, "notify", "send_message", MESSAGE, context=context, message="Hello."),
            play(hass, SONG, announce=True, context=context),
        ):
            with pytest.raises(HomeAssistantError, match=REASON):
                await doing
    with pytest.raises(HomeAssistantError, match=REASON):
        await play(hass, SONG)
    assert not device.announcements
    assert not alerts(device)
    assert not device.screen.captions
    # If all of several devices are quiet, the action fails.
    await act(hass, "switch", "turn_on", "switch.bedroom_box_do_not_disturb")
    with pytest.raises(HomeAssistantError, match="is not to be disturbed"):
        await announce(hass, at=BOTH)
    await switch(hass, "off")
    await announce(hass, at=BOTH)
    assert (await device.wait_announced()).outcome is Outcome.PLAYED
    assert len(other.announcements) == 1


async def play(
    hass: HomeAssistant, media_id: str, *, announce: bool = False, context: Context | None = None
) -> None:
    media = {"media_content_id": media_id, "media_content_type": "music"}
    await act(hass, "media_player", "play_media", SPEAKER, context=context, announce=announce, **media)


async def test_what_is_said_and_what_waits_ends_when_it_goes_on_but_no_music(
    hass: HomeAssistant, device: SimulatedDevice, announcer: Announcer
) -> None:
    playing = asyncio.create_task(announcer.say(Utterance(text="La", speech=beep(20), rank=Rank.MUSIC)))
    await is_heard(device)
    announcing = [
        asyncio.create_task(announcer.say(Utterance(text="Dinner is ready.", speech=beep(10))))
        for _ in range(2)
    ]
    assert (await playing).end is End.REPLACED
    await asyncio.sleep(3)
    await switch(hass, "on")
    heard = [await each for each in announcing]
    assert [(each.end, each.how) for each in heard] == [
        (End.QUIET, Delivery.NOTIFY),
        (End.QUIET, Delivery.NONE),
    ]
    for each in heard:
        with pytest.raises(HomeAssistantError, match=REASON):
            each.check()
    assert (await device.wait_announced(2)).outcome is not Outcome.PLAYED
    await switch(hass, "off")
    await asyncio.sleep(6)
    playing = asyncio.create_task(announcer.say(Utterance(text="La", speech=beep(8), rank=Rank.MUSIC)))
    await is_heard(device)
    await switch(hass, "on")
    assert (await playing).end is End.DONE
    assert levels(device) == (30, 10)


async def test_a_question_that_was_asked_before_is_answered(
    hass: HomeAssistant, device: SimulatedDevice, speech: Speech, device_id: str
) -> None:
    asking = asyncio.create_task(call_action(hass, "ask", device_id, question="Shall I?"))
    await device.wait_announced()
    await asyncio.sleep(3)
    await switch(hass, "on")
    speech.recognizer.lines = ["yes"]
    await say(device, speech.command)
    assert (await asking)["sentence"] == "yes"


@pytest.mark.usefixtures("ffmpeg")
@pytest.mark.parametrize("profile", [OLD, NEW])
async def test_media_play_for_people_and_not_for_automations(
    hass: HomeAssistant, boot: Boot, speech: Speech, hass_admin_user: MockUser, profile: Profile
) -> None:
    device = await boot(profile)
    await switch(hass, "on")
    await speech.answer_with("Here it is.", heard=[COMMAND])
    async with media_server() as server:
        song = server.file("/song.mp3", music(20))
        await device.wake()
        await wait_for_state(hass, SATELLITE, "listening")
        await play(hass, song)
        device.say(speech.command)
        await wait_for_state(hass, SPEAKER, "playing", 30)
        assert levels(device) == (30, 10)
        await asyncio.sleep(2)
        # It is asked for nothing now, also where its channel is open for the music.
        with pytest.raises(HomeAssistantError, match=REASON):
            await play(hass, song)
        assert hass.states.is_state(SPEAKER, "playing")
        await act(hass, "media_player", "media_pause", SPEAKER)
        by_user = Context(user_id=hass_admin_user.id)
        if profile is NEW:
            await asyncio.sleep(6)
            with pytest.raises(HomeAssistantError, match=REASON):
                await act(hass, "media_player", "media_play", SPEAKER)
            await act(hass, "media_player", "media_play", SPEAKER, context=by_user)
            await wait_for_state(hass, SPEAKER, "playing")
            await act(hass, "media_player", "media_stop", SPEAKER)


async def test_it_is_switched_by_voice_and_says_what_was_kept(
    device: SimulatedDevice, linked_entry: MockConfigEntry, handle: Handle, speech: Speech
) -> None:
    assert await handle("XiaozhiDoNotDisturb", on=True) == "All right. Only alarms and timers will be heard."
    assert speech.hass.states.is_state(QUIET, "on")
    assert await handle("XiaozhiDoNotDisturb", on=False) == "You can be disturbed again."
    assert speech.hass.states.is_state(QUIET, "off")
    message = VoiceMessage(sender="Hall", sent=dt_util.utcnow())
    linked_entry.runtime_data.devices[MAC].record.update(messages={"1": message, "2": message})
    for action, answer in (("quiet", "All right"), ("disturb", "Voice messages: 2.")):
        assert answer in await handle(ALARM_SENTENCE, action=action)
    assert "Say it to one of them" in await handle(ALARM_SENTENCE, None, action="quiet")
    assert not device.announcements
    await switch(speech.hass, "on")
    await switch(speech.hass, "off")
    # After what it was switched off for.
    await announce(speech.hass)
    assert (await device.wait_announced(2, timeout=20)).outcome is Outcome.PLAYED
    assert [each.split(".")[0] for each in speech.voice.spoken] == [
        "Dinner is ready",
        "You can be disturbed again",
    ]


async def test_a_device_deleted_right_after_has_nothing_to_say(
    hass: HomeAssistant, device: SimulatedDevice, linked_entry: MockConfigEntry
) -> None:
    known = linked_entry.runtime_data.devices[MAC]
    known.record.update(messages={"1": VoiceMessage(sender="Hall", sent=dt_util.utcnow())})
    await switch(hass, "on")
    await switch(hass, "off")
    hass.config_entries.async_remove_subentry(linked_entry, known.subentry_id)
    await asyncio.sleep(10)
    assert not device.announcements
