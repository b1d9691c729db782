"""The form in which the owner chooses the link of one device."""

import asyncio
import json
from typing import Any

from aiomqtt import Client
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from tests.integration.boxes import mqtt_client_id
from tests.integration.http_device import MAC, TOKEN, HttpDevice, MakeEntry, paired_device
from tests.integration.provisioning.forms import change_device, running, submit_device

pytestmark = [pytest.mark.usefixtures("own_address"), pytest.mark.real_time]


@pytest.fixture
async def entry(hass: HomeAssistant, make_entry: MakeEntry, mqtt_data: dict[str, Any]) -> MockConfigEntry:
    """A running gateway that offers MQTT, with a paired device."""
    return await running(hass, make_entry(paired_device(), **mqtt_data))


@pytest.fixture
async def device(entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator) -> HttpDevice:
    """The paired device, which has not checked in yet."""
    return HttpDevice(client=await hass_client_no_auth())


def link_of(entry: MockConfigEntry) -> Any:
    """Return which link is stored for the only device."""
    (subentry,) = entry.subentries.values()
    return subentry.data.get("link")


async def choose(hass: HomeAssistant, entry: MockConfigEntry, link: str, **fields: Any) -> Any:
    """Choose a link for the only device; return how the form ends."""
    form = await change_device(hass, entry)
    assert form["data_schema"]({})["restart_now"] is True
    result = await submit_device(hass, form, link=link, **fields)
    assert result["type"] is FlowResultType.ABORT
    assert link_of(entry) == link
    return result


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


async def test_a_device_that_is_not_connected_must_be_restarted_by_hand(
    hass: HomeAssistant, entry: MockConfigEntry, device: HttpDevice
) -> None:
    """The user is told so; at its next check-in the device learns of its link."""
    assert "mqtt" in await device.check_in()
    result = await choose(hass, entry, "websocket")
    assert result["reason"] == "device_restart_yourself"
    assert result["description_placeholders"] == {"name": "Kitchen box"}
    assert "websocket" in await device.check_in()
    assert (await choose(hass, entry, "mqtt"))["reason"] == "device_restart_yourself"
    assert "mqtt" in await device.check_in()


async def test_a_restart_can_wait(hass: HomeAssistant, entry: MockConfigEntry, device: HttpDevice) -> None:
    """Somebody may be talking to the device."""
    await device.check_in()
    async with connected(entry):
        result = await choose(hass, entry, "websocket", restart_now=False)
        assert result["reason"] == "device_restart_later"
    assert "restart_now" not in next(iter(entry.subentries.values())).data


def connected(entry: MockConfigEntry) -> Client:
    """Connect as the device, which then is linked."""
    return Client(
        "127.0.0.1", entry.data["mqtt_port"], username=MAC, password=TOKEN, identifier=mqtt_client_id(MAC)
    )


async def next_command(client: Client) -> Any:
    """Return the next command to the device as a whole; calls of its tools are not answered."""
    async with asyncio.timeout(5):
        while True:
            message = await anext(aiter(client.messages))
            assert isinstance(message.payload, bytes)
            if (content := json.loads(message.payload))["type"] == "system":
                return content["command"]


async def test_a_connected_device_is_restarted(
    hass: HomeAssistant, entry: MockConfigEntry, device: HttpDevice
) -> None:
    """And learns of its link at once."""
    await device.check_in()
    async with connected(entry) as client:
        result = await choose(hass, entry, "websocket")
        assert await next_command(client) == "reboot"
    assert result["reason"] == "device_restarting"
    assert "websocket" in await device.check_in()


async def test_a_choice_that_changes_nothing_for_the_device_restarts_nothing(
    hass: HomeAssistant, entry: MockConfigEntry, device: HttpDevice
) -> None:
    """Because it is the same as before, because it comes to the same, or because nothing was told yet."""
    assert (await choose(hass, entry, "websocket"))["reason"] == "reconfigure_successful"
    assert (await choose(hass, entry, "automatic"))["reason"] == "reconfigure_successful"
    await device.check_in()
    for link in ("automatic", "mqtt", "mqtt", "automatic"):
        assert (await choose(hass, entry, link))["reason"] == "reconfigure_successful"


async def test_without_a_running_gateway_the_device_must_be_restarted_by_hand(
    hass: HomeAssistant, entry: MockConfigEntry, device: HttpDevice
) -> None:
    """Nobody can tell then what it was told."""
    await device.check_in()
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert (await choose(hass, entry, "websocket"))["reason"] == "device_restart_yourself"
