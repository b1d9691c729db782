"""The form in which the owner chooses the link of one device."""

from typing import Any

from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.protocol.transport.link import LinkKind
from tests.integration.boxes import Boot, wait_for_state
from tests.integration.http_device import MakeEntry, paired_device
from tests.integration.provisioning.forms import change_device, running, submit_device

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("own_address", "all_enabled")

CONNECTED = "binary_sensor.kitchen_box_connectivity"


def link_of(entry: MockConfigEntry) -> Any:
    (subentry,) = entry.subentries.values()
    return subentry.data.get("link")


async def choose(hass: HomeAssistant, entry: MockConfigEntry, link: str, **fields: Any) -> str:
    """Choose a link for the only device; return how the form ends."""
    form = await change_device(hass, entry)
    assert form["data_schema"]({})["restart_now"] is True
    result = await submit_device(hass, form, link=link, **fields)
    assert result["type"] is FlowResultType.ABORT
    assert link_of(entry) == link
    assert result["reason"] == "reconfigure_successful" or result["description_placeholders"] == {
        "name": "Kitchen box"
    }
    reason: str = result["reason"]
    return reason


async def test_a_device_without_a_choice_is_not_asked_for_one(
    hass: HomeAssistant, make_entry: MakeEntry
) -> None:
    """A gateway with WebSocket only has no other link; what was chosen once stays."""
    known = paired_device()
    entry = await running(hass, make_entry({**known, "data": {**known["data"], "link": "mqtt"}}))
    form = await change_device(hass, entry)
    assert {str(field) for field in form["data_schema"].schema} == {"share_transcripts"}
    result = await submit_device(hass, form, share_transcripts=True)
    assert result["reason"] == "reconfigure_successful"
    assert link_of(entry) == "mqtt"


async def test_a_connected_device_is_restarted_now_or_later(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """And learns of its link at once. One that is not connected must be restarted by hand."""
    device = await boot()
    await wait_for_state(hass, CONNECTED, "on")
    assert await choose(hass, linked_entry, "websocket", restart_now=False) == "device_restart_later"
    assert "restart_now" not in next(iter(linked_entry.subentries.values())).data
    assert device.connected
    assert await choose(hass, linked_entry, "automatic") == "reconfigure_successful"
    assert await choose(hass, linked_entry, "websocket") == "device_restarting"
    await device.wait_for(lambda: device.link == "websocket", 60)
    assert await choose(hass, linked_entry, "mqtt") == "device_restart_yourself"
    await device.power_off()
    await device.boot()
    assert device.link == "mqtt"


async def test_a_choice_that_changes_nothing_for_the_device_restarts_nothing(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """Because it is the same as before, because it comes to the same, or because nothing was told yet."""
    for link in ("websocket", "automatic"):
        assert await choose(hass, linked_entry, link) == "reconfigure_successful"
    await boot()
    for link in ("automatic", "mqtt", "mqtt", "automatic"):
        assert await choose(hass, linked_entry, link) == "reconfigure_successful"


async def test_without_a_running_gateway_the_device_must_be_restarted_by_hand(
    hass: HomeAssistant, linked_entry: MockConfigEntry, boot: Boot
) -> None:
    """Nobody can tell then what it was told."""
    await boot()
    assert await hass.config_entries.async_unload(linked_entry.entry_id)
    assert await choose(hass, linked_entry, "websocket") == "device_restart_yourself"
