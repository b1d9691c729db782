"""The owner learns how long an answer took, and what took that long."""

from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.diagnostics import async_get_config_entry_diagnostics
from simulator import converse
from tests.integration.boxes import COMMAND, Boot, Speech, say, state_of, wait_for_state

pytestmark = pytest.mark.usefixtures("all_enabled")

SENSOR = "sensor.kitchen_box_response_time"
PARTS = ["end_of_speech", "recognition", "assistant", "speech", "device", "speaking"]


async def _turns(hass: HomeAssistant, entry: MockConfigEntry) -> list[dict[str, Any]]:
    report = await async_get_config_entry_diagnostics(hass, entry)
    turns: list[dict[str, Any]] = report["devices"][0]["turns"]
    return turns


async def test_a_slow_voice_shows_in_its_part_of_the_response_time(
    hass: HomeAssistant,
    speech: Speech,
    boot: Boot,
    command: bytes,
    linked_entry: MockConfigEntry,
    moments: list[dict[str, Any]],
) -> None:
    """And automations are told it, without what was said. A turn that fails leaves no times."""
    device = await boot()
    await wait_for_state(hass, SENSOR, "unknown")
    await speech.use(conversation_engine=speech.agent.entity_id)
    # Home Assistant would not have the same words spoken twice.
    speech.agent.lines = ["It is on now.", "It was on."]
    for speech.voice.delay in (0, 2):
        speech.recognizer.lines = [COMMAND]
        await converse(device, command, word=f"hi {speech.voice.delay}")
        await hass.async_block_till_done()
    speech.recognizer.lines = [None]
    await say(device, command, "hi again")
    quick, slow = await _turns(hass, linked_entry)
    answered = [moment for moment in moments if moment["event_type"] == "answered"]
    assert [event["response_time"] for event in answered] == [quick["response_time"], slow["response_time"]]
    assert answered[1]["assistant"] == slow["assistant"]
    assert not {"speaking", "text"} & answered[1].keys()
    assert [part for part in PARTS if part in slow] == [part for part in slow if part in PARTS]
    assert {"recognition", "assistant", "speech", "device", "speaking"} <= {*slow}
    assert slow["speech"] - quick["speech"] > 1500
    assert abs(slow["speaking"] - quick["speaking"]) < 1000
    state = state_of(hass, SENSOR)
    assert float(state.state) == pytest.approx(slow["response_time"], abs=0.001)
    waited = sum(part for name, part in slow.items() if name in PARTS and name != "speaking")
    assert 1000 * slow["response_time"] == pytest.approx(waited, abs=10)
    assert {name: state.attributes[name] for name in PARTS if name in slow} == {
        name: slow[name] for name in PARTS if name in slow
    }
