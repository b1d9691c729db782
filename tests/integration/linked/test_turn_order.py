"""One turn after the other: what is cut off, typed, or comes too fast does not disturb the next turn."""

from time import monotonic

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.gateway import Gateway
from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.link import LinkKind
from simulator import State, converse
from tests.integration.linked.conftest import COMMAND, LIGHT, MAC, SATELLITE, Boot, Speech, wait_for_state

pytestmark = pytest.mark.usefixtures("quick_reader")


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    """The same over both links."""
    kind: LinkKind = request.param
    return kind


# On MQTT the first device would connect again, and take its place back.
@pytest.mark.parametrize("link", [LinkKind.WEBSOCKET])
async def test_a_conversation_that_is_replaced_ends_before_the_next_and_does_not_disturb_it(
    speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    speech.ears.stops_slowly = True
    speech.ears.lines = [COMMAND]
    first = await boot()
    await first.wake()
    await first.wait_for(lambda: bool(speech.ears.streams), 10)
    second = await boot()
    talk = await converse(second, command, word="hello again")
    assert talk.answers == ["Turned on the switch"]
    # What the first pipeline told while it ended is not in between.
    assert states[-4:] == ["listening", "processing", "responding", "idle"]
    assert states.count("processing") == 1


async def test_one_device_cannot_start_pipelines_as_fast_as_it_likes(
    hass: HomeAssistant, speech: Speech, boot: Boot
) -> None:
    device = await boot()
    began = monotonic()
    for _ in range(30):
        await device.press()
        await device.release()
    await hass.async_block_till_done()
    seconds = monotonic() - began
    assert 0 < len(speech.ears.streams) <= 7 + seconds


async def test_a_typed_question_is_answered_like_speech(
    hass: HomeAssistant, speech: Speech, boot: Boot, link: LinkKind
) -> None:
    """Some clients send what was typed as a wake word, and no microphone follows."""
    device = await boot()
    await device.type(COMMAND)
    await device.wait_for(lambda: "Turned on the switch" in device.screen.captions, 20)
    await device.wait_for(lambda: not device.channel_open, 20)
    assert hass.states.is_state(LIGHT, "on")
    assert not speech.ears.streams
    # Over UDP, where a client is to be sent sound is known from the sound that it sent.
    assert link is LinkKind.MQTT or device.played_seconds > 0.9
    await wait_for_state(hass, SATELLITE, "idle")


async def test_an_alert_in_mid_answer_is_shown_after_it_and_costs_no_speech(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, linked_entry: MockConfigEntry
) -> None:
    gateway: Gateway = linked_entry.runtime_data
    await speech.use(conversation_engine=speech.brain.entity_id)
    speech.ears.lines = [COMMAND]
    speech.brain.lines = ["word " * 12]
    device = await boot()
    await device.wake()
    device.say(command)
    await device.wait_for(lambda: device.played_seconds > 0.3, 20)
    for number in range(3):
        await gateway.devices[MAC].send(
            messages.alert(status="Door", message=f"Ring {number}", emotion="happy")
        )
    assert not device.screen.system_text
    await device.wait_for(lambda: device.screen.system_text == "Ring 2", 20)
    await device.wait_state(State.IDLE, 20)
    await device.wait_played()
    speaker = device.speaker
    assert (speaker.dropped, speaker.ignored, speaker.flushed) == (0, 0, 0)
    assert device.played_seconds >= 3
    assert speaker.own_seconds == pytest.approx(3 * 0.84)
