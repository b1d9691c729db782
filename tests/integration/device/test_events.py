"""What happens at a device becomes events for automations: bounded, and private unless the owner says so."""

import asyncio
from collections.abc import Mapping
from typing import Any

from homeassistant.core import Event, HomeAssistant, callback
from homeassistant.helpers.dispatcher import async_dispatcher_connect
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events

from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.device.events import (
    EVENT_NOTIFICATION,
    EVENT_SIGNAL,
    ConversationEvent,
    DeviceEvent,
)
from custom_components.xiaozhi.guests.alarms.alarm_clock import AlarmEvent
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, State, converse
from tests.integration.boxes import Speech, change_settings, open_conversation, state_of, wait_for_state
from tests.integration.names import COMMAND, Boot

pytestmark = pytest.mark.usefixtures("all_enabled", "speech")

NOTIFICATION = "event.kitchen_box_notification"
DOING = "sensor.kitchen_box_conversation_state"


async def notify(hass: HomeAssistant, device: SimulatedDevice, method: str, **params: Any) -> Event:
    """Send a notification, and return the event on the bus."""
    arrived: asyncio.Future[Event] = asyncio.get_running_loop().create_future()

    @callback
    def take(event: Event) -> None:
        arrived.set_result(event)

    hass.bus.async_listen_once(EVENT_NOTIFICATION, take)
    device.notify(method, **params)
    async with asyncio.timeout(5):
        event = await arrived
    await hass.async_block_till_done()
    return event


async def test_a_notification_is_an_event_on_the_bus_too_and_a_flood_is_dropped(
    hass: HomeAssistant, boot: Boot, device_id: str, linked_entry: MockConfigEntry
) -> None:
    """Large parameters are on the bus only."""
    device = await boot()
    await open_conversation(hass, device)
    params = {"level": "info", "data": {"clicks": 2}}
    for method, kind in (
        ("notifications/state_changed", "state_changed"),
        ("notifications/message", "message"),
        ("notifications/progress", "progress"),
        ("notifications/tools/list_changed", "tools_changed"),
        ("notifications/button", "other"),
    ):
        event = await notify(hass, device, method, **params)
        assert event.data == {"device_id": device_id, "method": method, "params": params}
        shown = state_of(hass, NOTIFICATION).attributes
        assert (shown["event_type"], shown["method"], shown["params"]) == (kind, method, params)
    event = await notify(hass, device, "notifications/message", data="x" * 3000)
    assert event.data["params"] == {"data": "x" * 3000}
    state = state_of(hass, NOTIFICATION)
    assert "params" not in state.attributes
    assert state.attributes["params_too_large"] is True
    # As many as there may be at once can come again.
    await asyncio.sleep(60)
    await device.wake("hello again")
    await device.wait_state(State.LISTENING, 5)
    events = async_capture_events(hass, EVENT_NOTIFICATION)
    for number in range(60):
        device.notify("notifications/message", data=number)
    (known,) = linked_entry.runtime_data.devices.values()
    # The device does one thing after the other.
    await known.commands.call_tool("self.get_device_status")
    # While the flood arrives, a few more become due.
    assert 20 <= len(events) < 35
    assert [event.data["params"]["data"] for event in events[:20]] == list(range(20))
    assert known.describe()["exceeded_bounds"] == {"notifications": 60 - len(events)}


async def test_a_device_that_is_woken_all_the_time_hides_no_alarm(hass: HomeAssistant, known: Device) -> None:
    sent: list[str] = []

    @callback
    def take(_device: Device, event: DeviceEvent) -> None:
        sent.append(event.type)

    stop = async_dispatcher_connect(hass, EVENT_SIGNAL, take)
    for _ in range(200):
        known.events.fire(ConversationEvent.WAKE_WORD)
    known.events.fire(AlarmEvent.RINGING, name="Wake up", message="")
    stop()
    assert len(sent) == 101
    assert sent[-1] is AlarmEvent.RINGING


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_after_a_hundred_in_an_hour_one_notification_a_minute_is_an_event(
    hass: HomeAssistant, boot: Boot, caplog: pytest.LogCaptureFixture
) -> None:
    """At a rate that no limit of a moment cuts. On the bus, each is there."""
    published = async_capture_events(hass, EVENT_NOTIFICATION)
    shown: list[Mapping[str, Any]] = []

    @callback
    def take(_device: Device, event: DeviceEvent) -> None:
        shown.append(event.attributes)

    stop = async_dispatcher_connect(hass, EVENT_SIGNAL, take)
    device = await boot()
    # A long call sends hundreds, which leave room for a doorbell.
    for number in range(150):
        device.notify("notifications/progress", progressToken=1, progress=number)
        await asyncio.sleep(1)
    assert 100 <= len(shown) <= 103
    await notify(hass, device, "notifications/doorbell")
    shown.clear()
    for number in range(220):
        device.notify("notifications/other", data=number)
        await asyncio.sleep(1)
    assert 99 <= len(shown) <= 104
    assert shown[-1]["params"]["data"] > 150
    assert len(published) == 150 + 1 + 220
    stop()
    told = [record for record in caplog.records if "sends too many notifications" in record.message]
    assert len(told) == 1
    caplog.clear()


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_the_last_state_of_a_burst_arrives(hass: HomeAssistant, boot: Boot, known: Device) -> None:
    """Soon on the bus and in the sensor, and within minutes in the event, which is stored."""
    device = await boot()
    events = async_capture_events(hass, EVENT_NOTIFICATION)
    for states in ([*["thinking", "speaking"] * 30, "idle"], ["idle", "thinking"] * 30):
        for state in states:
            device.notify("notifications/state_changed", state=state)
        await known.commands.call_tool("self.get_device_status")
        await asyncio.sleep(2)
        assert events[-1].data["params"]["state"] == states[-1]
        assert hass.states.is_state(DOING, states[-1])
        assert len(events) < 40
        events.clear()
    for _ in range(200):
        device.notify("notifications/state_changed", state="listening")
        await asyncio.sleep(1)
    device.notify("notifications/state_changed", state="idle")
    await asyncio.sleep(120)
    assert state_of(hass, NOTIFICATION).attributes["params"]["state"] == "idle"
    assert sum(event.data["params"]["state"] == "idle" for event in events) == 1


@pytest.mark.parametrize("link", [LinkKind.MQTT])
async def test_a_told_state_counts_between_conversations_only(hass: HomeAssistant, boot: Boot) -> None:
    device = await boot()
    device.notify("notifications/state_changed", state="thinking")
    await wait_for_state(hass, DOING, "thinking")
    await notify(hass, device, "notifications/state_changed", state="juggling")
    assert hass.states.is_state(DOING, "thinking")
    await device.wake()
    await wait_for_state(hass, DOING, "listening")
    await notify(hass, device, "notifications/state_changed", state="speaking")
    assert hass.states.is_state(DOING, "listening")
    await device.click()
    await wait_for_state(hass, DOING, "idle")


async def test_a_conversation_is_told_and_its_words_if_the_owner_wants_that(
    hass: HomeAssistant, speech: Speech, boot: Boot, moments: list[dict[str, Any]]
) -> None:
    device = await boot()
    speech.recognizer.lines = [COMMAND] * 2
    told = [
        ("started", None),
        ("wake_word", "hi xiaozhi"),
        ("heard", COMMAND),
        ("answered", "Turned on the switch"),
        ("ended", None),
    ]
    for shared, word in ((True, "hi\\nxiaozhi"), (False, "hello again")):
        change_settings(hass, boot.entry, share_transcripts=shared)
        moments.clear()
        await converse(device, speech.command, word=word)
        await hass.async_block_till_done()
        assert [(moment["event_type"], moment.get("text")) for moment in moments] == [
            (kind, text if shared else None) for kind, text in told
        ]
        assert not any("reason" in moment for moment in moments)
