"""A real Home Assistant with the integration in it, and devices that call it over real sockets."""

from collections.abc import AsyncGenerator, Generator
import secrets
import socket
from typing import Any

from homeassistant.config_entries import ConfigEntryState, ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi import device_views as device_calls
from custom_components.xiaozhi.const import (
    CONF_LINK,
    CONF_MQTT_PORT,
    CONF_UDP_PORT,
    CONF_WEBSOCKET_PORT,
    DOMAIN,
    GATEWAY_UNIQUE_ID,
)
from custom_components.xiaozhi.settings import OfferedLink
from tests.integration.http_device import HttpDevice, MakeDevice, MakeEntry


@pytest.fixture(autouse=True)
async def home_assistant(
    hass: HomeAssistant,
    enable_custom_integrations: None,
    socket_enabled: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Run the part of Home Assistant that every set-up has, and allow sockets on the loopback interface."""
    monkeypatch.setattr(device_calls, "HANG_UP_SECONDS", 0.01)
    assert await async_setup_component(hass, "homeassistant", {})


def unused_port(*transports: socket.SocketKind) -> int:
    """Return a port that nobody listens on, and that the system gives to no outgoing connection meanwhile."""
    while True:
        port = 12000 + secrets.randbelow(20000)
        try:
            for transport in transports:
                with socket.socket(type=transport) as probe:
                    probe.bind(("0.0.0.0", port))
        except OSError:
            continue
        return port


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    return unused_port(socket.SOCK_STREAM)


@pytest.fixture
def taken_port() -> Generator[int]:
    """A port that another program listens on."""
    with socket.create_server(("", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
async def own_address(hass: HomeAssistant, home_assistant: None) -> None:
    """Home Assistant knows its address in the home network: that of `forms.ADDRESS`."""
    hass.config.internal_url = "http://192.168.1.10:8123"


@pytest.fixture
def mqtt_data(free_port: int) -> dict[str, Any]:
    """Settings that add the link over MQTT and UDP to those of `make_entry`, on ports that nobody uses."""
    mqtt_port = udp_port = free_port
    while mqtt_port == free_port:
        mqtt_port = unused_port(socket.SOCK_STREAM)
    while udp_port in {free_port, mqtt_port}:
        # A test uses the same number for TCP.
        udp_port = unused_port(socket.SOCK_DGRAM, socket.SOCK_STREAM)
    return {CONF_LINK: OfferedLink.MQTT.value, CONF_MQTT_PORT: mqtt_port, CONF_UDP_PORT: udp_port}


@pytest.fixture
def make_entry(hass: HomeAssistant, free_port: int) -> MakeEntry:
    """Return what makes the entry of a gateway with some paired devices, not yet set up."""

    def make(*devices: ConfigSubentryData, **data: Any) -> MockConfigEntry:
        entry = MockConfigEntry(
            domain=DOMAIN,
            title="XiaoZhi",
            unique_id=GATEWAY_UNIQUE_ID,
            data={CONF_WEBSOCKET_PORT: free_port, **data},
            subentries_data=devices,
        )
        entry.add_to_hass(hass)
        return entry

    return make


@pytest.fixture
async def unload_gateway(hass: HomeAssistant) -> AsyncGenerator[None]:
    """Unload whatever gateway the test has left running."""
    yield
    for entry in hass.config_entries.async_entries(DOMAIN, include_ignore=False):
        if entry.state is ConfigEntryState.LOADED:
            assert await hass.config_entries.async_unload(entry.entry_id)
    await hass.async_block_till_done()


@pytest.fixture
async def gateway_entry(
    hass: HomeAssistant, make_entry: MakeEntry, unload_gateway: None, request: pytest.FixtureRequest
) -> MockConfigEntry:
    """A running gateway; by indirect parametrization, with paired devices."""
    entry = make_entry(*getattr(request, "param", ()))
    assert await hass.config_entries.async_setup(entry.entry_id)
    await hass.async_block_till_done()
    return entry


@pytest.fixture
async def make_device(
    gateway_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> MakeDevice:
    """Return what makes a device that calls the running gateway."""
    client = await hass_client_no_auth()

    def make(**properties: Any) -> HttpDevice:
        return HttpDevice(client=client, **properties)

    return make
