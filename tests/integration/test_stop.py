"""A gateway that is stopped leaves nothing behind, whatever fails meanwhile."""

import socket
from typing import Any, ClassVar, override

from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import CONF_MQTT_PORT, CONF_UDP_PORT, CONF_WEBSOCKET_PORT, DOMAIN
from custom_components.xiaozhi.protocol.limits import LinkCounters
from custom_components.xiaozhi.protocol.messages import JsonObject
from custom_components.xiaozhi.protocol.transport.link import Channel, Link, LinkKind
from tests.integration.boxes import MAC, OTHER_MAC, Boot, paired_boxes, wait_for_state

LINK = LinkKind.MQTT


class BrokenLink(Link):
    """A link that takes everything and cannot be closed."""

    kind: ClassVar = LinkKind.MQTT
    stays_connected: ClassVar = True
    remote: ClassVar = "127.0.0.1"
    channel: Channel | None = None

    def __init__(self) -> None:
        self.counters = LinkCounters()

    @override
    async def send(self, message: JsonObject) -> None: ...

    @override
    async def send_audio(self, packet: bytes) -> None: ...

    @override
    async def close_channel(self) -> None: ...

    @override
    async def close(self, reason: str) -> None:
        raise RuntimeError("this link cannot be closed")


@pytest.fixture
def paired() -> tuple[ConfigSubentryData, ...]:
    """One that works and one that does not."""
    return paired_boxes(2)


async def test_a_device_that_cannot_be_closed_leaves_no_port_open_and_nothing_unsaved(
    hass: HomeAssistant,
    hass_storage: dict[str, Any],
    boot: Boot,
    linked_entry: MockConfigEntry,
    caplog: pytest.LogCaptureFixture,
) -> None:
    device = await boot()
    await wait_for_state(hass, "number.box_1_volume", "70")
    gateway = linked_entry.runtime_data
    gateway.devices[OTHER_MAC].attach(BrokenLink())
    known = gateway.devices[MAC]
    known.update(firmware="2.9.9")

    assert await hass.config_entries.async_unload(linked_entry.entry_id)
    await device.wait_for(lambda: not device.connected, 5)
    for transport, name in (
        (socket.SOCK_STREAM, CONF_WEBSOCKET_PORT),
        (socket.SOCK_STREAM, CONF_MQTT_PORT),
        (socket.SOCK_DGRAM, CONF_UDP_PORT),
    ):
        with socket.socket(type=transport) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", linked_entry.data[name]))
    assert hass_storage[f"{DOMAIN}.{linked_entry.entry_id}"]["data"][MAC]["firmware"] == "2.9.9"
    assert "this link cannot be closed" in caplog.text
