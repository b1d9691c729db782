"""Something is said to a device announcer, over real sockets, for each way in which a device allows it."""

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.voice.announcements.announcer import Announcer
from custom_components.xiaozhi.voice.announcements.refusals import Delivery
from custom_components.xiaozhi.voice.announcements.utterance import Utterance
from simulator import State, converse, get_profile
from simulator.application.announcement import Outcome
from tests.integration.boxes import COMMAND, MAC, Boot, Speech
from tests.integration.voice.announcements.sounds import beep
from tests.protocol.audio.sounds import pitch_level

NEW = get_profile(version="2.5.0")


@pytest.fixture
def link() -> LinkKind:
    return LinkKind.MQTT


@pytest.fixture
def announcer(linked_entry: MockConfigEntry) -> Announcer:
    """What speaks to the device."""
    gateway = linked_entry.runtime_data
    return gateway.announcer(gateway.devices[MAC])


async def test_an_idle_device_fetches_the_sound_and_plays_it_to_its_end(
    hass: HomeAssistant, boot: Boot, announcer: Announcer
) -> None:
    device = await boot(NEW)
    assert announcer.delivery is Delivery.NOTIFY
    text = "Dinner is ready. Please wash your hands before you come to the table."
    began = hass.loop.time()
    await announcer.say(Utterance(text=text, speech=beep(3)))
    took = hass.loop.time() - began
    announcement = await device.wait_announced()
    assert announcement.outcome is Outcome.PLAYED
    assert announcement.underruns == 0
    assert pitch_level(announcement.pcm, device.speaker.rate, 440) > 6000
    # It was said when the device had played it, and soon after that.
    assert announcement.ended <= hass.loop.time()
    assert 3.5 <= took < 7
    assert [subtitle for _, subtitle in announcement.shown] == [
        "Dinner is ready.",
        "Please wash your hands before you come to the table.",
    ]


async def test_a_conversation_speaks_between_its_turns(
    hass: HomeAssistant, boot: Boot, announcer: Announcer, speech: Speech, command: bytes
) -> None:
    speech.recognizer.lines = [COMMAND]
    device = await boot(get_profile())
    assert announcer.delivery is Delivery.TEXT
    await device.wake()
    assert announcer.delivery is Delivery.CONVERSATION
    saying = hass.async_create_task(announcer.say(Utterance(text="Dinner is ready.", speech=beep(2))))
    talk = await converse(device, command)
    await saying
    assert talk.answers == ["Turned on the switch", "Dinner is ready."]
    assert talk.played_seconds > 2.5
    assert not talk.hung_up


async def test_a_device_whose_button_is_not_pressed_speaks_at_once_while_its_channel_is_open(
    hass: HomeAssistant, boot: Boot, announcer: Announcer, speech: Speech, command: bytes
) -> None:
    speech.recognizer.lines = ["which light"]
    speech.agent.lines = ["Which light?"]
    await speech.use(conversation_engine=speech.agent.entity_id)
    device = await boot(get_profile())
    await device.press()
    device.say(command)
    await device.wait_said()
    await device.release()
    await device.wait_for(lambda: len(device.speaker.answers) == 1)
    await device.wait_state(State.IDLE)
    assert device.channel_open
    for number in range(2):
        await announcer.say(Utterance(text=f"Number {number}.", speech=beep(1)))
        assert device.screen.captions[-1] == f"Number {number}."
        await device.wait_state(State.IDLE)
    assert device.channel_open
