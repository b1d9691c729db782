"""A media player says what a device would say; what keeps it from doing so; and how it is chosen."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from functools import partial
import gc
from typing import Any

from homeassistant.components.media_player import MediaPlayerEntityFeature, MediaPlayerState
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er, intent
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.announcements.heard import End
from custom_components.xiaozhi.announcements.room_sound import SENT_AHEAD, Sound, said_in_house
from custom_components.xiaozhi.announcements.utterance import Rank, Utterance
from custom_components.xiaozhi.clock.ring import Bell, Ring, RingEnd
from custom_components.xiaozhi.const import EVENT_ROOM_PLAYER
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import ListeningMode, SimulatedDevice, State, get_profile
from simulator.application.announcement import Outcome
from tests.integration.announcements.big_speaker import SELECT, BigSpeaker
from tests.integration.announcements.sounds import Sound as StreamOf, beep
from tests.integration.boxes import (
    TWO_DEVICES,
    Speech,
    act,
    activity,
    alerts,
    call_action,
    change_settings,
    choose,
    hear_answer,
    say,
    state_of,
    wait_for_state,
)
from tests.integration.names import COMMAND, NEW, OLD, OTHER_MAC, SATELLITE, Boot
from tests.integration.provisioning.forms import change_device, submit_device
from tests.integration.speech import add_entities
from tests.protocol.audio.sounds import pitch_level

OTHER_SELECT = "select.bedroom_box_voice_output"
PLAYER = "media_player.big_speaker"
# Of the scripted voice, which says 20 letters in a second.
SIX_SECONDS = "Listen to this. " + "word " * 21
LINKS = pytest.mark.parametrize("link", [LinkKind.MQTT, LinkKind.WEBSOCKET])


@pytest.fixture
async def device(boot: Boot, chosen: None) -> SimulatedDevice:
    """A device whose owner has chosen the player."""
    return await boot(OLD)


@pytest.fixture
def reported(hass: HomeAssistant) -> list[str]:
    """The lines in the activity."""
    return activity(hass, EVENT_ROOM_PLAYER)


async def announce(hass: HomeAssistant, message: str) -> None:
    await act(hass, "assist_satellite", "announce", SATELLITE, message=message)


def says_itself(device: SimulatedDevice) -> bool:
    pcm = device.speaker.played_pcm
    return bool(pcm) and pitch_level(pcm, device.speaker.rate, 440) > 1000


@LINKS
async def test_the_player_answers_while_the_device_shows_the_text_then_listens(
    hass: HomeAssistant,
    device: SimulatedDevice,
    speech: Speech,
    player: BigSpeaker,
    reported: list[str],
    states: list[str],
) -> None:
    await speech.answer_with("The lamp in the kitchen? Which one?", "Done.", heard=[COMMAND, COMMAND])
    player.ends = False
    await device.wake()
    device.say(speech.command)
    await device.wait_for(lambda: len(device.speaker.answers) == 1, 30)
    await device.wait_state(State.LISTENING, 30)
    (sound,) = player.played
    assert len(sound) / 48000 == pytest.approx(1.75, abs=0.1)
    assert pitch_level(sound, 24000, 440) > 5000
    assert hass.loop.time() >= player.began[0] + 1.75, "the device hears the end of its own answer"
    assert not says_itself(device)
    assert device.screen.captions[-2:] == ["The lamp in the kitchen?", "Which one?"]
    device.say(speech.command)
    await device.wait_state(State.IDLE, 60)
    assert len(player.played) == 2
    assert "responding" in states
    assert reported == []


@pytest.mark.parametrize(
    ("fault", "after", "reason"),
    [
        ("refuses", 0, "could not play"),
        ("does nothing", 0, "within five seconds"),
        ("vanishes", 0, "not available"),
        ("vanishes", 2, "not available"),
    ],
)
async def test_the_device_gives_the_whole_answer_for_a_failing_player(
    device: SimulatedDevice,
    speech: Speech,
    player: BigSpeaker,
    reported: list[str],
    fault: str,
    after: float,
    reason: str,
) -> None:
    await speech.answer_with(SIX_SECONDS)
    player.error = HomeAssistantError("no") if fault == "refuses" else None
    player.fetches = fault == "vanishes"
    saying = asyncio.create_task(say(device, speech.command))
    if fault == "vanishes":
        await device.wait_for(lambda: not after or bool(player.began), 30)
        await asyncio.sleep(after)
        player.show(MediaPlayerState.IDLE, there=False)
    await saying
    (line,) = reported
    assert reason in line
    assert "Big speaker" in line
    pcm = device.speaker.played_pcm
    said = pcm[-round(5.8 * 2 * device.speaker.rate) :]
    assert pitch_level(said, device.speaker.rate, 440) > 5000
    assert device.screen.captions[0].startswith("Listen to this.")
    assert len(device.screen.captions) == len(set(device.screen.captions))


@pytest.mark.parametrize(
    ("ends", "own"),
    [(SimulatedDevice.click, True), (SimulatedDevice.click, False), (SimulatedDevice.wake, True)],
    ids=["button, ours", "button, its music", "wake word, ours"],
)
async def test_the_button_or_the_wake_word_stops_only_our_sound_on_the_player(
    hass: HomeAssistant,
    device: SimulatedDevice,
    speech: Speech,
    player: BigSpeaker,
    ends: Callable[[SimulatedDevice], Awaitable[Any]],
    own: bool,
) -> None:
    await speech.answer_with(SIX_SECONDS)
    # The music that it plays before, it may play again while the device still waits.
    music = partial(player.show, MediaPlayerState.PLAYING, "music")
    if not own:
        music()
    await hear_answer(device, speech.command, seconds=2)
    if not own:
        music()
    await ends(device)
    await device.wait_for(lambda: device.state is not State.SPEAKING, 5)
    await hass.async_block_till_done()
    assert player.stopped == own
    assert not says_itself(device)


async def test_speech_for_its_player_questions_and_timers_sound_there(
    device: SimulatedDevice, speech: Speech, player: BigSpeaker, device_id: str
) -> None:
    said = {"media_player_entity_id": "media_player.kitchen_box_speaker", "message": "Dinner."}
    await act(speech.hass, "tts", "speak", speech.voice.entity_id, **said)
    assert len(player.played) == 1
    speech.recognizer.lines = ["yes"]
    asking = asyncio.create_task(call_action(speech.hass, "ask", device_id, question="Close the window?"))
    await device.wait_for(lambda: len(player.played) == 2, 20)
    await asyncio.sleep(10)
    await say(device, speech.command)
    assert "yes" in str(await asking)
    assert not says_itself(device)
    # As soon as the player is there.
    before = len(player.began)
    timer = {"seconds": {"value": 5}, "name": {"value": "pizza"}}
    await intent.async_handle(speech.hass, "test", intent.INTENT_START_TIMER, timer, device_id=device_id)
    await device.power_off()
    player.show(MediaPlayerState.IDLE, there=False)
    await asyncio.sleep(120)
    player.show(MediaPlayerState.IDLE)
    await asyncio.sleep(100)
    assert len(player.began) == before + 1


@TWO_DEVICES
@pytest.mark.usefixtures("chosen")
async def test_two_devices_with_one_player_do_not_speak_at_the_same_time(
    boot: Boot, speech: Speech, player: BigSpeaker, reported: list[str]
) -> None:
    await choose(speech.hass, OTHER_SELECT, "Big speaker")
    await speech.answer_with(SIX_SECONDS, SIX_SECONDS, heard=[COMMAND, COMMAND])
    first, second = await boot(OLD), await boot(OLD, mac=OTHER_MAC)
    await asyncio.gather(say(first, speech.command, "hello"), say(second, speech.command, "good morning"))
    assert len(player.played) == 1
    assert {says_itself(first), says_itself(second)} == {True, False}
    assert "for another device" in reported[0]
    # What need not be said at once waits.
    both = [SATELLITE, "assist_satellite.bedroom_box"]
    await act(speech.hass, "assist_satellite", "announce", both, message=SIX_SECONDS)
    assert len(player.played) == 3
    assert player.began[2] - player.began[1] > 6
    assert len(reported) == 1


@TWO_DEVICES
@pytest.mark.parametrize("board", ["s3", "c3"])
async def test_what_a_player_says_is_no_command_for_another_device_that_it_wakes(
    device: SimulatedDevice, boot: Boot, speech: Speech, player: BigSpeaker, board: str
) -> None:
    """The wake word is in the answer; a board that does not report it repeats a part of that."""
    answer = "My name is Jarvis, and I am the voice of this house. " * 3
    await speech.answer_with(answer, heard=[COMMAND, "I am the voice of this"])
    other = await boot(get_profile(board), mac=OTHER_MAC)
    await hear_answer(device, speech.command)
    await other.wake("Jarvis")
    await other.wait_state(State.LISTENING, 5)
    other.say(speech.command)
    await other.wait_state(State.IDLE, 20)
    assert speech.agent.heard == [COMMAND]
    assert len(speech.recognizer.streams) == (1 if board == "s3" else 2)
    assert not other.screen.captions
    await device.wait_state(State.IDLE, 30)
    assert player.stopped == 0
    # Nobody says it now.
    speech.recognizer.lines, speech.agent.lines = [COMMAND], ["Done."]
    await say(other, speech.command, "Jarvis")
    assert speech.agent.heard == [COMMAND, COMMAND]


@pytest.mark.usefixtures("chosen", "all_enabled")
async def test_a_device_that_never_stops_listening_is_deaf_to_the_player(
    hass: HomeAssistant, boot: Boot, speech: Speech, player: BigSpeaker
) -> None:
    change_settings(hass, boot.entry, interrupt_by_speaking=True)
    await speech.answer_with(
        "It can be one of many here. " * 4 + "Which one?", "Done.", heard=[COMMAND, "the lamp"]
    )
    device = await boot(get_profile("s3", mode=ListeningMode.REALTIME))
    await hear_answer(device, speech.command)
    device.say(speech.command)
    # At this pace, a channel on which nothing comes for 2.4 s is stale, and would take no other turn.
    await device.wait_state(State.LISTENING, 30)
    assert player.stopped == 0
    heard = len(speech.recognizer.streams)
    await asyncio.sleep(1)
    device.say(speech.command)
    await device.wait_state(State.IDLE, 30)
    assert (heard, len(speech.recognizer.streams)) == (1, 2)
    assert len(speech.recognizer.streams[1]) / 32000 < len(speech.command) / 32000 + 2.3
    assert speech.agent.heard == [COMMAND, "the lamp"]


@LINKS
async def test_an_announcement_needs_only_the_player_and_is_shown_if_possible(
    hass: HomeAssistant, device: SimulatedDevice, player: BigSpeaker, link: LinkKind, reported: list[str]
) -> None:
    await announce(hass, "Dinner is ready.")
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
        await announce(hass, "Dinner is ready.")
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
    await announce(hass, "Dinner is ready.")
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


@pytest.mark.parametrize("what", ["paused", "off", "gone", "stopped", "other", "chosen"])
async def test_a_ring_goes_on_at_the_device_unless_a_person_ends_it(
    hass: HomeAssistant, device: SimulatedDevice, player: BigSpeaker, announcer: Announcer, what: str
) -> None:
    bell = Bell(announcer._device, announcer)
    ringing = asyncio.create_task(bell.ring(Ring(is_alarm=True, text="Alarm"), hass.loop.time() + 60))
    await device.wait_for(lambda: bool(player.began), 10)
    await asyncio.sleep(5)
    before = len(alerts(device))
    match what:
        case "paused":
            player.show(MediaPlayerState.PAUSED, player.media_content_id)
        case "off":
            player.show(MediaPlayerState.OFF)
        case "gone":
            player.show(MediaPlayerState.IDLE, there=False)
        case "stopped":
            await player.async_media_stop()
        case "other":
            player.show(MediaPlayerState.PLAYING, "spotify:1")
        case _:
            await choose(hass, SELECT, "this_device")
    if what in {"paused", "off"}:
        assert await asyncio.wait_for(ringing, 5) is RingEnd.STOPPED
        assert len(alerts(device)) == before
    else:
        await device.wait_for(lambda: len(alerts(device)) > before, 5)
        await device.wake()
        assert await asyncio.wait_for(ringing, 10) is RingEnd.STOPPED


@TWO_DEVICES
@pytest.mark.parametrize("talks", [False, True])
async def test_a_ring_does_not_wait_for_a_player_busy_for_another_device(
    boot: Boot, device: SimulatedDevice, player: BigSpeaker, announcer: Announcer, speech: Speech, talks: bool
) -> None:
    """And it is said in the conversation, if its user begins one meanwhile."""
    hass, other = speech.hass, await boot(OLD, mac=OTHER_MAC)
    await choose(hass, OTHER_SELECT, "Big speaker")
    speech.recognizer.lines = [COMMAND]
    long = asyncio.create_task(announcer.say(Utterance(text="A radio play.", speech=beep(90))))
    await device.wait_for(lambda: bool(player.began), 10)
    gateway = boot.entry.runtime_data
    waits = gateway.announcer(gateway.devices[OTHER_MAC])
    ring = Ring(is_alarm=False, text="Timer ended.")
    ringing = asyncio.create_task(Bell(waits._device, waits).ring(ring, hass.loop.time() + 60))
    if talks:
        await asyncio.sleep(1)
        await say(other, speech.command, "good morning")
        assert await ringing is RingEnd.SAID
        assert other.screen.captions[-1] == "Timer ended."
    else:
        await other.wait_for(lambda: bool(alerts(other)), 6)
        await other.wake()
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


async def test_a_player_without_reports_is_stopped_within_three_seconds(
    device: SimulatedDevice, speech: Speech, player: BigSpeaker, known: Device
) -> None:
    """As VLC, which played music before and does not say what. Until it is quiet, it commands nothing."""
    player.reports = False
    player.show(MediaPlayerState.PLAYING)
    await speech.answer_with("Now turn on the kitchen light. " + "word " * 60)
    await hear_answer(device, speech.command, seconds=2)
    (sound,) = known.transfers.all_open(Sound)
    assert sound.sent <= (sound.heard + SENT_AHEAD) * 8000 + 1
    await device.wake("hello again")
    await device.wait_for(lambda: bool(player.stopped), 1)
    assert said_in_house(known)
    await asyncio.sleep(2)
    assert not said_in_house(known)


async def test_the_microphone_is_off_until_a_late_player_has_ended(
    hass: HomeAssistant, device: SimulatedDevice, speech: Speech, player: BigSpeaker
) -> None:
    await speech.answer_with("Which one?", heard=[COMMAND])
    player.late = 5
    await device.wake()
    device.say(speech.command)
    await device.wait_for(lambda: "Which one?" in device.screen.captions, 30)
    await device.wait_state(State.LISTENING, 30)
    assert hass.loop.time() >= player.began[0] + 0.5


async def test_a_paused_announcement_and_an_early_failing_voice_are_errors(
    hass: HomeAssistant, device: SimulatedDevice, player: BigSpeaker, announcer: Announcer
) -> None:
    saying = asyncio.create_task(announcer.say(Utterance(text="Dinner.", speech=beep(20))))
    await device.wait_for(lambda: bool(player.began), 10)
    await asyncio.sleep(2)
    player.show(MediaPlayerState.PAUSED, player.media_content_id)
    assert (await saying).end is End.STOPPED
    player.fetches = False
    broken = StreamOf(0, error=HomeAssistantError("no"))
    heard = await announcer.say(Utterance(text="Dinner.", speech=broken.open))
    assert "text-to-speech engine failed" in str(heard.error)


@pytest.mark.own_home
@TWO_DEVICES
@pytest.mark.usefixtures("ffmpeg")
async def test_two_devices_may_have_each_other_for_their_loudspeaker(
    boot: Boot, speech: Speech, reported: list[str], hass_client_no_auth: ClientSessionGenerator
) -> None:
    await speech.answer_with(SIX_SECONDS)
    speech.hass.config.internal_url = str((await hass_client_no_auth()).make_url("")).rstrip("/")
    first, second = await boot(NEW), await boot(NEW, mac=OTHER_MAC)
    await choose(speech.hass, SELECT, "Bedroom box Speaker")
    await choose(speech.hass, OTHER_SELECT, "Kitchen box Speaker")
    await say(first, speech.command)
    announcement = await second.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    assert pitch_level(announcement.pcm, second.speaker.rate, 440) > 5000
    assert not says_itself(first)
    assert not first.announcements
    # The wake word of the first stops the second.
    saying = asyncio.create_task(announce(speech.hass, SIX_SECONDS))
    await second.wait_for(lambda: len(second.announcements) == 2 and bool(second.announcements[1].played))
    await first.wake("hello again")
    await second.wait_for(lambda: second.announcements[1].over, 1)
    with pytest.raises(HomeAssistantError, match="interrupted"):
        await saying
    await first.wait_state(State.IDLE, 30)
    # Who stops the one that sounds has stopped it: the other does not say it again.
    saying = asyncio.create_task(announce(speech.hass, SIX_SECONDS))
    await second.wait_for(lambda: len(second.announcements) > 2 and bool(second.announcements[-1].played))
    await second.click()
    with pytest.raises(HomeAssistantError, match="its media player was stopped"):
        await saying
    assert not first.announcements
    assert reported == []


@pytest.mark.usefixtures("boot")
async def test_players_that_announce_can_be_chosen_those_of_the_area_first(
    hass: HomeAssistant, player: BigSpeaker, linked_entry: MockConfigEntry, device_id: str
) -> None:
    await hass.async_block_till_done()
    same, other = BigSpeaker(), BigSpeaker()
    same._attr_unique_id, other._attr_unique_id = "same", "other"
    other._attr_name = "A radio without announcements"
    other._attr_supported_features = MediaPlayerEntityFeature.PLAY_MEDIA
    await add_entities(hass, "more", {Platform.MEDIA_PLAYER: [same, other]})
    area = ar.async_get(hass).async_create("Kitchen").id
    registry = er.async_get(hass)
    for entity_id in (SELECT, same.entity_id):
        registry.async_update_entity(entity_id, area_id=area)
    await hass.async_block_till_done()
    assert state_of(hass, SELECT).state == "this_device"
    await choose(hass, SELECT, "Big speaker")
    await wait_for_state(hass, SELECT, "Big speaker")
    named = ["this_device", "Big speaker (Kitchen)", "Big speaker"]
    assert state_of(hass, SELECT).attributes["options"] == named
    registry.async_update_entity(PLAYER, area_id=area)
    await choose(hass, SELECT, f"Big speaker (Kitchen) ({same.entity_id})")
    await wait_for_state(hass, SELECT, f"Big speaker (Kitchen) ({same.entity_id})")
    assert f"Big speaker (Kitchen) ({PLAYER})" in state_of(hass, SELECT).attributes["options"]
    # By its form, any player, also one that comes later.
    form: dict[str, Any] = {"loudspeaker_lead": 2.5, "share_transcripts": False}
    for player_of_form, state in (
        ({"loudspeaker": other.entity_id}, "A radio without announcements"),
        ({}, "this_device"),
    ):
        await submit_device(hass, await change_device(hass, linked_entry), **form, **player_of_form)
        await wait_for_state(hass, SELECT, state)


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
    waits = gateway.announcer(gateway.devices[OTHER_MAC])
    saying = asyncio.create_task(waits.say(Utterance(text="Dinner.", speech=beep(1))))
    await asyncio.sleep(1)
    await choose(boot.hass, OTHER_SELECT, "this_device")
    await other.wait_for(lambda: bool(other.announcements), 5)
    assert (await saying).how is Delivery.NOTIFY
    assert (await long).end is End.DONE
