"""A device's tools and status become entities, which tell the truth about what can be reached."""

import asyncio
import pkgutil
from typing import Any

from homeassistant.const import EntityCategory
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from custom_components.xiaozhi.const import CONF_WEBSOCKET_PORT, DOMAIN
from custom_components.xiaozhi.device.device import Device
from simulator import SimulatedDevice, State, get_profile
from tests.integration.boxes import act, change_settings, failure_of, introduce, wait_for_state
from tests.integration.http_device import TOKEN, MakeEntry, add_to, paired_device, running
from tests.integration.names import BRIGHTNESS, CLIENT_ID, MAC, OTHER_MAC, Boot, registered_devices
from tests.integration.tools.own_tools import listed

pytestmark = pytest.mark.usefixtures("speech")

SCREEN = "notify.kitchen_box_screen_message"
RESTART = "button.kitchen_box_restart"


async def talk(hass: HomeAssistant, device: SimulatedDevice) -> None:
    """Begin a conversation with a device that Home Assistant knows from an earlier one."""
    await introduce(hass, device)
    await device.wake()
    await device.wait_for(lambda: listed(device) > 1, 5)
    await hass.async_block_till_done()


def called(device: SimulatedDevice, tool: str) -> int:
    messages = [data["message"].get("payload") or {} for data in device.events("received")]
    return sum(payload.get("params", {}).get("name") == tool for payload in messages)


async def test_entities_come_from_what_the_device_has(
    hass: HomeAssistant, boot: Boot, entity_registry: er.EntityRegistry, linked_entry: MockConfigEntry
) -> None:
    device = await boot()
    assert hass.states.get(BRIGHTNESS) is None
    await talk(hass, device)
    values = {
        BRIGHTNESS: "75",
        "sensor.kitchen_box_battery": "82",
        "binary_sensor.kitchen_box_charging": "off",
        RESTART: "unknown",
    }
    await wait_for_state(hass, BRIGHTNESS, "75")
    for entity_id, value in values.items():
        assert hass.states.is_state(entity_id, value), entity_id
    hidden = {
        entry.translation_key or entry.original_device_class
        for entry in entity_registry.entities.values()
        if entry.platform == DOMAIN and entry.disabled_by
    }
    assert hidden == {
        "announcement_volume",
        "chip_temperature",
        "connectivity",
        "conversation",
        "follow_up_wait",
        "ip",
        "last_contact",
        "network",
        "response_time",
        "record_conversation",
        "screenshot",
        "signal",
        "ssid",
        "theme",
        "volume",
        "wifi_setup",
    }
    # The cards of the device page.
    for entity_id, category in (
        (RESTART, EntityCategory.CONFIG),
        ("switch.kitchen_box_microphone", None),
        (BRIGHTNESS, EntityCategory.CONFIG),
        ("sensor.kitchen_box_conversation_state", EntityCategory.DIAGNOSTIC),
    ):
        assert entity_registry.entities[entity_id].entity_category is category, entity_id
    # A disabled event entity would be a card with nothing in it.
    assert not [entity_id for entity_id in entity_registry.entities if entity_id.startswith("event.")]
    change_settings(hass, linked_entry, share_transcripts=True)
    await wait_for_state(hass, "event.kitchen_box_conversation", "unknown")
    device.notify("notifications/message", level="info", data="Hello")
    await wait_for_state(hass, "event.kitchen_box_notification", "unknown")
    # Nobody has sent a message yet.
    assert hass.states.is_state(SCREEN, "unknown")
    # What was learnt is there after a restart of Home Assistant.
    await device.power_off()
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await hass.async_block_till_done()
    for entity_id, value in values.items():
        assert hass.states.is_state(entity_id, value), entity_id
    (shown,) = registered_devices(hass, linked_entry)
    assert shown.sw_version == "2.4.2"
    # On WebSocket, its controls have their last values between conversations, and fail.
    assert await failure_of(act(hass, "number", "set_value", BRIGHTNESS, value=35)) == "only_in_conversation"


async def test_a_name_from_the_page_of_the_device_counts_everywhere(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot, device_id: str
) -> None:
    """In every message, and more than one that is given in the list of devices, as everywhere else."""
    registry = dr.async_get(hass)
    registry.async_update_device(device_id, name_by_user="Robbie")
    await hass.async_block_till_done()
    device = linked_entry.runtime_data.devices[MAC]
    form = await linked_entry.start_subentry_reconfigure_flow(hass, device.subentry_id)
    assert form["description_placeholders"]["name"] == "Robbie"
    with pytest.raises(HomeAssistantError, match="Robbie can be reached only while"):
        await device.commands.restart()
    (subentry,) = linked_entry.subentries.values()
    hass.config_entries.async_update_subentry(linked_entry, subentry, title="Box")
    await hass.async_block_till_done()
    (entry,) = registered_devices(hass, linked_entry)
    assert (entry.name, entry.name_by_user, device.name) == ("Box", "Robbie", "Robbie")
    assert hass.states.get("assist_satellite.kitchen_box") is not None
    box = await boot()
    await talk(hass, box)
    added = await add_to(hass, linked_entry, paired_device("24:6f:28:aa:bb:99", title="Hall box"))
    assert hass.states.is_state("assist_satellite.hall_box", "idle")
    hass.config_entries.async_update_subentry(linked_entry, added, title="Robbie")
    await hass.async_block_till_done()
    registry.async_update_device(device_id, area_id=ar.async_get(hass).async_create("Kitchen").id)
    assert [each.name for each in linked_entry.runtime_data.devices.values()] == [
        "Robbie (Kitchen)",
        "Robbie",
    ]
    hass.config_entries.async_remove_subentry(linked_entry, added.subentry_id)
    await hass.async_block_till_done()
    assert hass.states.get("assist_satellite.hall_box") is None
    assert box.state is State.LISTENING
    assert box.channel_open


async def test_a_failing_call_says_how_and_a_message_is_cut_to_the_screen(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    device = await boot()
    await talk(hass, device)
    await wait_for_state(hass, BRIGHTNESS, "75")
    change = known.commands.change
    assert await failure_of(change("self.screen.set_theme", {"theme": "pink"})) == "not_done"
    assert await failure_of(change("self.screen.set_brightness", {"brightness": 101})) == "refused"
    device.tool_seconds["self.screen.set_brightness"] = 750
    assert await failure_of(act(hass, "number", "set_value", BRIGHTNESS, value=35)) == "no_answer"
    # Meanwhile nobody has spoken, and the conversation is over.
    device.tool_seconds["self.screen.set_brightness"] = 30
    await talk(hass, device)
    before = called(device, "self.screen.set_brightness")
    setting = asyncio.ensure_future(act(hass, "number", "set_value", BRIGHTNESS, value=35))
    await device.wait_for(lambda: called(device, "self.screen.set_brightness") > before, 60)
    await device.power_off()
    assert await failure_of(setting) == "went_away"
    await device.boot()
    with pytest.raises(HomeAssistantError, match="only while it is in a conversation"):
        await act(hass, "notify", "send_message", SCREEN, message="Too early")
    await talk(hass, device)
    await act(hass, "notify", "send_message", SCREEN, message="x" * 501, title="y" * 61)
    await device.wait_for(lambda: device.screen.system_text == "x" * 499 + "…", 3)
    assert device.screen.status == "y" * 59 + "…"


async def test_a_long_text_does_not_end_a_conversation_of_a_small_buffer(
    hass: HomeAssistant, boot: Boot, known: Device
) -> None:
    """Four hundred and eighty emoji are cut; a call that is as long is refused, and says why."""
    device = await boot(get_profile("s3", "1.7.6"))
    await talk(hass, device)
    await act(hass, "notify", "send_message", SCREEN, message="😀" * 480)
    await device.wait_for(lambda: device.screen.system_text.startswith("😀" * 300), 10)
    assert device.screen.system_text.endswith("…")
    with pytest.raises(HomeAssistantError, match="longer than the 1440 bytes that this firmware takes"):
        await known.commands.call_tool("self.screen.set_theme", {"theme": "x" * 2000})
    assert device.channel_open


@pytest.mark.parametrize(
    "during", ["links.ports.Ports.start", "switch.async_setup_entry", "update.async_setup_entry"]
)
async def test_a_device_that_is_deleted_while_the_gateway_starts_is_gone(
    hass: HomeAssistant, make_entry: MakeEntry, monkeypatch: pytest.MonkeyPatch, during: str
) -> None:
    """Its token works no more, and the other one has all of its entities."""
    entry = make_entry(paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, title="Hall box"))
    first, _ = entry.subentries
    target = f"custom_components.xiaozhi.{during}"
    start: Any = pkgutil.resolve_name(target)

    async def delete(*about: Any) -> None:
        hass.config_entries.async_remove_subentry(entry, first)
        await start(*about)

    monkeypatch.setattr(target, delete)
    await running(hass, entry)
    assert entry.runtime_data.devices.keys() == {OTHER_MAC}
    for name in (
        "assist_satellite.{}",
        "calendar.{}_alarms",
        "switch.{}_microphone",
        "update.{}_firmware",
    ):
        shown = [hass.states.get(name.format(box)) is not None for box in ("kitchen_box", "hall_box")]
        assert shown == [False, True], name
    headers = {"Device-Id": MAC, "Client-Id": CLIENT_ID, "Authorization": f"Bearer {TOKEN}"}
    with pytest.raises(InvalidStatus, match="403"):
        await connect(
            f"ws://127.0.0.1:{entry.data[CONF_WEBSOCKET_PORT]}/xiaozhi/v1/", additional_headers=headers
        )


async def test_nobody_but_the_paired_device_gets_in(linked_entry: MockConfigEntry) -> None:
    url = f"ws://127.0.0.1:{linked_entry.data[CONF_WEBSOCKET_PORT]}/xiaozhi/v1/"
    for changed in (
        {"Authorization": "Bearer wrong"},
        {"Authorization": ""},
        {"Device-Id": "24:6f:28:aa:bb:02"},
        {"Client-Id": "00000000-0000-4000-8000-000000000000"},
        {"Origin": "http://evil.example"},
    ):
        headers = {"Device-Id": MAC, "Client-Id": CLIENT_ID, "Authorization": f"Bearer {TOKEN}"} | changed
        with pytest.raises(InvalidStatus, match="403"):
            await connect(url, additional_headers={key: value for key, value in headers.items() if value})
