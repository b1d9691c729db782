"""A person talks to a device, and Home Assistant answers."""

import asyncio
from collections.abc import AsyncGenerator

from homeassistant.core import Event, EventStateChangedData, HomeAssistant, callback
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.helpers.event import async_track_state_change_event
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.link import LinkKind
from simulator import (
    ListeningMode,
    Misbehaviour,
    Profile,
    SimulatedDevice,
    State,
    converse,
    get_profile,
)
from simulator.espeak import synthesize
from tests.integration.linked.conftest import LIGHT, SATELLITE, Boot, Speech, wait_for_state

COMMAND = "turn on the kitchen light"


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    """A conversation is the same over both links."""
    kind: LinkKind = request.param
    return kind


@pytest.fixture(scope="session")
def command() -> bytes:
    """A spoken sentence: 16 kHz mono PCM."""
    pcm, _ = synthesize(COMMAND, sample_rate=16000)
    return pcm


@pytest.fixture
async def states(hass: HomeAssistant) -> AsyncGenerator[list[str]]:
    """The states that the satellite goes through from the first time that it listens."""
    seen: list[str] = []

    @callback
    def changed(event: Event[EventStateChangedData]) -> None:
        state = event.data["new_state"]
        if state and seen[-1:] != [state.state] and (seen or state.state == "listening"):
            seen.append(state.state)

    stop = async_track_state_change_event(hass, [SATELLITE], changed)
    yield seen
    stop()


def sent(device: SimulatedDevice, kind: str, state: str | None = None) -> list[dict[str, object]]:
    """Return what the device was sent."""
    messages = [data["message"] for data in device.events("received")]
    return [
        message
        for message in messages
        if message["type"] == kind and (state is None or message.get("state") == state)
    ]


async def test_a_spoken_command_switches_the_light_and_is_answered(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    device = await boot()
    speech.ears.lines = [COMMAND]
    talk = await converse(device, command)
    await hass.async_block_till_done()
    assert hass.states.is_state(LIGHT, "on")
    assert talk.heard == [COMMAND]
    assert talk.answers == ["Turned on the switch"]
    assert talk.emotions == ["thinking", "happy"]
    assert 0.9 < talk.played_seconds < 1.3
    assert any(talk.played)
    assert not talk.hung_up
    assert states == ["listening", "processing", "responding", "idle"]


@pytest.mark.parametrize(
    "profile",
    [
        get_profile("c3"),
        get_profile("s3", mode=ListeningMode.REALTIME),
        get_profile("s3", "2.2.4"),
        get_profile("s3", "1.9.0"),
        get_profile("s3", "1.8.0"),
    ],
    ids=lambda profile: f"{profile.board.name}-{profile.version}-{profile.mode}",
)
async def test_every_kind_of_device_plays_the_whole_answer(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, profile: Profile
) -> None:
    device = await boot(profile)
    speech.ears.lines = [COMMAND]
    talk = await converse(device, command)
    assert hass.states.is_state(LIGHT, "on")
    said = len(speech.mouth.spoken[0]) / 20
    assert said <= talk.played_seconds < said + 0.2
    speaker = device.speaker
    assert (speaker.dropped, speaker.failed, speaker.ignored, speaker.flushed) == (0, 0, 0, 0)
    assert not talk.hung_up


async def test_push_to_talk_ends_with_the_button(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    device = await boot()
    speech.ears.lines = [COMMAND]
    await device.press()
    device.say(command)
    await device.wait_said()
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 10)
    assert hass.states.is_state(LIGHT, "on")
    assert device.played_seconds > 0.9


async def test_the_wake_word_and_the_silence_reach_the_pipeline(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    device = await boot()
    speech.ears.lines = [COMMAND]
    await converse(device, command)
    heard = speech.ears.streams[0]
    assert not any(heard[: 2 * 16 * 700])
    assert 0 < len(heard) / 32000 - len(command) / 32000 < 4


async def test_a_question_back_opens_the_microphone_again(
    speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    await speech.use(conversation_engine=speech.brain.entity_id)
    speech.brain.lines = ["Which light? 🤔 Say it?", "Done."]
    speech.ears.lines = [COMMAND, "the kitchen light"]
    device = await boot()
    talk = await converse(device, command, command)
    assert talk.heard == [COMMAND, "the kitchen light"]
    assert speech.brain.heard == talk.heard
    assert talk.answers == ["Which light?", "🤔 Say it?", "Done."]
    assert "thinking" in talk.emotions
    assert not talk.hung_up
    assert states.count("listening") == 2


async def test_an_open_conversation_goes_on_until_nobody_speaks(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    linked_entry: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("custom_components.xiaozhi.voice._NO_SPEECH_SECONDS", 1.5)
    subentry = next(iter(linked_entry.subentries.values()))
    hass.config_entries.async_update_subentry(
        linked_entry, subentry, data={**subentry.data, "conversation_style": "open"}
    )
    speech.ears.lines = [COMMAND, "turn off the kitchen light"]
    device = await boot()
    talk = await converse(device, command, command)
    assert hass.states.is_state(LIGHT, "off")
    assert len(talk.heard) == 2
    assert not talk.hung_up
    assert "I did not hear anything." not in talk.answers


async def test_a_long_answer_is_spoken_while_it_is_still_written(
    speech: Speech, boot: Boot, command: bytes
) -> None:
    await speech.use(conversation_engine=speech.brain.entity_id, tts_engine=speech.streaming_mouth.entity_id)
    speech.brain.lines = [
        "This is the first sentence of a long answer. |And this is the second one of it. |Then it ends."
    ]
    speech.ears.lines = [COMMAND]
    device = await boot()
    talk = await converse(device, command)
    assert talk.answers == [
        "This is the first sentence of a long answer.",
        "And this is the second one of it.",
        "Then it ends.",
    ]
    assert len(speech.streaming_mouth.spoken) > 1
    assert talk.played_seconds == pytest.approx(len(" ".join(talk.answers)) / 20, abs=0.4)


async def test_silence_is_answered_on_the_screen_and_ends_the_conversation(
    speech: Speech, boot: Boot, monkeypatch: pytest.MonkeyPatch, states: list[str]
) -> None:
    monkeypatch.setattr("custom_components.xiaozhi.voice._NO_SPEECH_SECONDS", 1.5)
    device = await boot()
    await device.wake()
    await device.wait_state(State.IDLE, 15)
    assert device.screen.captions == ["I did not hear anything."]
    assert states == ["listening", "idle"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("", "Sorry, I did not understand that."),
        (None, "Something went wrong. See the voice assistant's debug page in Home Assistant."),
    ],
)
async def test_what_was_not_understood_is_said_on_the_screen(
    speech: Speech, boot: Boot, command: bytes, line: str | None, text: str, states: list[str]
) -> None:
    speech.ears.lines = [line]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 15)
    assert device.screen.captions == [text]
    assert "confused" in device.screen.emotions
    assert states == ["listening", "idle"]


async def test_a_voice_that_fails_leaves_the_answer_on_the_screen_and_says_why(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    speech.mouth.fails = True
    speech.ears.lines = [COMMAND]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 15)
    assert hass.states.is_state(LIGHT, "on")
    assert device.screen.captions[-1].startswith("The voice is not ready.")
    assert states[-2:] == ["responding", "idle"]


async def test_a_voice_that_breaks_down_is_told_and_logged(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    states: list[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    speech.mouth.error = OSError("the voice is out of order")
    speech.ears.lines = [COMMAND]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 15)
    assert device.screen.captions[-1].startswith("The voice is not ready.")
    assert states[-1:] == ["idle"]
    assert "the voice is out of order" in caplog.text


async def test_what_is_switched_in_the_same_area_is_acknowledged_by_a_sound(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    area_registry: ar.AreaRegistry,
    device_registry: dr.DeviceRegistry,
    entity_registry: er.EntityRegistry,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As Home Assistant does it; and no ffmpeg is needed, which not every installation has."""
    area = area_registry.async_create("Kitchen").id
    entity_registry.async_update_entity(LIGHT, area_id=area)
    (box,) = (device for device in device_registry.devices if device.name == "Kitchen box")
    device_registry.async_update_device(box.id, area_id=area)
    converted: list[object] = []
    monkeypatch.setattr("homeassistant.components.tts._async_convert_audio", converted.append)
    speech.ears.lines = [COMMAND]
    device = await boot()
    talk = await converse(device, command)
    assert hass.states.is_state(LIGHT, "on")
    assert talk.answers == ["Turned on the switch"]
    assert not speech.mouth.spoken
    assert any(talk.played)
    assert not converted


async def test_a_pipeline_without_a_voice_still_shows_the_answer(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    await speech.use(tts_engine=None)
    speech.ears.lines = [COMMAND]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 15)
    assert hass.states.is_state(SATELLITE, "idle")
    assert device.screen.captions


async def test_the_button_silences_the_answer_at_once_and_listens_again(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    await speech.use(conversation_engine=speech.brain.entity_id)
    speech.brain.lines = ["word " * 60, "Good."]
    speech.ears.lines = [COMMAND, "thank you"]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: device.played_seconds > 0.6, 20)
    await device.click()
    await device.wait_state(State.LISTENING, 5)
    assert device.played_seconds < 3
    assert len(sent(device, "tts", "stop")) == 1
    device.say(command)
    await device.wait_state(State.IDLE, 20)
    assert speech.brain.heard == [COMMAND, "thank you"]
    assert states == ["listening", "processing", "responding", "idle"] * 2


async def test_the_button_while_the_assistant_thinks_cancels_the_answer(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    await speech.use(conversation_engine=speech.brain.entity_id)
    speech.brain.may_go_on.clear()
    speech.ears.lines = [COMMAND]
    device = await boot()
    await device.wake()
    device.say(command)
    async with asyncio.timeout(20):
        await speech.brain.thinking.wait()
    await device.wait_state(State.SPEAKING, 5)
    await device.click()
    await device.wait_state(State.LISTENING, 5)
    assert device.played_seconds == 0
    assert not speech.mouth.spoken
    await device.power_off()
    await hass.async_block_till_done()
    assert hass.states.is_state(SATELLITE, "idle")


async def test_a_device_that_loses_power_in_mid_answer_leaves_nothing_behind(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, states: list[str], link: LinkKind
) -> None:
    await speech.use(conversation_engine=speech.brain.entity_id)
    speech.brain.lines = ["word " * 60]
    speech.ears.lines = [COMMAND]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: device.played_seconds > 0.3, 20)
    await device.power_off()
    # A device that should stay connected is known to be away.
    left = "unavailable" if link is LinkKind.MQTT else "idle"
    await wait_for_state(hass, SATELLITE, left)
    assert states == ["listening", "processing", "responding", left]
    assert hass.states.is_state("sensor.kitchen_box_conversation", "idle")


async def test_a_connection_lost_in_mid_sentence_does_not_stop_the_next_conversation(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    device = await boot(misbehaviours=(Misbehaviour.DROP_MID_SENTENCE,))
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 15)
    device.misbehaviours.clear()
    speech.ears.lines = [COMMAND]
    # Home Assistant ignores the same wake word within two seconds: another satellite would have heard it.
    talk = await converse(device, command, word="hello again")
    assert talk.answers
    assert hass.states.is_state(SATELLITE, "idle")


async def test_packets_that_are_no_opus_are_silence(speech: Speech, boot: Boot, command: bytes) -> None:
    speech.ears.lines = [""]
    device = await boot(misbehaviours=(Misbehaviour.OPUS_GARBAGE,))
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 30)
    assert device.screen.captions
