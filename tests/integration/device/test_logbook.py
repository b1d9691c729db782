"""What a device writes into Home Assistant's Activity: little enough to read."""

import asyncio
from collections.abc import Generator

from homeassistant.components.logbook.helpers import async_subscribe_events
from homeassistant.core import CALLBACK_TYPE, Event, HomeAssistant, callback
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import converse
from tests.integration.boxes import COMMAND, Boot, Speech, wait_for_state

# Longer than anything that is done regularly.
_IDLE_SECONDS = 1800


@pytest.fixture
def lines(hass: HomeAssistant) -> Generator[list[str]]:
    """The lines that Home Assistant's logbook shows of the integration's entities, as they come."""
    seen: list[str] = []
    subscriptions: list[CALLBACK_TYPE] = []

    @callback
    def note(event: Event) -> None:
        entry = er.async_get(hass).async_get(event.data["entity_id"])
        if entry is not None and entry.platform == DOMAIN:
            seen.append(f"{entry.entity_id} {event.data['new_state'].state}")

    async_subscribe_events(hass, subscriptions, note, (), None, None, None)
    yield seen
    for unsubscribe in subscriptions:
        unsubscribe()


async def test_a_conversation_makes_at_most_four_lines(
    speech: Speech, boot: Boot, command: bytes, lines: list[str]
) -> None:
    device = await boot()
    speech.recognizer.lines = [COMMAND, COMMAND]
    # The first one tells what the device has.
    await converse(device, command)
    await speech.hass.async_block_till_done()
    lines.clear()
    # Home Assistant takes the same wake word, two seconds later, for an echo.
    await converse(device, command, word="hi again")
    await speech.hass.async_block_till_done()
    states = ["listening", "processing", "responding", "idle"]
    assert lines == [f"assist_satellite.kitchen_box {state}" for state in states]


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_an_idle_device_makes_no_line_in_hours(
    hass: HomeAssistant, speech: Speech, boot: Boot, command: bytes, lines: list[str]
) -> None:
    device = await boot()
    speech.recognizer.lines = [COMMAND]
    await converse(device, command)
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    await hass.async_block_till_done()
    lines.clear()
    for minute in range(_IDLE_SECONDS // 60):
        device.values["rssi"] = (-50, -66)[minute % 2]
        await asyncio.sleep(60)
    await hass.async_block_till_done()
    assert lines == []
    read = [event["name"] for event in device.events("tool")].count("self.get_device_status")
    assert read > _IDLE_SECONDS // 120
