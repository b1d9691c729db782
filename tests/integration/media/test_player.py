"""The media player of a device and its volume, over real sockets, in each state in which a device plays."""

import asyncio
import logging
from typing import Any

from homeassistant.components.ffmpeg import DATA_FFMPEG, FFmpegManager
from homeassistant.config_entries import RELOAD_AFTER_UPDATE_DELAY
from homeassistant.core import HomeAssistant, State as EntityState
from homeassistant.exceptions import HomeAssistantError, ServiceNotSupported, ServiceValidationError
from homeassistant.helpers import entity_registry as er
from homeassistant.helpers.llm import ToolInput
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.alarms.ring import Bell, Ring, RingEnd, TimerTimeouts
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import ListeningMode, SimulatedDevice, State, converse, get_profile
from simulator.application.announcement import Announcement, Outcome
from tests.integration.boxes import Speech, act, change_settings, state_of, wait_for_state
from tests.integration.home import remember
from tests.integration.media.media_server import MediaServer, children, music, with_titles
from tests.integration.names import BRIGHTNESS, NEW, OLD, SATELLITE, Boot
from tests.protocol.audio.sounds import pitch_level
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT
PLAYER = "media_player.kitchen_box_speaker"


async def play(hass: HomeAssistant, media_id: str, **data: Any) -> None:
    await do(hass, "play_media", media_content_id=media_id, media_content_type="music", **data)


async def do(hass: HomeAssistant, service: str, **data: Any) -> None:
    await act(hass, "media_player", service, PLAYER, **data)


def player(hass: HomeAssistant) -> EntityState:
    return state_of(hass, PLAYER)


def taken(device: SimulatedDevice) -> list[Announcement]:
    """Return what the device has played; what it ignores while it is busy is offered again."""
    return [found for found in device.announcements if found.outcome is not Outcome.IGNORED]


def endless(server: MediaServer, path: str = "/radio") -> str:
    """Return the address of music without an end."""
    return server.pieces(path, [music(10)], then="again", headers={"icy-name": "Jazz FM"})


# Idle, with firmware that plays files.


async def test_an_idle_device_plays_a_file_to_its_end_before_the_action_returns(
    hass: HomeAssistant, boot: Boot, server: MediaServer, speech: Speech
) -> None:
    device = await boot(NEW)
    await play(hass, server.file("/song.mp3", music(8, title="So What")), enqueue="replace")
    assert player(hass).state == "playing"
    assert player(hass).attributes["media_title"] == "So What"
    await asyncio.sleep(4)
    await wait_for_state(hass, PLAYER, "idle", 20)
    [announcement] = device.announcements
    assert announcement.outcome is Outcome.PLAYED
    assert announcement.underruns == 0
    assert len(announcement.pcm) / 2 / device.speaker.rate == pytest.approx(8, abs=0.5)
    assert pitch_level(announcement.pcm, device.speaker.rate, 440) > 5000
    assert [text for _, text in announcement.shown] == ["So What"]
    assert "media_title" not in player(hass).attributes
    await server.wait_unused()
    said = {"media_player_entity_id": PLAYER, "message": "Dinner is ready.", "cache": False}
    await act(hass, "tts", "speak", speech.voice.entity_id, **said)
    announcement = device.announcements[-1]
    assert announcement.outcome is Outcome.PLAYED
    assert [text for _, text in announcement.shown] == ["Dinner is ready."]
    assert player(hass).state == "idle"


async def test_radio_is_one_stream_until_it_is_stopped_and_shows_each_song(
    hass: HomeAssistant, boot: Boot, server: MediaServer
) -> None:
    device = await boot(NEW)
    data = with_titles(music(20), 40_000, {0: "So What", 3: "Sinnerman"})
    server.pieces(
        "/radio",
        [data[i : i + 4000] for i in range(0, len(data), 4000)],
        every=0.25,
        headers={"icy-metaint": "40000", "icy-name": "Jazz FM"},
    )
    await play(hass, server.url("/radio"))
    await asyncio.sleep(4)
    state = player(hass)
    assert (state.state, state.attributes["media_channel"]) == ("playing", "Jazz FM")
    assert state.attributes["media_title"] == "So What"
    await device.wait_for(lambda: "Sinnerman" in device.screen.captions)
    await asyncio.sleep(1)
    assert player(hass).attributes["media_title"] == "Sinnerman"
    await do(hass, "media_stop")
    assert player(hass).state == "idle"
    [announcement] = device.announcements
    await device.wait_for(lambda: announcement.over, 5)
    assert announcement.outcome is Outcome.FAILED
    await device.wait_state(State.IDLE)
    await server.wait_unused()


async def test_a_file_is_paused_and_goes_on_where_it_was(
    hass: HomeAssistant, boot: Boot, server: MediaServer
) -> None:
    device = await boot(NEW)
    await play(hass, server.file("/song.mp3", music(10)))
    await asyncio.sleep(5)
    await do(hass, "media_pause")
    assert player(hass).state == "paused"
    position = player(hass).attributes["media_position"]
    assert 4 <= position <= 6
    await device.wait_state(State.IDLE)
    await asyncio.sleep(6)
    handler = server.handlers.pop("/song.mp3")
    with pytest.raises(HomeAssistantError, match="cannot be played"):
        await do(hass, "media_play")
    assert player(hass).state == "paused"
    assert player(hass).attributes["media_position"] == position
    server.handlers["/song.mp3"] = handler
    await do(hass, "media_play")
    assert player(hass).state == "playing"
    await wait_for_state(hass, PLAYER, "idle", 30)
    second = taken(device)[1]
    assert second.outcome is Outcome.PLAYED
    assert len(second.pcm) / 2 / device.speaker.rate == pytest.approx(10 - position, abs=1)
    # Nothing is paused any more, so there is no button to go on.
    with pytest.raises(ServiceNotSupported):
        await do(hass, "media_play")
    await do(hass, "media_pause")
    await do(hass, "media_stop")
    assert player(hass).state == "idle"


async def test_the_next_media_take_the_place_of_those_that_play(
    hass: HomeAssistant, boot: Boot, server: MediaServer
) -> None:
    device = await boot(NEW)
    await play(hass, endless(server))
    with pytest.raises(ServiceValidationError, match="no queue"):
        await play(hass, server.file("/song.mp3", music(3)), enqueue="add")
    await asyncio.sleep(3)
    await play(hass, server.url("/song.mp3"))
    await wait_for_state(hass, PLAYER, "idle", 30)
    assert [announcement.outcome for announcement in taken(device)] == [Outcome.FAILED, Outcome.PLAYED]
    # Nothing is played, so adding it is the same.
    await play(hass, server.url("/song.mp3"), enqueue="add")
    assert player(hass).state == "playing"
    await server.wait_unused()
    await do(hass, "media_stop")


async def test_music_assistant_skips_pauses_and_announces(
    hass: HomeAssistant, boot: Boot, server: MediaServer
) -> None:
    """What its provider `hass_players` calls: for each song an endless stream that begins with it."""
    device = await boot(NEW)
    metadata: dict[str, Any] = dict.fromkeys(
        ("artist", "album", "albumName", "images", "imageUrl", "duration")
    )
    for hertz in (440, 660, 880):
        url = server.pieces(f"/flow/{hertz}.mp3", [music(10, hertz=hertz)], then="again")
        extra = {"metadata": {**metadata, "title": f"Song {hertz}", "metadataType": 3}}
        await play(hass, url, enqueue="replace", extra=extra)
        state = player(hass)
        assert state.state == "playing"
        # By its own address it knows that the player plays for it.
        about = (state.attributes["media_title"], state.attributes["media_content_id"])
        assert about == (f"Song {hertz}", url)
        await asyncio.sleep(4)
        if hertz < 880:
            await do(hass, "media_stop")
    await do(hass, "media_pause")
    await do(hass, "media_play")
    assert player(hass).state == "playing"
    await asyncio.sleep(4)
    await play(hass, server.file("/bell.mp3", music(2, hertz=330)), announce=True)
    await wait_for_state(hass, PLAYER, "playing", 10)
    await asyncio.sleep(4)
    await do(hass, "media_stop")
    assert player(hass).state == "idle"
    assert taken(device)[4].outcome is Outcome.PLAYED
    for found, hertz in zip(taken(device), (440, 660, 880, 880, 330, 880), strict=True):
        assert pitch_level(found.pcm, device.speaker.rate, hertz) > 4000
        assert len(found.pcm) / 2 / device.speaker.rate > 1.5
    await server.wait_unused()


@pytest.mark.parametrize(("at", "seconds"), [(3, 8), (3, 4.5), (1, 4.5)])
async def test_after_an_announcement_a_file_goes_on_where_the_device_was(
    hass: HomeAssistant,
    boot: Boot,
    server: MediaServer,
    caplog: pytest.LogCaptureFixture,
    at: float,
    seconds: float,
) -> None:
    """It reads some seconds ahead, of a short file all of it, and then plays it to its end."""
    device = await boot(NEW)
    await play(hass, server.file("/song.mp3", music(seconds)))
    await asyncio.sleep(at)
    await play(hass, server.file("/bell.mp3", music(1, hertz=880)), announce=True)
    await wait_for_state(hass, PLAYER, "idle", 30)
    before, bell, *after = taken(device)
    assert bell.outcome is Outcome.PLAYED
    heard = len(before.pcm) / 2 / device.speaker.rate
    again = sum(len(found.pcm) for found in after) / 2 / device.speaker.rate
    if again:
        # Where its clock says, half a second early; the device plays a moment longer than it is sent.
        assert at - 0.7 < seconds - again < heard
    else:
        assert seconds - 0.2 < heard < seconds + 0.2
    ours = [record for record in caplog.records if record.name.startswith("custom_components.")]
    assert not [record.message for record in ours if record.levelno >= logging.WARNING]


async def test_music_plays_also_if_its_caller_is_cancelled_at_the_opening(
    hass: HomeAssistant, boot: Boot, speech: Speech, server: MediaServer
) -> None:
    device = await boot(OLD)
    await device.wake()
    opening = asyncio.create_task(play(hass, server.pieces("/late", [music(1)] * 9, every=2)))
    await wait_for_state(hass, PLAYER, "buffering", 5)
    opening.cancel()
    device.say(speech.command)
    await wait_for_state(hass, PLAYER, "playing", 30)
    await do(hass, "media_stop")


async def test_unplayable_media_are_told_to_the_caller_and_a_missing_ffmpeg_too(
    hass: HomeAssistant, boot: Boot, server: MediaServer, speech: Speech
) -> None:
    device = await boot(NEW)
    for address, text in (
        (server.url("/missing"), "missing cannot be played. Check its address"),
        (server.file("/page", "<html></html>" * 100), "page cannot be played. Check its address"),
        (server.pieces("/silent", [], then="stall"), "silent cannot be played. Check its address"),
        ("spotify:1", "Use an http or https address"),
    ):
        with pytest.raises(HomeAssistantError, match=text):
            await play(hass, address)
        assert player(hass).state == "idle"
        with pytest.raises(HomeAssistantError, match=text):
            await play(hass, address, announce=True)
    assert device.announcements == []
    await server.wait_unused()
    hass.data[DATA_FFMPEG] = FFmpegManager(hass, "/nowhere/ffmpeg")
    address = server.file("/song.mp3", music(3))
    for data in ({}, {"announce": True}):
        with pytest.raises(HomeAssistantError, match="Install ffmpeg on the computer"):
            await play(hass, address, **data)
    with pytest.raises(HomeAssistantError, match="Install ffmpeg"):
        await act(hass, "assist_satellite", "announce", SATELLITE, media_id=address, preannounce=False)
    await act(hass, "assist_satellite", "announce", SATELLITE, message="Dinner is ready.")
    assert [found.outcome for found in device.announcements] == [Outcome.PLAYED]


async def test_a_device_that_leaves_ends_the_music_and_a_reload_leaves_nothing(
    hass: HomeAssistant, boot: Boot, server: MediaServer, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does a player that is disabled, or a device that is removed, while it plays."""
    device = await boot(NEW)
    await play(hass, endless(server))
    await asyncio.sleep(3)
    await device.power_off()
    await wait_for_state(hass, PLAYER, "unavailable", 60)
    await server.wait_unused()
    # Home Assistant skips entities that are unavailable.
    await play(hass, server.url("/radio"))
    assert server.paths() == ["/radio"]
    await device.boot()
    await wait_for_state(hass, PLAYER, "idle", 60)
    await play(hass, server.url("/radio"))
    await asyncio.sleep(3)
    assert await hass.config_entries.async_reload(boot.entry.entry_id)
    await server.wait_unused()
    await wait_for_state(hass, PLAYER, "idle", 60)
    await play(hass, server.url("/radio"))
    await asyncio.sleep(3)
    for by in (er.RegistryEntryDisabler.USER, None):
        er.async_get(hass).async_update_entity(PLAYER, disabled_by=by)
        await server.wait_unused()
    # After this time Home Assistant loads the entry again by itself.
    await asyncio.sleep(RELOAD_AFTER_UPDATE_DELAY + 1)
    await wait_for_state(hass, PLAYER, "idle", 60)
    assert "This is a bug" not in caplog.text
    await play(hass, server.url("/radio"))
    await asyncio.sleep(3)
    hass.config_entries.async_remove_subentry(boot.entry, *boot.entry.subentries)
    await server.wait_unused()
    await hass.async_block_till_done()
    assert not [record.message for record in caplog.records if record.exc_info]


@pytest.mark.own_home
async def test_a_home_assistant_that_ends_ends_ffmpeg(
    hass: HomeAssistant, boot: Boot, server: MediaServer
) -> None:
    await boot(NEW)
    await play(hass, endless(server))
    assert len(children()) == 1
    await hass.async_stop()
    await server.wait_unused()
    await asyncio.sleep(1)
    assert children() == []


# In a conversation, with any firmware.


async def ask_for(speech: Speech, address: str) -> None:
    """Let the assistant play this when it is spoken to."""
    await speech.answer_with("Here is some jazz.", heard=["play some jazz"])
    media = {"media_content_id": address, "media_content_type": "music"}
    speech.agent.uses = [ToolInput("media_player__play_media", media)]


async def test_what_is_asked_for_in_a_conversation_plays_after_the_answer(
    hass: HomeAssistant, boot: Boot, speech: Speech, server: MediaServer
) -> None:
    device = await boot(OLD)
    await ask_for(speech, server.file("/song.mp3", music(6, title="So What")))
    talk = asyncio.create_task(converse(device, speech.command))
    await wait_for_state(hass, PLAYER, "buffering", 30)
    await wait_for_state(hass, PLAYER, "playing", 30)
    assert player(hass).attributes["media_title"] == "So What"
    said = await talk
    assert said.answers == ["Here is some jazz.", "So What"]
    assert said.played_seconds > 6
    assert said.late_percent == 0
    assert not said.hung_up
    assert player(hass).state == "idle"
    await server.wait_unused()


@pytest.mark.parametrize("clicks", [True, False])
async def test_in_a_conversation_music_plays_until_somebody_ends_it(
    hass: HomeAssistant, boot: Boot, speech: Speech, server: MediaServer, clicks: bool
) -> None:
    change_settings(hass, boot.entry, interrupt_by_speaking=clicks)
    device = await boot(get_profile("s3", mode=ListeningMode.REALTIME) if clicks else OLD)
    await ask_for(speech, endless(server))
    await device.wake()
    device.say(speech.command)
    await wait_for_state(hass, PLAYER, "playing", 30)
    await asyncio.sleep(2)
    if clicks:
        device.say(speech.command)
        await device.wait_said()
    await asyncio.sleep(2)
    assert device.state is State.SPEAKING
    assert player(hass).state == "playing"
    if clicks:
        await device.click()
    else:
        await do(hass, "media_stop")
    await server.wait_unused()
    await device.wait_state(State.LISTENING if clicks else State.IDLE)
    await wait_for_state(hass, PLAYER, "idle", 10)


@pytest.mark.timeouts(TimerTimeouts, alarm=20)
@pytest.mark.parametrize("clicks", [True, False])
async def test_an_alarm_ends_the_music_of_a_silent_conversation_and_rings_on(
    hass: HomeAssistant, boot: Boot, speech: Speech, server: MediaServer, clicks: bool
) -> None:
    """Who has asked for it has fallen asleep: a bell and a sentence would wake nobody."""
    device = await boot(OLD)
    await ask_for(speech, endless(server))
    await device.wake()
    device.say(speech.command)
    await wait_for_state(hass, PLAYER, "playing", 30)
    await asyncio.sleep(2)
    bell = Bell(boot.known, boot.known.part(Announcer))
    ringing = asyncio.create_task(bell.ring(Ring(is_alarm=True, text="Alarm"), hass.loop.time() + 60))
    await asyncio.sleep(10)
    assert (player(hass).state, device.state, ringing.done()) == ("idle", State.SPEAKING, False)
    assert device.screen.captions[-1] == "Alarm"
    before = device.played_seconds
    await asyncio.sleep(5)
    assert device.played_seconds - before == pytest.approx(5, abs=0.5)
    if clicks:
        await device.click()
    assert await ringing is (RingEnd.STOPPED if clicks else RingEnd.OVER)
    assert player(hass).state == "idle"
    await server.wait_unused()


@pytest.mark.parametrize("link", [LinkKind.MQTT, LinkKind.WEBSOCKET])
async def test_an_idle_device_that_cannot_play_says_what_would_help(
    hass: HomeAssistant, boot: Boot, server: MediaServer, link: LinkKind
) -> None:
    await boot(OLD)
    help_of = {
        LinkKind.MQTT: "Install firmware 2.5.0 or newer",
        LinkKind.WEBSOCKET: "Choose the connection MQTT",
    }
    for announce in (False, True):
        with pytest.raises(HomeAssistantError, match=help_of[link]):
            await play(hass, server.file("/song.mp3", music(3)), announce=announce)
    assert player(hass).state == "idle"


# Its volume.


async def test_the_volume_is_that_of_the_device_and_a_mute_is_remembered(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    device = await boot(OLD)
    await wait_for_state(hass, BRIGHTNESS, "75", 30)
    await do(hass, "volume_set", volume_level=0.4)
    assert device.values["volume"] == 40
    await do(hass, "volume_up")
    await hass.async_block_till_done()
    assert device.values["volume"] == 50
    await do(hass, "volume_mute", is_volume_muted=True)
    assert device.values["volume"] == 0
    await hass.async_block_till_done()
    assert player(hass).attributes["is_volume_muted"] is True
    await do(hass, "volume_mute", is_volume_muted=True)
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await wait_for_state(hass, PLAYER, "idle", 60)
    await do(hass, "volume_mute", is_volume_muted=False)
    assert device.values["volume"] == 50
    assert player(hass).attributes["is_volume_muted"] is False
    # One that is not muted any more, since somebody has turned it up at the device, stays as it is.
    await do(hass, "volume_mute", is_volume_muted=True)
    device.values["volume"] = 30
    await wait_for_state(hass, BRIGHTNESS, "75", 60)
    await until(lambda: player(hass).attributes["volume_level"] == 0.3, 120)
    await do(hass, "volume_mute", is_volume_muted=False)
    assert device.values["volume"] == 30


@pytest.fixture
def stored_mute(hass: HomeAssistant, request: pytest.FixtureRequest) -> None:
    remember(hass, EntityState(PLAYER, "idle"), {"level": request.param})


@pytest.mark.parametrize("stored_mute", ["loud", [], {"level": None}], indirect=True)
async def test_a_mute_that_is_damaged_on_the_disk_is_none(
    hass: HomeAssistant, stored_mute: None, boot: Boot, known: Device
) -> None:
    device = await boot(OLD)
    await wait_for_state(hass, BRIGHTNESS, "75", 30)
    await known.commands.change("self.audio_speaker.set_volume", {"volume": 0})
    await device.wait_for(lambda: player(hass).attributes.get("volume_level") == 0, 120)
    assert player(hass).attributes["is_volume_muted"] is False
    await do(hass, "volume_mute", is_volume_muted=False)
    assert device.values["volume"] == 0
