"""A device that is told of both links may use either."""

import asyncio
import json

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator
from websockets.asyncio.client import connect

from custom_components.xiaozhi.const import CONF_LINK
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.settings import DeviceLink
from simulator import SimulatedDevice
from tests.integration.boxes import CLIENT_ID, MAC, Boot, change_settings, wait_for_state
from tests.integration.http_device import HttpDevice

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("all_enabled")

CONNECTIVITY = "binary_sensor.kitchen_box_connectivity"


async def test_a_client_that_knows_only_websocket_is_told_where_and_stays_available(
    hass: HomeAssistant, linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """It would otherwise go on talking to the server of which it has stored the address."""
    client = HttpDevice(client=await hass_client_no_auth(), mac=MAC, client_id=CLIENT_ID)
    device = linked_entry.runtime_data.devices[MAC]
    reply = await client.check_in()
    assert reply.keys() == {"mqtt", "websocket", "server_time"}
    assert not device.state.available
    headers = {
        "Device-Id": MAC,
        "Client-Id": CLIENT_ID,
        "Authorization": f"Bearer {reply['websocket']['token']}",
    }
    async with connect(reply["websocket"]["url"], additional_headers=headers) as socket:
        await socket.send(json.dumps({"type": "hello", "transport": "websocket"}))
        assert json.loads(await asyncio.wait_for(socket.recv(), 10))["type"] == "hello"
        await wait_for_state(hass, CONNECTIVITY, "on")
        assert (await client.check_in()).keys() == reply.keys()
        assert device.linked, "a check-in does not end the link of a client that prefers the other"
    await wait_for_state(hass, CONNECTIVITY, "off")
    await client.check_in()
    assert device.state.available, "as for every device on WebSocket, its last state stands"
    assert device.state.link is LinkKind.WEBSOCKET


async def test_firmware_that_is_told_both_takes_mqtt_and_gets_one_section_when_its_owner_wants_websocket(
    hass: HomeAssistant,
    linked_entry: MockConfigEntry,
    boot: Boot,
    hass_client_no_auth: ClientSessionGenerator,
) -> None:
    box: SimulatedDevice = await boot()
    await wait_for_state(hass, CONNECTIVITY, "on")
    assert box.link == "mqtt"
    client = HttpDevice(client=await hass_client_no_auth(), mac=MAC, client_id=CLIENT_ID)
    for wanted, sections in (
        (DeviceLink.WEBSOCKET, {"websocket", "server_time"}),
        (DeviceLink.AUTOMATIC, {"mqtt", "websocket", "server_time"}),
    ):
        change_settings(hass, linked_entry, **{CONF_LINK: wanted.value})
        await hass.async_block_till_done()
        assert (await client.check_in()).keys() == sections
        expected = LinkKind.WEBSOCKET if wanted is DeviceLink.WEBSOCKET else LinkKind.MQTT
        assert linked_entry.runtime_data.devices[MAC].state.link is expected
