"""All devices at once: how many are so, and the same options for each."""

import asyncio
from datetime import timedelta
from typing import Any

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import Context, Event, HomeAssistant, callback
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import area_registry as ar, device_registry as dr, entity_registry as er
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.boxes import call_action, paired_boxes, state_of, wait_for_state
from tests.integration.http_device import MakeEntry, paired_device
from tests.integration.names import CLIENT_ID, CONNECTED, MAC, OTHER_MAC, Boot

LINK = LinkKind.MQTT
OPTIONS = {
    "conversation_style": "open",
    "follow_up_wait": 15,
    "end_of_speech": "relaxed",
    "announcement_volume": 40,
}


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    return (paired_device(MAC, CLIENT_ID), paired_device(OTHER_MAC, CLIENT_ID, title="Bedroom box"))


def chosen(entry: MockConfigEntry) -> list[dict[str, Any]]:
    """Return the options that each device has in its settings."""
    return [
        {key: value for key, value in subentry.data.items() if key in OPTIONS}
        for subentry in entry.subentries.values()
    ]


async def test_the_gateway_says_how_many_are_connected_behind_and_silent(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry
) -> None:
    counted = {name: f"sensor.xiaozhi_devices_{name}" for name in ("connected", "silent_for_a_day")}
    await boot()
    await wait_for_state(hass, CONNECTED, "on")
    await wait_for_state(hass, counted["connected"], "1", 60)
    assert state_of(hass, counted["connected"]).attributes["not_connected"] == ["Bedroom box"]
    await wait_for_state(hass, counted["silent_for_a_day"], "1", 60)
    assert state_of(hass, counted["silent_for_a_day"]).attributes["devices"] == ["Bedroom box"]
    other = linked_entry.runtime_data.devices[OTHER_MAC]
    other.record.update(last_contact=dt_util.utcnow() - timedelta(hours=23))
    await wait_for_state(hass, counted["silent_for_a_day"], "0", 60)
    hass.states.async_set("update.bedroom_box_firmware", "on")
    await wait_for_state(hass, "sensor.xiaozhi_devices_behind_on_firmware", "1", 60)
    # A device that is deleted counts no more.
    _, bedroom = linked_entry.subentries
    hass.config_entries.async_remove_subentry(linked_entry, bedroom)
    await wait_for_state(hass, "sensor.xiaozhi_devices_behind_on_firmware", "0", 60)
    assert state_of(hass, counted["connected"]).attributes["not_connected"] == []


async def test_all_in_an_area_get_the_same_options(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry, device_ids: list[str]
) -> None:
    """Also one that has never connected, whose abilities nobody knows."""
    await boot()
    await wait_for_state(hass, CONNECTED, "on")
    hall = ar.async_get(hass).async_create("Hall").id
    for device_id in device_ids:
        dr.async_get(hass).async_update_device(device_id, area_id=hall)
    answer = await hass.services.async_call(
        DOMAIN, "set_options", {"area_id": hall, **OPTIONS}, blocking=True, return_response=True
    )
    assert answer == {"devices": ["Bedroom box", "Kitchen box"]}
    stored = {key: value for key, value in OPTIONS.items() if key != "end_of_speech"}
    assert chosen(linked_entry) == [stored] * 2
    for box in ("kitchen", "bedroom"):
        assert hass.states.is_state(f"select.{box}_box_end_of_speech", "relaxed")


async def test_a_device_that_cannot_have_them_is_named_and_gets_none_of_them(
    hass: HomeAssistant, boot: Boot, linked_entry: MockConfigEntry, device_ids: list[str]
) -> None:
    select = "select.bedroom_box_end_of_speech"
    er.async_get(hass).async_update_entity(select, disabled_by=er.RegistryEntryDisabler.USER)
    await hass.async_block_till_done()
    with pytest.raises(HomeAssistantError) as failure:
        await call_action(hass, "set_options", device_ids, **OPTIONS)
    assert str(failure.value) == (
        "The options were not set everywhere. Bedroom box: Its End of speech is disabled. Set on: Kitchen box"
    )
    assert ["follow_up_wait" in options for options in chosen(linked_entry)] == [True, False]


async def test_options_are_for_administrators_and_at_least_one(
    hass: HomeAssistant, device_ids: list[str], linked_entry: MockConfigEntry, hass_read_only_user: MockUser
) -> None:
    user = await hass.auth.async_create_user("Anna", group_ids=["system-users"])
    for person in (hass_read_only_user, user):
        with pytest.raises(Unauthorized):
            await call_action(hass, "set_options", device_ids, Context(user_id=person.id), follow_up_wait=9)
    with pytest.raises(HomeAssistantError, match="at least one option"):
        await call_action(hass, "set_options", device_ids)
    assert not any("follow_up_wait" in options for options in chosen(linked_entry))


async def test_others_have_their_turn_while_the_entities_of_many_are_added(
    hass: HomeAssistant, make_entry: MakeEntry
) -> None:
    """And all are there when the gateway has started."""
    registered, at_once = 0, [0]

    @callback
    def count(_: Event[Any]) -> None:
        nonlocal registered
        registered += 1
        at_once[-1] += 1

    async def take_turns() -> None:
        while True:
            at_once.append(0)
            await asyncio.sleep(0)

    hass.bus.async_listen(er.EVENT_ENTITY_REGISTRY_UPDATED, count)
    others = asyncio.create_task(take_turns())
    entry = make_entry(*paired_boxes(10))
    await hass.config_entries.async_setup(entry.entry_id)
    after_start = registered
    others.cancel()
    await hass.async_block_till_done()
    assert registered == after_start > 150
    assert max(at_once) < 25
