"""What goes wrong while a device makes an announcement is reported to the caller."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import nullcontext
from typing import Any

from homeassistant.components.assist_satellite import AssistSatelliteEntity
from homeassistant.core import HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, intent
from homeassistant.helpers.dispatcher import async_dispatcher_connect
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.announcements.announcer import Announcer
from custom_components.xiaozhi.announcements.delivery import Delivery
from custom_components.xiaozhi.announcements.heard import End, Heard
from custom_components.xiaozhi.announcements.utterance import Rank, Utterance
from custom_components.xiaozhi.const import CONF_ANNOUNCEMENT_VOLUME
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.device.events import EVENT_SIGNAL, ConversationEvent, DeviceEvent
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import Pace, Profile, SimulatedDevice, State
from simulator.application.announcement import Announcement, Outcome
from tests.integration.announcements.sounds import Sound, Stalling, assert_heard, beep, endless, is_heard
from tests.integration.boxes import Speech, act, alerts, announce, change_settings, entity_of, wait_for_state
from tests.integration.changed_parts import refuses
from tests.integration.names import BRIGHTNESS, COMMAND, CONNECTED, MAC, NEW, OLD, SATELLITE, Boot
from tests.protocol.audio.sounds import pitch_level


def accepted(device: SimulatedDevice) -> list[Announcement]:
    """Return what the device was told of and has not ignored, because it was busy."""
    return [found for found in device.announcements if found.outcome not in {None, Outcome.IGNORED}]


async def plays(device: SimulatedDevice, number: int = 1) -> None:
    """Wait until the device plays its announcement of that number."""

    def playing() -> bool:
        found = accepted(device)
        return len(found) >= number and len(found[number - 1].played) > 10

    await device.wait_for(playing)


async def test_a_device_that_does_not_ask_for_the_sound_is_busy_or_too_old(
    hass: HomeAssistant, boot: Boot, announcer: Announcer, known: Device
) -> None:
    device = await boot(OLD)
    await wait_for_state(hass, BRIGHTNESS, "75")
    known.record.update(firmware="2.5.0")
    sound = Sound(1)
    began = hass.loop.time()
    heard = await announcer.say(Utterance(text="Hello.", speech=sound.open))
    assert_heard(heard, End.FAULT, "within 5 seconds")
    assert heard.how is Delivery.NONE
    assert hass.loop.time() - began == pytest.approx(5, abs=1)
    assert sound.closed
    assert device.state is State.IDLE


@pytest.mark.parametrize(
    ("how", "seconds", "end"),
    [
        (SimulatedDevice.wake, 1, End.WOKEN),
        (SimulatedDevice.click, None, End.WOKEN),
        (SimulatedDevice.press, None, End.WOKEN),
        (SimulatedDevice.power_off, 1, End.FAULT),
        (SimulatedDevice.power_off, None, End.FAULT),
    ],
)
@pytest.mark.usefixtures("speech")
async def test_the_user_or_a_fault_ends_it(
    boot: Boot,
    announcer: Announcer,
    how: Callable[[SimulatedDevice], Awaitable[Any]],
    seconds: float | None,
    end: End,
) -> None:
    """Of a short one the device has read all at once, so that only what it does after that tells."""
    device = await boot(NEW)
    sound = Sound(seconds)
    saying = asyncio.create_task(announcer.say(Utterance(text="Hello.", speech=sound.open)))
    await is_heard(device)
    await how(device)
    heard = await saying
    assert_heard(heard, end, "was interrupted")
    assert heard.how is Delivery.NOTIFY
    assert sound.closed


@pytest.mark.parametrize("again", ["Home Assistant", "the link"])
async def test_no_goodbye_of_an_earlier_conversation_ends_captions(
    hass: HomeAssistant, boot: Boot, speech: Speech, linked_entry: MockConfigEntry, again: str
) -> None:
    """One is due a second after each link. After it, neither button nor wake word would end the sound."""
    device = await boot(NEW)
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    await device.click()
    await device.wait_state(State.IDLE, 5)
    if again == "Home Assistant":
        assert await hass.config_entries.async_reload(linked_entry.entry_id)
        await wait_for_state(hass, CONNECTED, "on", 10)
    saying = asyncio.create_task(announce(hass, "One. " + "Two. " * 60))
    await is_heard(device)
    if again == "the link":
        linked_entry.runtime_data.devices[MAC].session.link._carrier.publish.__self__.abort()
        await device.wait_for(lambda: len(device.events("link")) >= 3, 15)
    await asyncio.sleep(2)
    assert device.state is State.NOTIFYING
    await device.click()
    assert device.announcements[-1].outcome is Outcome.CANCELLED
    with pytest.raises(HomeAssistantError, match="interrupted"):
        await saying


async def test_stopping_the_player_or_reloading_ends_it_and_what_waits(
    hass: HomeAssistant, boot: Boot, announcer: Announcer, linked_entry: MockConfigEntry
) -> None:
    device = await boot(NEW)

    async def end(ends: Awaitable[Any], number: int, stopped: End) -> None:
        sound = Sound(None)
        saying = [asyncio.create_task(announcer.say(Utterance(speech=sound.open))) for _ in range(2)]
        await plays(device, number)
        await ends
        for task in saying:
            assert_heard(await task, stopped, "was stopped")
        assert sound.closed
        await device.wait_state(State.IDLE, 5)

    await end(act(hass, "media_player", "media_stop", "media_player.kitchen_box_speaker"), 1, End.STOPPED)
    await announcer.say(Utterance(speech=beep(1)))
    assert accepted(device)[-1].outcome is Outcome.PLAYED
    await end(hass.config_entries.async_reload(linked_entry.entry_id), 3, End.FAULT)
    assert_heard(await announcer.say(Utterance(speech=beep(1))), End.FAULT, "gateway was stopped")


async def test_music_gives_way_to_an_announcement_and_waits_behind_others(
    boot: Boot, announcer: Announcer
) -> None:
    device = await boot(NEW)
    music = Utterance(speech=endless(), rank=Rank.MUSIC)
    playing = asyncio.create_task(announcer.say(music))
    await plays(device)
    first = asyncio.create_task(announcer.say(Utterance(text="First.", speech=beep(1))))
    assert_heard(await playing, End.REPLACED, "something else was to be said")
    playing = asyncio.create_task(announcer.say(music))
    second = asyncio.create_task(announcer.say(Utterance(text="Second.", speech=beep(1))))
    await asyncio.gather(first, second)
    await plays(device, 4)
    texts = [announcement.shown[-1][1] if announcement.shown else "" for announcement in accepted(device)]
    assert texts == ["", "First.", "Second.", ""]
    playing.cancel()
    await asyncio.wait((playing,))


async def test_music_begins_if_the_utterance_before_is_cancelled_in_its_turn(
    boot: Boot, announcer: Announcer
) -> None:
    device = await boot(NEW)

    async def say_and_cancel() -> None:
        await announcer.say(Utterance(speech=beep(1)))
        urgent.cancel()

    first = asyncio.create_task(say_and_cancel())
    await plays(device)
    playing = asyncio.create_task(announcer.say(Utterance(speech=endless(), rank=Rank.MUSIC)))
    await asyncio.sleep(0.1)
    urgent = asyncio.create_task(announcer.say(Utterance(speech=beep(1))))
    await first
    await plays(device, 2)
    playing.cancel()
    await asyncio.wait((playing,))


async def test_a_conversation_that_begins_meanwhile_says_it(
    hass: HomeAssistant, boot: Boot, announcer: Announcer, speech: Speech
) -> None:
    device = await boot(NEW)
    speech.recognizer.lines = [COMMAND]
    saying = asyncio.create_task(announcer.say(Utterance(text="Dinner is ready.", speech=beep(1))))
    # The message is under way when the wake word is heard.
    device.say(speech.command)
    await device.wake()
    await saying
    assert device.screen.captions[-1] == "Dinner is ready."
    assert not any(announcement.played for announcement in device.announcements)


async def test_a_failing_sound_is_an_error_before_the_device_makes_its_own(
    boot: Boot, announcer: Announcer
) -> None:
    device = await boot(NEW)
    for sound, reason in (
        (Sound(0), "gave no sound"),
        (Sound(0, error=RuntimeError("The engine has crashed")), "text-to-speech engine failed"),
        (Sound(0, error=HomeAssistantError("The engine is busy")), "text-to-speech engine failed"),
        (Stalling(0), "no sound has come"),
        (Stalling(3), "no more sound has come"),
        (Sound(3, error=RuntimeError("The engine has crashed")), "text-to-speech engine failed"),
    ):
        assert_heard(await announcer.say(Utterance(text="Hello.", speech=sound.open)), End.FAULT, reason)
        assert sound.closed
    # Only those that have begun reach the device, and do not seem to end properly.
    await device.wait_for(lambda: accepted(device)[-1].over)
    assert [found.outcome for found in accepted(device)] == [Outcome.FAILED] * 2


async def test_a_pause_of_the_voice_is_silence(boot: Boot, announcer: Announcer) -> None:
    """The device itself gives up after five seconds without data."""
    device = await boot(NEW, pace=Pace())

    async def speak(how: Delivery) -> AsyncGenerator[bytes]:
        async for piece in beep(1)(how):
            yield piece
        await asyncio.sleep(12)
        async for piece in beep(2)(how):
            yield piece

    await announcer.say(Utterance(speech=speak))
    announcement = await device.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    rate = device.speaker.rate
    seconds = len(announcement.pcm) / 2 / rate
    assert 12 <= seconds <= 18
    assert pitch_level(announcement.pcm[-2 * 2 * rate : -rate], rate, 440) > 4000


@pytest.mark.parametrize(
    ("link", "firmware", "texts"),
    [
        (LinkKind.MQTT, OLD, {"Hello.": "text with a sound instead", "": "while it is in a conversation"}),
        (LinkKind.MQTT, NEW, {"Hello.": "not connected"}),
        (LinkKind.WEBSOCKET, NEW, {"Hello.": "MQTT under .* XiaoZhi → ⋮ → Reconfigure"}),
    ],
    ids=["old firmware", "gone", "on WebSocket"],
)
async def test_a_device_that_cannot_speak_says_what_would_help(
    boot: Boot, announcer: Announcer, link: LinkKind, firmware: Profile, texts: dict[str, str]
) -> None:
    device = await boot(firmware)
    if texts["Hello."] == "not connected":
        await device.power_off()
        await asyncio.sleep(1)
    for text, advice in texts.items():
        assert_heard(await announcer.say(Utterance(text=text, speech=beep(1))), End.FAULT, advice)


@pytest.fixture
async def talking(boot: Boot, speech: Speech, command: bytes) -> SimulatedDevice:
    """A device to which somebody speaks."""
    device = await boot(OLD)
    speech.recognizer.lines = [COMMAND]
    await device.wake()
    device.say(command)
    return device


@pytest.mark.parametrize("clicks", [True, False])
async def test_in_a_conversation_it_is_ended(
    talking: SimulatedDevice, announcer: Announcer, clicks: bool
) -> None:
    saying = asyncio.create_task(announcer.say(Utterance(text="Music", speech=endless())))
    await talking.wait_for(lambda: "Music" in talking.screen.captions, 20)
    if clicks:
        await talking.click()
    else:
        saying.cancel()
    with nullcontext() if clicks else pytest.raises(asyncio.CancelledError):
        assert_heard(await saying, End.WOKEN)
    await talking.wait_state(State.LISTENING if clicks else State.IDLE, 5)


@pytest.mark.parametrize("asks", [False, True])
async def test_a_sound_that_cannot_be_made_leaves_the_conversation_alone(
    talking: SimulatedDevice, announcer: Announcer, states: list[str], asks: bool
) -> None:
    """And the device does not listen for the answer to a question that failed."""
    broken = Sound(1, error=RuntimeError("Crashed")).open
    heard = await announcer.say(
        Utterance(text="Shall I?" if asks else "", speech=broken, expects_answer=asks)
    )
    assert_heard(heard, End.FAULT, "text-to-speech engine failed")
    await talking.wait_state(State.IDLE, 20)
    assert not talking.last_error
    assert not talking.channel_open
    assert states.count("listening") == 1


@pytest.mark.parametrize("holder", ["a ring", "none", "one that hangs"])
async def test_one_that_waits_in_a_conversation_ends_with_it_whoever_holds_that(
    hass: HomeAssistant, boot: Boot, announcer: Announcer, device_id: str, holder: str
) -> None:
    """An automation makes it when a conversation starts. The end of a ring by the wake word is none."""
    device = await boot(OLD)
    said: list[asyncio.Task[Heard]] = []

    @callback
    def happened(_device: object, event: DeviceEvent) -> None:
        if isinstance(event.type, ConversationEvent):
            said.append(hass.async_create_task(announcer.say(Utterance(text="Hello.", speech=beep(1)))))

    stop = async_dispatcher_connect(hass, EVENT_SIGNAL, happened)
    match holder:
        case "a ring":
            slots = {"seconds": {"value": 1}}
            await intent.async_handle(hass, "test", "HassStartTimer", slots, device_id=device_id)
            await device.wait_for(lambda: bool(alerts(device)))
        case "none":
            er.async_get(hass).async_update_entity(SATELLITE, disabled_by=er.RegistryEntryDisabler.USER)
            await hass.async_block_till_done()
        case _:
            boot.known.conversations.hold(lambda _conversation: True)
    await device.wake()
    stop()
    await device.power_off()
    assert bool(said) is (holder == "one that hangs")
    for task in said:
        async with asyncio.timeout(30):
            assert_heard(await task, End.FAULT, "not connected")


async def test_a_button_pressed_before_an_announcement_is_answered_first(
    hass: HomeAssistant, boot: Boot, announcer: Announcer, speech: Speech
) -> None:
    await speech.answer_with("Which light?", "It is on.", heard=[COMMAND] * 2)
    change_settings(hass, boot.entry, **{CONF_ANNOUNCEMENT_VOLUME: 90})
    device = await boot(OLD, pace=Pace())

    async def ask() -> None:
        await device.press()
        device.say(speech.command)
        await device.wait_said()
        await device.release()

    await ask()
    await device.wait_for(lambda: "Which light?" in device.screen.captions and device.speaker.empty)
    await device.wait_state(State.IDLE)
    await asyncio.sleep(1)
    device.tool_seconds["self.audio_speaker.set_volume"] = 0.5
    saying = asyncio.create_task(
        announcer.say(Utterance(text="The door.", speech=beep(1), at_announcement_volume=True))
    )
    await asyncio.sleep(0.2)
    await ask()
    await saying
    assert device.screen.captions == ["Which light?", "It is on.", "The door."]


async def test_an_announcement_is_said_if_its_preannouncement_was_renamed(
    hass: HomeAssistant, speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuses(AssistSatelliteEntity, "async_internal_announce", without="preannounce")(monkeypatch)
    device = await boot(NEW)
    await entity_of(hass, SATELLITE).async_internal_announce(message="Dinner is ready")
    assert device.screen.captions[-1] == "Dinner is ready"


@pytest.mark.parametrize("message", ["👍", "."])
async def test_a_text_without_a_word_is_shown_and_needs_no_voice(
    hass: HomeAssistant, boot: Boot, speech: Speech, message: str
) -> None:
    speech.voice.error = OSError("no sound for this")
    device = await boot(NEW)
    await announce(hass, message, preannounce=False)
    assert [text for _, text in device.announcements[0].shown] == [message]
    await device.wake()
    await device.wait_state(State.LISTENING, 5)
    await announce(hass, message, preannounce=False)
    assert device.screen.captions[-1] == message
