"""What another loudspeaker says outside of conversations: announcements, questions and rings."""

import asyncio
from collections.abc import AsyncGenerator
import gc

from homeassistant.components.media_player import MediaPlayerEntityFeature, MediaPlayerState
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.announcements.heard import End
from custom_components.xiaozhi.announcements.utterance import Rank, Utterance
from custom_components.xiaozhi.guests.alarms.ring import Bell, Ring, RingEnd
from custom_components.xiaozhi.guests.loudspeaker.room_sound import Sound
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State
from tests.integration.announcements.big_speaker import OTHER_SELECT, SELECT, BigSpeaker
from tests.integration.announcements.sounds import Sound as StreamOf, beep
from tests.integration.boxes import (
    TWO_DEVICES,
    Speech,
    act,
    alerts,
    announce,
    choose,
    say,
)
from tests.integration.names import COMMAND, NEW, OLD, OTHER_MAC, Boot

LINKS = pytest.mark.parametrize("link", [LinkKind.MQTT, LinkKind.WEBSOCKET])


@LINKS
async def test_an_announcement_needs_only_the_player_and_is_shown_if_possible(
    hass: HomeAssistant, device: SimulatedDevice, player: BigSpeaker, link: LinkKind, reported: list[str]
) -> None:
    await announce(hass)
    assert len(player.played) == 1
    assert hass.loop.time() >= player.began[0] + 0.8
    shown = [alert["message"] for alert in alerts(device)]
    assert shown == (["Dinner is ready."] if link is LinkKind.MQTT else [])
    player.show(MediaPlayerState.IDLE, there=False)
    with pytest.raises(HomeAssistantError):
        await announce(hass, "It gets cold.")
    player.show(MediaPlayerState.IDLE)
    player.error = ValueError("no")
    with pytest.raises(HomeAssistantError, match="Big speaker did not play it"):
        await announce(hass, "It gets cold.")
    assert not reported, "it has not spoken itself"


async def test_the_screens_of_a_long_announcement_end_when_it_is_stopped(
    hass: HomeAssistant, device: SimulatedDevice, player: BigSpeaker
) -> None:
    announcing = asyncio.create_task(announce(hass, "It goes on. " * 150))
    await device.wait_for(lambda: bool(player.began), 30)
    await asyncio.sleep(5)
    await act(hass, "media_player", "media_stop", "media_player.kitchen_box_speaker")
    with pytest.raises(HomeAssistantError):
        await announcing
    await asyncio.sleep(120)
    assert len(alerts(device)) == 1


async def test_a_voice_that_hangs_is_an_error_and_blocks_nothing_else(
    hass: HomeAssistant, device: SimulatedDevice, speech: Speech, player: BigSpeaker
) -> None:
    speech.voice.may_go_on.clear()
    with pytest.raises(HomeAssistantError, match="no sound has come"):
        await announce(hass)
    speech.voice.may_go_on.set()
    await device.wait_state(State.IDLE, 10)
    await announce(hass, "It gets cold.")
    assert player.played[-1]


@pytest.mark.usefixtures("device")
async def test_what_fails_when_all_is_said_leaves_no_traceback(
    hass: HomeAssistant, speech: Speech, player: BigSpeaker
) -> None:
    """Some players answer the action at the end of the sound, and some do so with an error."""
    player.last_error = HomeAssistantError("no")
    await announce(hass)
    await asyncio.sleep(10)
    # Neither does a voice that fails when the player is given up.
    player.last_error, player.fetches = None, False
    speech.voice.delay, speech.voice.fails = 4, True
    with pytest.raises(HomeAssistantError):
        await announce(hass, "It gets cold.")
    # What nobody has looked at fails the test at its end.
    gc.collect()


async def test_of_media_without_an_end_the_last_minutes_are_kept() -> None:
    async def hours() -> AsyncGenerator[bytes]:
        for _ in range(400):
            yield bytes(48000)

    sound = Sound(lambda: "")
    making = asyncio.create_task(sound.make(hours()))
    for second in range(400):
        sound.heard = second
        sound.notify()
        await asyncio.sleep(0)
    await making
    assert 2_300_000 < len(b"".join([part async for part in sound.read()])) < 2_410_000


# `test_meetings` has one that is paused, and one that is gone.
@pytest.mark.parametrize("what", ["off", "stopped", "other", "chosen"])
async def test_a_ring_goes_on_at_the_device_unless_a_person_ends_it(
    hass: HomeAssistant, device: SimulatedDevice, player: BigSpeaker, announcer: Announcer, what: str
) -> None:
    bell = Bell(announcer.device, announcer)
    ringing = asyncio.create_task(bell.ring(Ring(is_alarm=True, text="Alarm"), hass.loop.time() + 60))
    await device.wait_for(lambda: bool(player.began), 10)
    await asyncio.sleep(5)
    before = len(alerts(device))
    match what:
        case "off":
            player.show(MediaPlayerState.OFF)
        case "stopped":
            await player.async_media_stop()
        case "other":
            player.show(MediaPlayerState.PLAYING, "spotify:1")
        case _:
            await choose(hass, SELECT, "this_device")
    if what == "off":
        assert await asyncio.wait_for(ringing, 5) is RingEnd.STOPPED
        assert len(alerts(device)) == before
    else:
        await device.wait_for(lambda: len(alerts(device)) > before, 5)
        await device.wake()
        assert await asyncio.wait_for(ringing, 10) is RingEnd.STOPPED


async def test_an_unexpected_error_of_a_ring_reaches_who_has_set_it(
    hass: HomeAssistant, boot: Boot, announcer: Announcer
) -> None:
    """It would ring for ever otherwise, and unheard."""
    await boot(OLD)

    def fail() -> None:
        raise RuntimeError("a fault of ours")

    bell = Bell(announcer.device, announcer)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        await bell.ring(Ring(is_alarm=True, text="Alarm", on_start=fail), hass.loop.time() + 60)


@TWO_DEVICES
@pytest.mark.parametrize("talks", [False, True])
async def test_a_ring_does_not_wait_for_a_player_busy_for_another_device(
    boot: Boot, device: SimulatedDevice, player: BigSpeaker, announcer: Announcer, speech: Speech, talks: bool
) -> None:
    """And it is said in the conversation, if its user begins one meanwhile, and rings on after it."""
    hass, other = speech.hass, await boot(OLD, mac=OTHER_MAC)
    await choose(hass, OTHER_SELECT, "Big speaker")
    speech.recognizer.lines = [COMMAND]
    long = asyncio.create_task(announcer.say(Utterance(text="A radio play.", speech=beep(90))))
    await device.wait_for(lambda: bool(player.began), 10)
    gateway = boot.entry.runtime_data
    waits = gateway.devices[OTHER_MAC].part(Announcer)
    ring = Ring(is_alarm=False, text="Timer ended.")
    ringing = asyncio.create_task(Bell(waits.device, waits).ring(ring, hass.loop.time() + 60))
    if talks:
        await asyncio.sleep(1)
        await say(other, speech.command, "good morning")
        assert other.screen.captions[-1] == "Timer ended."
    await other.wait_for(lambda: bool(alerts(other)), 6)
    await other.wake("hello again")
    assert await ringing is RingEnd.STOPPED
    # An announcement says so.
    heard = await waits.say(Utterance(text="Dinner.", speech=beep(1)))
    assert "Big speaker did not play it" in str(heard.error)
    assert (await long).end is End.DONE


@pytest.mark.parametrize("announces", [False, True])
async def test_music_stays_on_the_device_and_is_given_back_to_a_simple_player(
    boot: Boot, chosen: None, player: BigSpeaker, announcer: Announcer, announces: bool
) -> None:
    device = await boot(NEW)
    heard = await announcer.say(Utterance(text="Jazz", speech=beep(2), rank=Rank.MUSIC))
    assert (heard.how, heard.end, player.asked) == (Delivery.NOTIFY, End.DONE, [])
    if not announces:
        player._attr_supported_features &= ~MediaPlayerEntityFeature.MEDIA_ANNOUNCE
    player.show(MediaPlayerState.PLAYING, "library://jazz")
    heard = await announcer.say(Utterance(text="Dinner.", speech=beep(2)))
    assert (heard.how, heard.end) == (Delivery.ROOM_PLAYER, End.DONE)
    await asyncio.sleep(1)
    assert player.asked[1:] == ([] if announces else ["library://jazz"])
    assert len(device.announcements) == 1


async def test_music_of_a_simple_player_resumes_after_the_conversation(
    device: SimulatedDevice, speech: Speech, player: BigSpeaker
) -> None:
    player._attr_supported_features &= ~MediaPlayerEntityFeature.MEDIA_ANNOUNCE
    player.show(MediaPlayerState.PLAYING, "library://jazz")
    await speech.answer_with("Which lamp?", "Done.", heard=[COMMAND, COMMAND])
    await device.wake()
    device.say(speech.command)
    await device.wait_for(lambda: len(player.began) == 1, 30)
    await device.wait_state(State.LISTENING, 30)
    await asyncio.sleep(1)
    assert "library://jazz" not in player.asked
    device.say(speech.command)
    await device.wait_for(lambda: len(player.began) == 2, 20)
    assert "library://jazz" not in player.asked
    await device.wait_state(State.IDLE, 60)
    await device.wait_for(lambda: player.asked[-1] == "library://jazz", 5)
    assert len(player.asked) == 3


@TWO_DEVICES
@pytest.mark.parametrize("goes_on", [True, False])
async def test_of_a_simple_player_the_music_of_now_resumes(
    boot: Boot, device: SimulatedDevice, speech: Speech, player: BigSpeaker, *, goes_on: bool
) -> None:
    """Not what another device has interrupted before in its conversation."""
    await boot(NEW, mac=OTHER_MAC)
    await choose(boot.hass, OTHER_SELECT, "Big speaker")
    player._attr_supported_features &= ~MediaPlayerEntityFeature.MEDIA_ANNOUNCE
    player.show(MediaPlayerState.PLAYING, "library://jazz")
    await speech.answer_with("Which lamp?", "Done.", heard=[COMMAND, COMMAND])
    await device.wake()
    device.say(speech.command)
    await device.wait_for(lambda: bool(player.began), 30)
    await device.wait_state(State.LISTENING, 30)
    await asyncio.sleep(1)
    player.show(MediaPlayerState.PLAYING, "library://blues")
    if not goes_on:
        await device.wait_state(State.IDLE, 120)
        await asyncio.sleep(2)
        player.show(MediaPlayerState.IDLE)
    other = boot.entry.runtime_data.devices[OTHER_MAC].part(Announcer)
    assert (await other.say(Utterance(text="Dinner.", speech=beep(2)))).end is End.DONE
    await asyncio.sleep(5)
    resumed = [asked for asked in player.asked if asked.startswith("library")]
    assert resumed == (["library://blues"] if goes_on else [])


async def test_a_paused_announcement_and_an_early_failing_voice_are_errors(
    device: SimulatedDevice, player: BigSpeaker, announcer: Announcer
) -> None:
    # One that is polled, as VLC, reports only what it was told to do.
    player.reports = False
    saying = asyncio.create_task(announcer.say(Utterance(text="Dinner.", speech=beep(20))))
    await device.wait_for(lambda: bool(player.began), 10)
    await asyncio.sleep(2)
    player.show(MediaPlayerState.PAUSED, player.media_content_id)
    assert (await saying).end is End.STOPPED
    player.fetches = False
    broken = StreamOf(0, error=HomeAssistantError("no"))
    heard = await announcer.say(Utterance(text="Dinner.", speech=broken.open))
    assert "text-to-speech engine failed" in str(heard.error)


async def test_nobody_listens_after_a_question_that_is_stopped_at_the_player(
    device: SimulatedDevice, speech: Speech, player: BigSpeaker, announcer: Announcer
) -> None:
    await speech.answer_with("Done.", heard=[COMMAND])
    question = Utterance(text="Which one?", speech=beep(8), rank=Rank.QUESTION, expects_answer=True)
    await device.wake()
    asking = asyncio.create_task(announcer.say(question))
    device.say(speech.command)
    await device.wait_for(lambda: len(player.began) == 2, 30)
    await asyncio.sleep(2)
    player.show(MediaPlayerState.PAUSED, player.media_content_id)
    assert (await asking).end is End.STOPPED
    await device.wait_for(lambda: device.state is not State.SPEAKING, 5)
    assert device.state is State.IDLE


async def test_a_fetch_ends_when_home_assistant_stops_in_the_middle_of_a_sound(
    hass: HomeAssistant,
    device: SimulatedDevice,
    player: BigSpeaker,
    announcer: Announcer,
    linked_entry: MockConfigEntry,
) -> None:
    """The player would wait for more without an end."""
    player._attr_supported_features &= ~MediaPlayerEntityFeature.STOP
    saying = asyncio.create_task(announcer.say(Utterance(text="A radio play.", speech=beep(90))))
    await device.wait_for(lambda: bool(player.began), 10)
    assert await hass.config_entries.async_unload(linked_entry.entry_id)
    assert (await saying).end is End.FAULT
    await asyncio.sleep(5)
    assert len(player.played) == 1


async def test_music_resumes_after_two_sounds_in_a_row_and_after_a_failure(
    hass: HomeAssistant, device: SimulatedDevice, player: BigSpeaker, announcer: Announcer
) -> None:
    player._attr_supported_features &= ~MediaPlayerEntityFeature.MEDIA_ANNOUNCE
    player.show(MediaPlayerState.PLAYING, "library://jazz")
    sounds = [announcer.say(Utterance(text="Dinner.", speech=beep(2))) for _ in range(2)]
    assert [heard.end for heard in await asyncio.gather(*sounds)] == [End.DONE] * 2
    await asyncio.sleep(1)
    assert player.asked[-1] == "library://jazz"
    player.asked.clear()
    broken = StreamOf(1, error=HomeAssistantError("no"))
    heard = await announcer.say(Utterance(text="Dinner.", speech=broken.open))
    assert heard.end is End.FAULT
    await asyncio.sleep(5)
    assert player.asked[-1] == "library://jazz"


@TWO_DEVICES
async def test_what_waits_for_a_player_does_not_wait_on_when_another_is_chosen(
    boot: Boot, device: SimulatedDevice, player: BigSpeaker, announcer: Announcer
) -> None:
    other = await boot(NEW, mac=OTHER_MAC)
    await choose(boot.hass, OTHER_SELECT, "Big speaker")
    long = asyncio.create_task(announcer.say(Utterance(text="A radio play.", speech=beep(20))))
    await device.wait_for(lambda: bool(player.began), 10)
    gateway = boot.entry.runtime_data
    waits = gateway.devices[OTHER_MAC].part(Announcer)
    saying = asyncio.create_task(waits.say(Utterance(text="Dinner.", speech=beep(1))))
    await asyncio.sleep(1)
    await choose(boot.hass, OTHER_SELECT, "this_device")
    await other.wait_for(lambda: bool(other.announcements), 5)
    assert (await saying).how is Delivery.NOTIFY
    assert (await long).end is End.DONE
