"""A media player that says what a device would say, and what keeps it from doing so."""

import asyncio
from collections.abc import AsyncGenerator
import gc
import io
from typing import Any, override

import aiohttp
import av
from homeassistant.components.media_player import (
    MediaPlayerEntity,
    MediaPlayerEntityFeature,
    MediaPlayerState,
    MediaType,
)
from homeassistant.const import Platform
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, entity_registry as er, intent
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.announcements.room_player import Sound
from custom_components.xiaozhi.const import EVENT_ROOM_PLAYER
from custom_components.xiaozhi.logbook import async_describe_events
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import ListeningMode, SimulatedDevice, State, get_profile
from simulator.application.announcement import Outcome
from tests.integration.boxes import Speech, act, change_settings, choose, say, state_of, wait_for_state
from tests.integration.http_device import paired_device
from tests.integration.names import CLIENT_ID, COMMAND, MAC, OTHER_MAC, SATELLITE, Boot
from tests.integration.speech import add_entities
from tests.protocol.audio.sounds import pitch_level

SELECT = "select.kitchen_box_voice_output"
OTHER_SELECT = "select.bedroom_box_voice_output"
PLAYER = "media_player.big_speaker"
OLD, NEW = get_profile(), get_profile(version="2.5.0")
# Of the scripted voice, which says 20 letters in a second.
SIX_SECONDS = "Listen to this. " + "word " * 21
TWO_DEVICES = pytest.mark.parametrize(
    "paired",
    [(paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Bedroom box"))],
    ids=["two"],
)
LINKS = pytest.mark.parametrize("link", [LinkKind.MQTT, LinkKind.WEBSOCKET])


class BigSpeaker(MediaPlayerEntity):
    """Fetches what it is to play as Cast does, and plays it."""

    _attr_name = "Big speaker"
    _attr_unique_id = "big_speaker"
    _attr_should_poll = False
    _attr_state = MediaPlayerState.IDLE
    _attr_supported_features = (
        MediaPlayerEntityFeature.MEDIA_ANNOUNCE
        | MediaPlayerEntityFeature.PLAY_MEDIA
        | MediaPlayerEntityFeature.STOP
    )

    def __init__(self) -> None:
        self.played: list[bytes] = []
        """PCM of 24 kHz of each sound."""
        self.began: list[float] = []
        self.stopped = 0
        self.fetches = True
        self.error: Exception | None = None
        self.last_error: Exception | None = None
        """What it raises when it has played."""
        self.ends = True
        """Whether it reports that it has ended."""
        self._playing: asyncio.Task[None] | None = None

    @override
    async def async_play_media(self, media_type: MediaType | str, media_id: str, **kwargs: Any) -> None:
        if self.error is not None:
            raise self.error
        assert kwargs["announce"]
        if self.fetches:
            self._playing = self.hass.async_create_background_task(self._play(media_id), "big speaker")
        if self.last_error is not None and self._playing is not None:
            await asyncio.wait((self._playing,))
            await asyncio.sleep(2)
            raise self.last_error

    @override
    async def async_media_stop(self) -> None:
        self.stopped += 1
        if self._playing is not None:
            self._playing.cancel()

    async def _play(self, address: str) -> None:
        self.show(MediaPlayerState.BUFFERING, address)
        mp3 = b""
        headers = {"Range": "bytes=0-", "Origin": "https://www.gstatic.com"}
        try:
            async with aiohttp.ClientSession(headers=headers) as session:
                async with session.head(address) as response:
                    assert response.content_type == "audio/mpeg"
                async with session.get(address, raise_for_status=True) as response:
                    assert response.content_type == "audio/mpeg"
                    async for part in response.content.iter_any():
                        if not mp3:
                            self.began.append(self.hass.loop.time())
                            self.show(MediaPlayerState.PLAYING, address)
                        mp3 += part
            self.played.append(decoded(mp3))
            await asyncio.sleep(self.began[-1] + len(self.played[-1]) / 48000 - self.hass.loop.time())
        finally:
            if self.ends:
                self.show(MediaPlayerState.IDLE)

    def show(self, state: MediaPlayerState, address: str | None = None, *, there: bool = True) -> None:
        self._attr_state, self._attr_media_content_id, self._attr_available = state, address, there
        self.async_write_ha_state()


def decoded(mp3: bytes) -> bytes:
    with av.open(io.BytesIO(mp3), "r") as container:
        resampler = av.AudioResampler(format="s16", layout="mono", rate=24000)
        frames = [each for frame in container.decode(audio=0) for each in resampler.resample(frame)]
    return b"".join(bytes(frame.planes[0])[: 2 * frame.samples] for frame in frames)


def says_itself(device: SimulatedDevice) -> bool:
    pcm = device.speaker.played_pcm
    return bool(pcm) and pitch_level(pcm, device.speaker.rate, 440) > 1000


@pytest.fixture
async def player(
    hass: HomeAssistant,
    speech: Speech,
    linked_entry: MockConfigEntry,
    hass_client_no_auth: ClientSessionGenerator,
) -> BigSpeaker:
    speaker = BigSpeaker()
    await add_entities(hass, "loud", {Platform.MEDIA_PLAYER: [speaker]})
    hass.config.internal_url = str((await hass_client_no_auth()).make_url("")).rstrip("/")
    return speaker


@pytest.fixture
async def chosen(hass: HomeAssistant, player: BigSpeaker, linked_entry: MockConfigEntry) -> None:
    """The owner has chosen the player for the kitchen box."""
    await hass.async_block_till_done()
    await choose(hass, SELECT, "Big speaker")


@pytest.fixture
def reported(hass: HomeAssistant) -> Any:
    """Return what returns the lines in the activity."""
    events = async_capture_events(hass, EVENT_ROOM_PLAYER)
    described: dict[str, Any] = {}
    async_describe_events(hass, lambda _, event, describe: described.update({event: describe}))
    return lambda: [described[EVENT_ROOM_PLAYER](event)["message"] for event in events]


@LINKS
@pytest.mark.usefixtures("chosen")
async def test_the_player_answers_while_the_device_shows_the_text_and_listens_after_that(
    hass: HomeAssistant,
    boot: Boot,
    speech: Speech,
    player: BigSpeaker,
    command: bytes,
    reported: Any,
    states: list[str],
) -> None:
    await speech.answer_with("The lamp in the kitchen? Which one?", "Done.", heard=[COMMAND, COMMAND])
    device = await boot(OLD)
    player.ends = False
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: len(device.speaker.answers) == 1, 30)
    await device.wait_state(State.LISTENING, 30)
    (sound,) = player.played
    assert len(sound) / 48000 == pytest.approx(1.75, abs=0.1)
    assert pitch_level(sound, 24000, 440) > 5000
    assert hass.loop.time() >= player.began[0] + 1.75, "the device hears the end of its own answer"
    assert not says_itself(device)
    assert device.screen.captions[-2:] == ["The lamp in the kitchen?", "Which one?"]
    device.say(command)
    await device.wait_state(State.IDLE, 60)
    assert len(player.played) == 2
    assert "responding" in states
    assert reported() == []


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize(
    "case",
    [
        ("refuses", 0, "could not play"),
        ("does nothing", 0, "within five seconds"),
        ("vanishes", 0, "not available"),
        ("vanishes", 2, "not available"),
    ],
)
async def test_the_device_gives_the_whole_answer_if_the_player_does_not_and_says_why(
    hass: HomeAssistant,
    boot: Boot,
    speech: Speech,
    player: BigSpeaker,
    command: bytes,
    reported: Any,
    case: tuple[str, float, str],
) -> None:
    fault, when, reason = case
    await speech.answer_with(SIX_SECONDS)
    device = await boot(OLD)
    player.error = HomeAssistantError("no") if fault == "refuses" else None
    player.fetches = fault == "vanishes"

    async def vanish() -> None:
        await device.wait_for(lambda: not when or bool(player.began), 30)
        await asyncio.sleep(when)
        player.show(MediaPlayerState.IDLE, there=False)

    vanishing = asyncio.create_task(vanish()) if fault == "vanishes" else None
    await say(device, command)
    if vanishing is not None:
        await vanishing
    assert [reason in line and "Big speaker" in line for line in reported()] == [True]
    pcm = device.speaker.played_pcm
    said = pcm[-round(5.8 * 2 * device.speaker.rate) :]
    assert pitch_level(said, device.speaker.rate, 440) > 5000
    assert device.screen.captions[0].startswith("Listen to this.")
    assert len(device.screen.captions) == len(set(device.screen.captions))


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize(
    ("by_button", "own"),
    [(True, True), (True, False), (False, True)],
    ids=["button, ours", "button, its music", "wake word, ours"],
)
async def test_the_button_or_the_wake_word_stops_the_player_if_it_still_plays_what_is_ours(
    hass: HomeAssistant,
    boot: Boot,
    speech: Speech,
    player: BigSpeaker,
    command: bytes,
    *,
    by_button: bool,
    own: bool,
) -> None:
    await speech.answer_with(SIX_SECONDS)
    device = await boot(OLD)
    if not own:
        player.show(MediaPlayerState.PLAYING, "music")
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: device.played_seconds > 2, 30)
    if not own:
        player.show(MediaPlayerState.PLAYING, "music")
    await (device.click() if by_button else device.wake())
    await device.wait_for(lambda: device.state is not State.SPEAKING, 5)
    await hass.async_block_till_done()
    assert player.stopped == own
    assert not says_itself(device)


@pytest.mark.usefixtures("chosen")
async def test_timers_questions_and_speech_for_its_media_player_sound_there_until_somebody_wakes_it(
    hass: HomeAssistant, boot: Boot, speech: Speech, player: BigSpeaker, device_id: str, command: bytes
) -> None:
    device = await boot(OLD)
    said = {"media_player_entity_id": "media_player.kitchen_box_speaker", "message": "Dinner."}
    await act(hass, "tts", "speak", speech.voice.entity_id, **said)
    assert len(player.played) == 1
    speech.recognizer.lines = ["yes"]
    data = {"device_id": device_id, "question": "Close the window?"}
    asked = hass.services.async_call("xiaozhi", "ask", data, blocking=True, return_response=True)
    asking = asyncio.create_task(asked)
    await device.wait_for(lambda: len(player.played) == 2, 20)
    await asyncio.sleep(10)
    await say(device, command)
    assert "yes" in str(await asking)
    slots = {"seconds": {"value": 1}, "name": {"value": "pizza"}}
    await intent.async_handle(hass, "test", intent.INTENT_START_TIMER, slots, device_id=device_id)
    before = len(player.began)
    await device.wait_for(lambda: len(player.began) > before, 20)
    rang = hass.loop.time()
    await asyncio.sleep(5)
    await device.wake()
    await device.wait_state(State.IDLE, 10)
    await wait_for_state(hass, PLAYER, "idle")
    assert hass.loop.time() - rang < 10
    assert not says_itself(device)
    # Also while the device is away, as soon as the player is there.
    before = len(player.began)
    slots["seconds"]["value"] = 5
    await intent.async_handle(hass, "test", intent.INTENT_START_TIMER, slots, device_id=device_id)
    await device.power_off()
    player.show(MediaPlayerState.IDLE, there=False)
    await asyncio.sleep(120)
    player.show(MediaPlayerState.IDLE)
    await asyncio.sleep(100)
    assert len(player.began) == before + 1


@TWO_DEVICES
@pytest.mark.usefixtures("chosen")
async def test_two_devices_that_answer_through_one_player_do_not_speak_at_the_same_time(
    hass: HomeAssistant, boot: Boot, speech: Speech, player: BigSpeaker, command: bytes, reported: Any
) -> None:
    await choose(hass, OTHER_SELECT, "Big speaker")
    await speech.answer_with(SIX_SECONDS, SIX_SECONDS, heard=[COMMAND, COMMAND])
    first, second = await boot(OLD), await boot(OLD, mac=OTHER_MAC)
    await asyncio.gather(say(first, command, "hello"), say(second, command, "good morning"))
    assert len(player.played) == 1
    assert {says_itself(first), says_itself(second)} == {True, False}
    assert "for another device" in reported()[0]
    # What need not be said at once waits.
    both = [SATELLITE, "assist_satellite.bedroom_box"]
    await act(hass, "assist_satellite", "announce", both, message=SIX_SECONDS)
    assert len(player.played) == 3
    assert player.began[2] - player.began[1] > 6
    assert len(reported()) == 1


@TWO_DEVICES
@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("board", ["s3", "c3"])
async def test_what_a_player_says_is_no_command_for_another_device_that_it_wakes(
    boot: Boot, speech: Speech, player: BigSpeaker, command: bytes, board: str
) -> None:
    """The wake word is in the answer; a board that does not report it repeats a part of that."""
    answer = "My name is Jarvis, and I am the voice of this house. " * 3
    await speech.answer_with(answer, heard=[COMMAND, "I am the voice of this"])
    device, other = await boot(OLD), await boot(get_profile(board), mac=OTHER_MAC)
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: device.played_seconds > 1, 30)
    await other.wake("Jarvis")
    await other.wait_state(State.LISTENING, 5)
    other.say(command)
    await other.wait_state(State.IDLE, 20)
    assert speech.agent.heard == [COMMAND]
    assert len(speech.recognizer.streams) == (1 if board == "s3" else 2)
    assert not other.screen.captions
    await device.wait_state(State.IDLE, 30)
    assert player.stopped == 0
    # Nobody says it now.
    speech.recognizer.lines, speech.agent.lines = [COMMAND], ["Done."]
    await say(other, command, "Jarvis")
    assert speech.agent.heard == [COMMAND, COMMAND]


@pytest.mark.usefixtures("chosen", "all_enabled")
async def test_a_device_that_never_stops_listening_is_deaf_to_the_player(
    hass: HomeAssistant,
    boot: Boot,
    speech: Speech,
    player: BigSpeaker,
    linked_entry: MockConfigEntry,
    command: bytes,
) -> None:
    change_settings(hass, linked_entry, interrupt_by_speaking=True)
    await speech.answer_with(
        "It can be one of many here. " * 4 + "Which one?", "Done.", heard=[COMMAND, "the lamp"]
    )
    device = await boot(get_profile("s3", mode=ListeningMode.REALTIME))
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: device.played_seconds > 1, 30)
    device.say(command)
    # At this pace, a channel on which nothing comes for 2.4 s is stale, and would take no other turn.
    await device.wait_state(State.LISTENING, 30)
    assert player.stopped == 0
    heard = len(speech.recognizer.streams)
    await asyncio.sleep(1)
    device.say(command)
    await device.wait_state(State.IDLE, 30)
    assert (heard, len(speech.recognizer.streams)) == (1, 2)
    assert len(speech.recognizer.streams[1]) / 32000 < len(command) / 32000 + 2
    assert speech.agent.heard == [COMMAND, "the lamp"]


@LINKS
@pytest.mark.usefixtures("chosen")
async def test_an_announcement_needs_only_the_player_and_is_shown_where_the_device_can(
    hass: HomeAssistant, boot: Boot, player: BigSpeaker, link: LinkKind, reported: Any
) -> None:
    device = await boot(OLD)
    await act(hass, "assist_satellite", "announce", SATELLITE, message="Dinner is ready.")
    assert len(player.played) == 1
    assert hass.loop.time() >= player.began[0] + 0.8
    shown = [
        each["message"]["message"] for each in device.events("received") if each["message"]["type"] == "alert"
    ]
    assert shown == (["Dinner is ready."] if link is LinkKind.MQTT else [])
    player.show(MediaPlayerState.IDLE, there=False)
    with pytest.raises(HomeAssistantError):
        await act(hass, "assist_satellite", "announce", SATELLITE, message="It gets cold.")
    player.show(MediaPlayerState.IDLE)
    player.error = ValueError("no")
    with pytest.raises(HomeAssistantError):
        await act(hass, "assist_satellite", "announce", SATELLITE, message="It gets cold.")
    assert len(reported()) == 1


@pytest.mark.usefixtures("chosen")
async def test_the_screens_of_a_long_announcement_end_when_it_is_stopped(
    hass: HomeAssistant, boot: Boot, player: BigSpeaker, device_id: str
) -> None:
    device = await boot(OLD)
    announcing = asyncio.create_task(
        act(hass, "assist_satellite", "announce", SATELLITE, message="It goes on. " * 150)
    )
    await device.wait_for(lambda: device.screen.captions or bool(player.began), 30)
    await asyncio.sleep(5)
    await act(hass, "media_player", "media_stop", "media_player.kitchen_box_speaker")
    with pytest.raises(HomeAssistantError):
        await announcing
    await asyncio.sleep(120)
    assert [each["message"]["type"] for each in device.events("received")].count("alert") == 1


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("in_conversation", [False, True])
async def test_a_voice_that_hangs_is_an_error_and_keeps_nothing_else_from_being_said(
    hass: HomeAssistant,
    boot: Boot,
    speech: Speech,
    player: BigSpeaker,
    command: bytes,
    *,
    in_conversation: bool,
) -> None:
    """In a conversation, the device would stay silent and deaf."""
    await speech.answer_with(SIX_SECONDS)
    device = await boot(OLD)
    if in_conversation:
        await choose(hass, SELECT, "this_device")
        await device.wake()
        device.say(command)
        await device.wait_for(lambda: device.played_seconds > 1, 30)
    speech.voice.may_go_on.clear()
    async with asyncio.timeout(60):
        with pytest.raises(HomeAssistantError, match="no sound has come"):
            await act(hass, "assist_satellite", "announce", SATELLITE, message="Dinner is ready.")
    speech.voice.may_go_on.set()
    await device.wait_state(State.IDLE, 10)
    await choose(hass, SELECT, "Big speaker")
    await act(hass, "assist_satellite", "announce", SATELLITE, message="It gets cold.")
    assert player.played[-1]


@pytest.mark.usefixtures("chosen")
async def test_what_fails_when_all_is_said_leaves_no_traceback(
    hass: HomeAssistant, boot: Boot, speech: Speech, player: BigSpeaker
) -> None:
    """Some players answer the action at the end of the sound, and some do so with an error."""
    await boot(OLD)
    player.last_error = HomeAssistantError("no")
    await act(hass, "assist_satellite", "announce", SATELLITE, message="Dinner is ready.")
    await asyncio.sleep(10)
    # Neither does a voice that fails when the player is given up.
    player.last_error, player.fetches = None, False
    speech.voice.delay, speech.voice.fails = 4, True
    with pytest.raises(HomeAssistantError):
        await act(hass, "assist_satellite", "announce", SATELLITE, message="It gets cold.")
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


@pytest.mark.own_home
@TWO_DEVICES
@LINKS
@pytest.mark.usefixtures("ffmpeg")
async def test_two_devices_may_have_each_other_for_their_loudspeaker(
    hass: HomeAssistant,
    boot: Boot,
    speech: Speech,
    command: bytes,
    link: LinkKind,
    reported: Any,
    hass_client_no_auth: ClientSessionGenerator,
) -> None:
    await speech.answer_with(SIX_SECONDS)
    hass.config.internal_url = str((await hass_client_no_auth()).make_url("")).rstrip("/")
    first, second = await boot(NEW), await boot(NEW, mac=OTHER_MAC)
    await choose(hass, SELECT, "Bedroom box Speaker")
    await choose(hass, OTHER_SELECT, "Kitchen box Speaker")
    await say(first, command)
    if link is LinkKind.WEBSOCKET:
        assert says_itself(first)
        assert "could not play" in reported()[0]
        return
    announcement = await second.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    assert pitch_level(announcement.pcm, second.speaker.rate, 440) > 5000
    assert not says_itself(first)
    assert not first.announcements
    assert reported() == []


@pytest.mark.usefixtures("boot")
async def test_the_players_that_can_announce_can_be_chosen_those_of_the_area_first(
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
    names = [f"Big speaker ({each})" for each in (same.entity_id, PLAYER)]
    await choose(hass, SELECT, names[1])
    await wait_for_state(hass, SELECT, names[1])
    assert state_of(hass, SELECT).attributes["options"] == ["this_device", *names]
    # By its form, any player, also one that comes later.
    flow = await linked_entry.start_subentry_reconfigure_flow(hass, next(iter(linked_entry.subentries)))
    form = {"loudspeaker": other.entity_id, "loudspeaker_lead": 2.5, "share_transcripts": False}
    await hass.config_entries.subentries.async_configure(flow["flow_id"], form)
    await wait_for_state(hass, SELECT, "A radio without announcements")
    flow = await linked_entry.start_subentry_reconfigure_flow(hass, next(iter(linked_entry.subentries)))
    del form["loudspeaker"]
    await hass.config_entries.subentries.async_configure(flow["flow_id"], form)
    await wait_for_state(hass, SELECT, "this_device")
