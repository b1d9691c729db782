"""A media player says what a device would say; what keeps it from doing so; and how it is chosen."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

from homeassistant.components.media_player import MediaPlayerEntityFeature, MediaPlayerState
from homeassistant.const import EVENT_STATE_CHANGED, Platform
from homeassistant.core import (
    Event,
    EventStateChangedData,
    HomeAssistant,
    State as EntityState,
    StateMachine,
    callback,
)
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er, intent, issue_registry as ir
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.announcements.other_loudspeaker import said_in_house
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.loudspeaker.room_sound import SENT_AHEAD, Sound
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import ListeningMode, SimulatedDevice, State, get_profile
from simulator.application.announcement import Outcome
from tests.integration.announcements.big_speaker import (
    OTHER_SELECT,
    PLAYER,
    SELECT,
    SIX_SECONDS,
    BigSpeaker,
    says_itself,
)
from tests.integration.boxes import (
    BOTH,
    TWO_DEVICES,
    Speech,
    act,
    announce,
    call_action,
    change_settings,
    choose,
    hear_answer,
    paired_boxes,
    say,
    state_of,
    wait_for_state,
)
from tests.integration.http_device import MakeEntry, running
from tests.integration.names import COMMAND, NEW, OLD, OTHER_MAC, Boot
from tests.integration.provisioning.forms import change_device, submit_device
from tests.integration.speech import add_entities
from tests.protocol.audio.sounds import pitch_level

LINKS = pytest.mark.parametrize("link", [LinkKind.MQTT, LinkKind.WEBSOCKET])


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
    await asyncio.gather(*(announce(speech.hass, SIX_SECONDS, each) for each in BOTH))
    assert len(player.played) == 3
    assert player.began[2] - player.began[1] > 6
    assert len(reported) == 1
    # In one action for both, it is the same room.
    await announce(speech.hass, SIX_SECONDS, BOTH)
    assert len(player.played) == 4


@TWO_DEVICES
@pytest.mark.usefixtures("chosen")
async def test_a_second_device_says_what_their_player_could_not(
    boot: Boot, speech: Speech, player: BigSpeaker
) -> None:
    await choose(speech.hass, OTHER_SELECT, "Big speaker")
    await boot(OLD)
    second = await boot(NEW, mac=OTHER_MAC)
    player.error = HomeAssistantError("It is broken")
    # The first one cannot say it itself. Which that is, Home Assistant decides.
    with suppress(HomeAssistantError):
        await announce(speech.hass, at=BOTH)
    assert (await second.wait_announced()).outcome is Outcome.PLAYED


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
    await hass.async_block_till_done()
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


async def test_a_chosen_player_is_followed_where_it_gets_another_id(
    hass: HomeAssistant, device: SimulatedDevice, player: BigSpeaker, reported: list[str]
) -> None:
    er.async_get(hass).async_update_entity(PLAYER, new_entity_id="media_player.hall")
    await hass.async_block_till_done()
    await wait_for_state(hass, SELECT, "Big speaker")
    await announce(hass)
    assert len(player.played) == 1
    assert not says_itself(device)
    assert reported == []
    assert not issues(hass)


def issues(hass: HomeAssistant) -> list[str]:
    """Return the placeholders of the repairs for players that are gone."""
    found = [issue for issue in ir.async_get(hass).issues.values() if "loudspeaker_gone" in issue.issue_id]
    return [str(issue.translation_placeholders) for issue in found]


@pytest.mark.parametrize("ends", ["choice", "return", "deletion"])
async def test_a_chosen_player_that_is_gone_for_good_is_a_repair(
    hass: HomeAssistant,
    device: SimulatedDevice,
    player: BigSpeaker,
    linked_entry: MockConfigEntry,
    ends: str,
) -> None:
    player.show(MediaPlayerState.IDLE, there=False)
    await asyncio.sleep(5)
    assert issues(hass) == []
    er.async_get(hass).async_remove(PLAYER)
    await asyncio.sleep(5)
    assert issues(hass) == [str({"name": "Kitchen box", "player": PLAYER})]
    match ends:
        case "choice":
            await choose(hass, SELECT, "this_device")
        case "return":
            await add_entities(hass, "louder", {Platform.MEDIA_PLAYER: [BigSpeaker()]})
        case "deletion":
            hass.config_entries.async_remove_subentry(linked_entry, *linked_entry.subentries)
    await asyncio.sleep(5)
    assert issues(hass) == []


_ANNOUNCES = MediaPlayerEntityFeature.MEDIA_ANNOUNCE | MediaPlayerEntityFeature.PLAY_MEDIA


async def test_players_that_come_together_are_looked_at_once_for_all_boxes(
    hass: HomeAssistant, speech: Speech, make_entry: MakeEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    await running(hass, make_entry(*paired_boxes(20)))
    await asyncio.sleep(2)
    everything, looks = StateMachine.async_all, list[object]()

    def look(states: StateMachine, domain: str | None = None) -> list[EntityState]:
        looks.append(domain)
        return everything(states, domain)

    monkeypatch.setattr(StateMachine, "async_all", look)
    written = async_capture_events(hass, EVENT_STATE_CHANGED)
    order = list[str]()

    @callback
    def note(event: Event[EventStateChangedData]) -> None:
        if event.data["entity_id"].startswith("select.box_"):
            order.append("select")
            hass.loop.call_soon(order.append, "others")

    stop = hass.bus.async_listen(EVENT_STATE_CHANGED, note)
    for number in range(60):
        hass.states.async_set(f"media_player.room_{number}", "idle", {"supported_features": _ANNOUNCES})
    await asyncio.sleep(2)
    assert looks.count(Platform.MEDIA_PLAYER) == 1
    of_selects = [event for event in written if event.data["entity_id"].startswith("select.box_")]
    assert len(of_selects) == 20
    # Between two of them, everybody else has a turn.
    assert order == ["select", "others"] * 20
    stop()
    assert len(state_of(hass, "select.box_20_voice_output").attributes["options"]) >= 61
    for number in range(60):
        hass.states.async_remove(f"media_player.room_{number}")
