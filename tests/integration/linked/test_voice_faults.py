"""A person talks to a device, and something breaks: the screen says so, and the next one is answered."""

from time import monotonic

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.protocol.link import LinkKind
from simulator import Misbehaviour, State, converse
from tests.integration.linked.conftest import COMMAND, LIGHT, SATELLITE, Boot, Speech, wait_for_state


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    """A conversation is the same over both links."""
    kind: LinkKind = request.param
    return kind


@pytest.fixture
def short_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever says nothing is given up soon."""
    monkeypatch.setattr("custom_components.xiaozhi.voice._NO_SPEECH_SECONDS", 1.5)


@pytest.mark.usefixtures("short_silence")
async def test_silence_is_answered_on_the_screen_and_ends_the_conversation(
    speech: Speech, boot: Boot, states: list[str]
) -> None:
    device = await boot()
    await device.wake()
    await device.wait_for(lambda: bool(device.screen.captions), 10)
    shown = monotonic()
    await device.wait_state(State.IDLE, 15)
    assert monotonic() - shown > 2, "nobody can read that"
    assert device.screen.captions == ["I did not hear anything."]
    assert states == ["listening", "idle"]


@pytest.mark.usefixtures("quick_reader")
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


@pytest.mark.usefixtures("quick_reader")
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


@pytest.mark.usefixtures("quick_reader")
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


@pytest.mark.usefixtures("quick_reader")
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
    # The connection breaks after a second.
    device.say(command * 2)
    await device.wait_state(State.IDLE, 15)
    device.misbehaviours.clear()
    speech.ears.lines = [COMMAND]
    # Home Assistant ignores the same wake word within two seconds: another satellite would have heard it.
    talk = await converse(device, command, word="hello again")
    assert talk.answers
    assert hass.states.is_state(SATELLITE, "idle")


@pytest.mark.usefixtures("quick_reader", "short_silence")
async def test_packets_that_are_no_opus_are_silence(speech: Speech, boot: Boot, command: bytes) -> None:
    speech.ears.lines = [""]
    device = await boot(misbehaviours=(Misbehaviour.OPUS_GARBAGE,))
    await device.wake()
    device.say(command)
    await device.wait_state(State.IDLE, 30)
    assert device.screen.captions
