"""A real Home Assistant with the integration in it, and devices that call it over real sockets."""

from collections.abc import AsyncGenerator, Generator
import socket
from typing import Any

from homeassistant.config_entries import ConfigEntryState, ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

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
async def home_assistant(hass: HomeAssistant, enable_custom_integrations: None, socket_enabled: None) -> None:
    """Run the part of Home Assistant that every set-up has, and allow sockets on the loopback interface."""
    assert await async_setup_component(hass, "homeassistant", {})


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


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
    with (
        socket.create_server(("0.0.0.0", 0)) as one,
        socket.create_server(("0.0.0.0", 0)) as other,
        socket.socket(type=socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("0.0.0.0", 0))
        # The port for WebSocket may be given again.
        ports: list[int] = [server.getsockname()[1] for server in (one, other)]
        mqtt_port = next(port for port in ports if port != free_port)
        udp_port: int = udp.getsockname()[1]
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
