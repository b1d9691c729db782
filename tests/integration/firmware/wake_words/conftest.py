"""A device with a pack, the web with packs and models, and what it has been put on."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.guests.firmware.available_firmware import FirmwareFiles
from simulator import SimulatedDevice, get_profile
from tests.integration.firmware.conftest import QUICK
from tests.integration.firmware.wake_words.packs import Web, ready
from tests.integration.links.test_broker import through
from tests.integration.media.media_server import media_server
from tests.integration.names import Boot
from tests.protocol.transport.mqtt.brokers import PushingBroker
from tests.protocol.transport.udp.device import until


@pytest.fixture
def over_broker() -> bool:
    """Whether the device is reached through the owner's broker."""
    return False


@pytest.fixture
async def link_data(
    over_broker: bool, link_data: dict[str, Any], request: pytest.FixtureRequest
) -> AsyncGenerator[dict[str, Any]]:
    if not over_broker:
        yield link_data
        return
    request.getfixturevalue("socket_enabled")
    broker = await PushingBroker().start()
    yield through(broker.port, link_data)
    await broker.stop()


@pytest.fixture
async def hosts(
    hass: HomeAssistant,
    socket_enabled: None,
    linked_entry: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncGenerator[Web]:
    async with media_server() as server:
        # Home Assistant does not look for firmware by itself.
        monkeypatch.setattr(FirmwareFiles, "releases", server.url("/releases/latest"))
        counters = linked_entry.runtime_data.ports.counters
        await until(lambda: counters().get("broker", {"connected": True})["connected"])
        yield Web(server, monkeypatch)
        # Before the broker ends.
        if hass.config_entries.async_get_entry(linked_entry.entry_id):
            await hass.config_entries.async_unload(linked_entry.entry_id)


@pytest.fixture
async def device(hass: HomeAssistant, hosts: Web, boot: Boot) -> SimulatedDevice:
    return await ready(hass, await boot(get_profile(version="2.4.2"), pace=replace(QUICK, flash=1000)))
