"""A person talks to a device, and something breaks: the screen says so, and the next one is answered."""

import asyncio
from collections.abc import AsyncGenerator

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers.event import async_track_state_change_event
import pytest

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import Timeouts, VoiceTimeouts
from simulator import Misbehaviour, SimulatedDevice, State
from tests.integration.both_links import (
    SATELLITES,
    boot_both,
    converse_with_both,
    paired_on_both,
    say_to_both,
    states_of_both,
    word_for,
)
from tests.integration.boxes import COMMAND, LIGHT, Boot, Speech, wait_for_state

pytestmark = pytest.mark.usefixtures("all_enabled")


@pytest.fixture
def link() -> LinkKind:
    """The gateway offers MQTT; a device may want the other link."""
    return LinkKind.MQTT


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """A device on each link."""
    return paired_on_both()


@pytest.fixture
async def states(hass: HomeAssistant) -> AsyncGenerator[dict[LinkKind, list[str]]]:
    """The states that each satellite goes through from the first time that it listens."""
    with states_of_both(hass) as seen:
        yield seen


async def test_silence_is_answered_on_the_screen_and_ends_the_conversation(
    speech: Speech, boot: Boot, subtests: pytest.Subtests, states: dict[LinkKind, list[str]]
) -> None:
    async def time_to_read(kind: LinkKind, device: SimulatedDevice) -> float:
        await device.wake(word_for(kind))
        await device.wait_for(lambda: bool(device.screen.captions), 10)
        shown = asyncio.get_running_loop().time()
        await device.wait_state(State.IDLE, 15)
        return asyncio.get_running_loop().time() - shown

    devices = await boot_both(boot)
    times = await asyncio.gather(*(time_to_read(kind, device) for kind, device in devices.items()))
    for (kind, device), seconds in zip(devices.items(), times, strict=True):
        with subtests.test(str(kind)):
            assert device.screen.captions == ["I did not hear anything."]
            assert states[kind] == ["listening", "idle"]
            assert seconds > 2, "nobody can read that"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "Sorry, I did not understand that."),
        (None, "Something went wrong. See the voice assistant's debug page in Home Assistant."),
    ],
)
async def test_what_was_not_understood_is_said_on_the_screen(
    speech: Speech,
    boot: Boot,
    command: bytes,
    subtests: pytest.Subtests,
    line: str | None,
    text: str,
    states: dict[LinkKind, list[str]],
) -> None:
    speech.recognizer.lines = [line] * 2
    devices = await boot_both(boot)
    await say_to_both(devices, command)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert device.screen.captions == [text]
            assert "confused" in device.screen.emotions
            assert states[kind] == ["listening", "idle"]


async def test_what_was_not_understood_is_said_on_the_screen_in_a_follow_up_too(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    async def talk(kind: LinkKind, device: SimulatedDevice) -> None:
        await device.wake(word_for(kind))
        device.say(command)
        await device.wait_for(lambda: device.played_seconds > 0.5, 20)
        await device.wait_state(State.LISTENING, 10)
        device.say(command)
        await device.wait_state(State.IDLE, 20)

    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.agent.lines = ["Which light do you mean?"] * 2
    speech.recognizer.lines = [COMMAND, COMMAND, "", ""]
    devices = await boot_both(boot)
    await asyncio.gather(*(talk(kind, device) for kind, device in devices.items()))
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert device.screen.captions == ["Which light do you mean?", "Sorry, I did not understand that."]


async def test_an_assistant_without_speech_recognition_says_so_on_the_screen(
    speech: Speech, boot: Boot, subtests: pytest.Subtests, states: dict[LinkKind, list[str]]
) -> None:
    """As that of every fresh Home Assistant."""
    await speech.use(stt_engine=None, stt_language=None)
    devices = await boot_both(boot)
    await say_to_both(devices, b"")
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            (caption,) = device.screen.captions
            assert caption.startswith("This voice assistant has no speech recognition. Choose one")


@pytest.mark.parametrize("timeouts", [Timeouts(voice=VoiceTimeouts(no_speech=1.5))], ids=["impatient"])
async def test_a_turn_in_which_nobody_speaks_costs_the_owner_nothing(
    speech: Speech, boot: Boot, subtests: pytest.Subtests
) -> None:
    """A recognition that is paid for by the second is sent nothing."""
    devices = await boot_both(boot)
    await say_to_both(devices, bytes(16000))
    assert [bytes(stream) for stream in speech.recognizer.streams] == [b"", b""]
    assert speech.recognizer.ended.empty()


@pytest.mark.own_home
async def test_a_voice_that_fails_leaves_the_answer_on_the_screen_and_says_why(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    subtests: pytest.Subtests,
    states: dict[LinkKind, list[str]],
) -> None:
    speech.voice.fails = True
    speech.recognizer.lines = [COMMAND] * 2
    devices = await boot_both(boot)
    await say_to_both(devices, command)
    assert hass.states.is_state(LIGHT, "on")
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert device.screen.captions[-1].startswith("The voice is not ready.")
            assert states[kind][-2:] == ["responding", "idle"]


@pytest.mark.own_home
async def test_a_voice_that_breaks_down_is_told_and_logged(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    subtests: pytest.Subtests,
    states: dict[LinkKind, list[str]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    speech.voice.error = OSError("the voice is out of order")
    speech.recognizer.lines = [COMMAND] * 2
    devices = await boot_both(boot)
    await say_to_both(devices, command)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert device.screen.captions[-1].startswith("The voice is not ready.")
            assert states[kind][-1:] == ["idle"]
    assert "the voice is out of order" in caplog.text


@pytest.mark.parametrize(
    "timeouts", [Timeouts(voice=VoiceTimeouts(recognition=0.7, quiet=0.7))], ids=["impatient"]
)
@pytest.mark.parametrize(
    "hang",
    [
        ("recognizer", "stt-timeout", "Speech recognition is not ready."),
        ("agent", "intent-timeout", "The conversation agent is not ready."),
        ("voice", "tts-timeout", "The voice is not ready."),
    ],
    ids=lambda hang: hang[0],
)
async def test_an_engine_that_hangs_is_given_up(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    subtests: pytest.Subtests,
    hang: tuple[str, str, str],
) -> None:
    engine, reason, text = hang
    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.agent.lines = ["Good."] * 2
    speech.recognizer.lines = [COMMAND] * 2
    may_go_on: asyncio.Event = getattr(speech, engine).may_go_on
    may_go_on.clear()
    told: list[tuple[str, str]] = []

    @callback
    def changed(event: Event[EventStateChangedData]) -> None:
        if (state := event.data["new_state"]) and state.attributes["event_type"] == "failed":
            told.append((state.entity_id, state.attributes["reason"]))

    moments = [f"event.{kind}_box_conversation" for kind in LinkKind]
    stop = async_track_state_change_event(hass, moments, changed)
    devices = await boot_both(boot)
    await say_to_both(devices, command)
    stop()
    may_go_on.set()
    assert sorted(told) == sorted((entity_id, reason) for entity_id in moments)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert device.screen.captions[-1].startswith(text)
            assert not device.channel_open
            assert hass.states.is_state(SATELLITES[kind], "idle")
            assert hass.states.is_state(f"sensor.{kind}_box_conversation_state", "idle")


@pytest.mark.parametrize("timeouts", [Timeouts(voice=VoiceTimeouts(transcript=1.4))], ids=["impatient"])
@pytest.mark.usefixtures("no_detector")
async def test_an_engine_that_never_finds_the_end_of_speech_is_given_up(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    speech.recognizer.finds_the_end = True
    devices = await boot_both(boot)
    await say_to_both(devices, command)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert device.screen.captions[-1].startswith("Speech recognition is not ready.")


@pytest.mark.parametrize("timeouts", [Timeouts(voice=VoiceTimeouts(quiet=0.8))], ids=["impatient"])
async def test_an_assistant_that_works_and_an_answer_that_plays_are_not_given_up(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    await speech.use(conversation_engine=speech.agent.entity_id)
    # Written in 1.2 s and spoken in 2.
    speech.agent.lines = ["|".join(["so"] * 20)] * 2
    speech.recognizer.lines = [COMMAND] * 2
    talks = await converse_with_both(await boot_both(boot), command)
    for kind, talk in talks.items():
        with subtests.test(str(kind)):
            assert talk.played_seconds == pytest.approx(2, abs=0.2)
            assert talk.answers == ["so" * 20]


@pytest.mark.own_home
async def test_a_pipeline_without_a_voice_still_shows_the_answer(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    await speech.use(tts_engine=None)
    speech.recognizer.lines = [COMMAND] * 2
    devices = await boot_both(boot)
    await say_to_both(devices, command)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert hass.states.is_state(SATELLITES[kind], "idle")
            assert device.screen.captions == ["Turned on the switch"]
            assert device.played_seconds == 0


async def test_a_device_that_loses_power_in_mid_answer_leaves_nothing_behind(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    subtests: pytest.Subtests,
    states: dict[LinkKind, list[str]],
) -> None:
    async def lose_power(kind: LinkKind, device: SimulatedDevice) -> None:
        await device.wake(word_for(kind))
        device.say(command)
        await device.wait_for(lambda: device.played_seconds > 0.3, 20)
        await device.power_off()

    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.agent.lines = ["word " * 60] * 2
    speech.recognizer.lines = [COMMAND] * 2
    devices = await boot_both(boot)
    await asyncio.gather(*(lose_power(kind, device) for kind, device in devices.items()))
    # A device that should stay connected is known to be away.
    for kind, left in ((LinkKind.WEBSOCKET, "idle"), (LinkKind.MQTT, "unavailable")):
        with subtests.test(str(kind)):
            await wait_for_state(hass, SATELLITES[kind], left)
            assert states[kind] == ["listening", "processing", "responding", left]
            assert hass.states.is_state(f"sensor.{kind}_box_conversation_state", left)


async def test_a_connection_lost_in_mid_sentence_does_not_stop_the_next_conversation(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    devices = await boot_both(boot, Misbehaviour.DROP_MID_SENTENCE)
    # The connection breaks after a second.
    await say_to_both(devices, command * 2)
    for device in devices.values():
        device.misbehaviours.clear()
    speech.recognizer.lines = [COMMAND] * 2
    # Home Assistant ignores the same wake word within two seconds: another satellite would have heard it.
    talks = await converse_with_both(devices, command, word="hello again")
    for kind, talk in talks.items():
        with subtests.test(str(kind)):
            assert talk.answers
            assert hass.states.is_state(SATELLITES[kind], "idle")


async def test_packets_that_are_no_opus_are_silence(
    speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    devices = await boot_both(boot, Misbehaviour.OPUS_GARBAGE)
    await say_to_both(devices, command)
    for kind, device in devices.items():
        with subtests.test(str(kind)):
            assert device.screen.captions
