"""The forms: set up the gateway, and change it and its devices."""

import socket
from unittest.mock import AsyncMock

from homeassistant.components.http import ApiConfig
from homeassistant.config_entries import (
    SOURCE_DHCP,
    SOURCE_IGNORE,
    SOURCE_RECONFIGURE,
    SOURCE_USER,
    ConfigEntryState,
    FlowType,
)
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.helpers.service_info.dhcp import DhcpServiceInfo
from homeassistant.loader import async_get_loaded_integration
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN, GATEWAY_UNIQUE_ID
from custom_components.xiaozhi.forms import gateway_form
from tests.integration.http_device import MAC, MakeEntry, paired_device
from tests.integration.provisioning.forms import ADDRESS, start, stored, submit, submit_device, websocket_only

OTHER_MAC = "94:a9:90:00:00:01"
DHCP = DhcpServiceInfo(ip="192.168.1.20", hostname="xiaozhi-a45f", macaddress=MAC.replace(":", ""))
pytestmark = pytest.mark.usefixtures("own_address")


# The gateway.


async def test_the_gateway_is_set_up_and_says_what_to_type_into_devices(
    hass: HomeAssistant, free_port: int
) -> None:
    """Port, address, done; the port is open at once."""
    form = await start(hass)
    assert (form["type"], form["step_id"]) == (FlowResultType.FORM, "gateway")
    # Somebody who knows nothing about ports just goes on: all is below *Advanced*.
    assert form["data_schema"].schema["advanced"].options == {"collapsed": True}
    assert form["data_schema"]({"advanced": {}}) == {
        "understand_alarms": True,
        "stock_releases": False,
        "advanced": {"link": "mqtt", "websocket_port": 8765, "mqtt_port": 1884, "udp_port": 8765},
    }
    result = await submit(hass, form, **websocket_only(free_port))
    assert (result["type"], result["title"]) == (FlowResultType.CREATE_ENTRY, "XiaoZhi gateway")
    entry = result["result"]
    assert (entry.unique_id, dict(entry.data)) == (GATEWAY_UNIQUE_ID, stored(free_port))
    assert entry.state is ConfigEntryState.LOADED
    with socket.create_connection(("127.0.0.1", free_port), timeout=5):
        pass
    (kind, flow_id) = result["next_flow"]
    assert kind is FlowType.CONFIG_SUBENTRIES_FLOW
    form = hass.config_entries.subentries.async_get(flow_id)
    assert (form["handler"], form["step_id"]) == ((entry.entry_id, "device"), "wait")
    form = await submit_device(hass, form)
    (qr_code,) = form["data_schema"].schema.values()
    assert qr_code.config["data"] == ADDRESS
    shown = form["description_placeholders"]
    assert "No device has checked in yet" in shown.pop("first")
    speech = shown.pop("speech")
    assert "neither hear nor speak" in speech
    assert "https://www.home-assistant.io/voice_control/voice_remote_local_assistant/" in speech
    integration = async_get_loaded_integration(hass, DOMAIN)
    assert shown == {
        "check_in_url": ADDRESS,
        "check_in_link": f'<a href="{ADDRESS}" target="_blank">{ADDRESS}</a>',
        "portal_url": "http://192.168.4.1",
        "docs_url": f"{integration.documentation}/blob/main/docs/devices.md#no-field-for-the-address",
        "problem": "",
    }


async def test_a_taken_port_and_what_is_no_address_are_said_and_right_ones_taken(
    hass: HomeAssistant, taken_port: int, free_port: int
) -> None:
    """The form tries the port before it accepts it. People paste what their browser shows."""
    form = await submit(hass, await start(hass), **websocket_only(taken_port, address="a/b"))
    assert form["errors"] == {"websocket_port": "port_in_use", "address": "invalid_address"}
    for address in ("http://192.168.1.10:8123", "0.0.0.0"):
        form = await submit(hass, form, **websocket_only(free_port, address=address))
        assert form["errors"] == {"address": "invalid_address"}
    # Case and blanks do not matter.
    result = await submit(hass, form, **websocket_only(free_port, address=" HA.lan "))
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert result["description_placeholders"]["check_in_url"] == "http://ha.lan:8123/api/xiaozhi/ota"
    assert result["data"] == stored(free_port, address="ha.lan")


async def test_an_address_that_devices_hardly_find_is_warned_of_in_the_form(
    hass: HomeAssistant, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some do find it: submitted again, it is accepted, and later not warned of again."""
    form = await start(hass)
    with monkeypatch.context() as elsewhere:
        # A device would look for the gateway there. The form cannot know what a router passes on.
        elsewhere.setattr(gateway_form, "async_leads_here", AsyncMock(return_value=False))
        form = await submit(hass, form, **websocket_only(free_port, address="192.168.1.99"))
        assert form["errors"] == {"address": "address_elsewhere"}
    for address, warning in {
        "homeassistant.local": "address_local_name",
        "localhost": "address_known_here_only",
        "127.0.0.1": "address_known_here_only",
        "a0d7b954-emqx": "address_known_here_only",
    }.items():
        form = await submit(hass, form, **websocket_only(free_port, address=address))
        assert form["errors"] == {"address": warning}
    result = await submit(hass, form, **websocket_only(free_port, address=address))
    assert result["type"] is FlowResultType.CREATE_ENTRY
    reconfigure = {"source": SOURCE_RECONFIGURE, "entry_id": result["result"].entry_id}
    form = await hass.config_entries.flow.async_init(DOMAIN, context=reconfigure)
    form = await submit(hass, form, **websocket_only(free_port, address=address))
    assert form["reason"] == "reconfigure_successful"
    form = await hass.config_entries.flow.async_init(DOMAIN, context=reconfigure)
    form = await submit(hass, form, **websocket_only(free_port, address="other.local"))
    assert form["errors"] == {"address": "address_local_name"}


async def test_without_an_address_of_its_own_home_assistant_asks_for_one(
    hass: HomeAssistant, free_port: int
) -> None:
    """It would tell devices to call the loopback address otherwise."""
    form = await start(hass)
    hass.config.internal_url = None
    hass.config.api = ApiConfig("127.0.0.1", "127.0.0.1", 8123, use_ssl=False)
    form = await submit(hass, form, **websocket_only(free_port, address=" "))
    assert form["errors"] == {"address": "address_needed"}
    assert form["description_placeholders"]["found"] == "it has found none"
    result = await submit(hass, form, **websocket_only(free_port, address="192.168.1.10"))
    assert result["description_placeholders"]["check_in_url"] == ADDRESS
    assert result["type"] is FlowResultType.CREATE_ENTRY


async def test_with_https_only_the_limits_are_said(hass: HomeAssistant, free_port: int) -> None:
    """A device accepts no certificate but a publicly trusted one, which an IP address cannot have."""
    hass.config.internal_url = None
    hass.config.api = ApiConfig("192.168.1.10", "192.168.1.10", 443, use_ssl=True)
    form = await start(hass)
    assert "An IP address cannot have such a certificate" in form["description_placeholders"]["problem"]
    result = await submit(hass, form, **websocket_only(free_port, address="ha.example.org"))
    assert result["type"] is FlowResultType.CREATE_ENTRY
    shown = hass.config_entries.subentries.async_get(result["next_flow"][1])
    shown = (await submit_device(hass, shown))["description_placeholders"]
    assert shown["check_in_url"] == "https://ha.example.org/api/xiaozhi/ota"
    assert "publicly trusted" in shown["problem"]


async def test_a_gateway_that_appears_meanwhile_is_not_replaced(
    hass: HomeAssistant, free_port: int, make_entry: MakeEntry
) -> None:
    """Home Assistant would remove the first one, with all its devices."""
    form = await start(hass)
    entry = make_entry()
    result = await submit(hass, form, **websocket_only(free_port))
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "already_configured")
    assert hass.config_entries.async_entries(DOMAIN) == [entry]


# Devices seen on the network.


async def test_a_device_on_the_network_leads_to_the_gateway_form(hass: HomeAssistant, free_port: int) -> None:
    """It is the first that Home Assistant hears of XiaoZhi. However many there are, there is one card."""
    form = await start(hass, SOURCE_DHCP, DHCP)
    assert (form["type"], form["step_id"]) == (FlowResultType.FORM, "gateway")
    (card,) = hass.config_entries.flow.async_progress_by_handler(DOMAIN)
    assert card["context"]["title_placeholders"] == {"name": "xiaozhi-a45f"}
    other = DhcpServiceInfo(ip="192.168.1.21", hostname="xiaozhi-0001", macaddress=OTHER_MAC.replace(":", ""))
    result = await start(hass, SOURCE_DHCP, other)
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "already_in_progress")
    # It keeps nobody from setting up the gateway by hand, and goes then.
    result = await submit(hass, await start(hass), **websocket_only(free_port))
    assert result["type"] is FlowResultType.CREATE_ENTRY
    assert hass.config_entries.flow.async_progress_by_handler(DOMAIN) == []


async def test_an_ignored_card_stays_away_until_the_gateway_is_set_up_by_hand(
    hass: HomeAssistant, free_port: int
) -> None:
    """Ignoring is no gateway."""
    await start(hass, SOURCE_DHCP, DHCP)
    await start(hass, SOURCE_IGNORE, {"unique_id": GATEWAY_UNIQUE_ID, "title": "xiaozhi-a45f"})
    result = await start(hass, SOURCE_DHCP, DHCP)
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "already_configured")
    result = await submit(hass, await start(hass), **websocket_only(free_port))
    assert result["type"] is FlowResultType.CREATE_ENTRY
    (entry,) = hass.config_entries.async_entries(DOMAIN)
    assert entry.source == SOURCE_USER


@pytest.mark.parametrize(
    ("gateway_entry", "reason"),
    [([paired_device()], "already_configured"), ([], "points_elsewhere")],
    indirect=["gateway_entry"],
)
async def test_with_a_gateway_a_device_on_the_network_shows_nothing(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, reason: str
) -> None:
    """Its check-in will make a card, once it is pointed here."""
    result = await start(hass, SOURCE_DHCP, DHCP)
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, reason)
