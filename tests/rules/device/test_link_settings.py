"""What a device is told about its link."""

import re
from typing import Any

import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.device.link_settings import LinkSettings, kind_of_link, link_settings
from custom_components.xiaozhi.protocol.firmware_version import FirmwareVersion
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import downlink_topic
from custom_components.xiaozhi.settings import (
    DeviceLink,
    DeviceSettings,
    GatewaySettings,
    OfferedLink,
)


def gateway(link: OfferedLink, **settings: Any) -> GatewaySettings:
    return GatewaySettings(name="00c0ffee", link=link, **settings)


def device(link: DeviceLink = DeviceLink.AUTOMATIC) -> DeviceSettings:
    return DeviceSettings(mac="24:6f:28:aa:bb:01", name="Box", client_id="c", token="secret", link=link)


def told(offered: GatewaySettings, wanted: DeviceLink = DeviceLink.AUTOMATIC) -> LinkSettings:
    """Return what is told to a device that called an address."""
    host, origin = "192.168.1.10", "http://192.168.1.10:8123"
    return link_settings(offered, device(wanted), None, host=host, origin=origin)


@pytest.mark.parametrize(
    ("offered", "wanted", "firmware", "kind"),
    [
        (OfferedLink.MQTT, DeviceLink.AUTOMATIC, "2.4.2", LinkKind.MQTT),
        (OfferedLink.MQTT, DeviceLink.AUTOMATIC, None, LinkKind.MQTT),
        (OfferedLink.MQTT, DeviceLink.AUTOMATIC, "1.6.1", LinkKind.WEBSOCKET),
        (OfferedLink.MQTT, DeviceLink.MQTT, "1.6.1", LinkKind.MQTT),
        (OfferedLink.MQTT, DeviceLink.WEBSOCKET, "2.4.2", LinkKind.WEBSOCKET),
        (OfferedLink.BROKER, DeviceLink.AUTOMATIC, "2.4.2", LinkKind.MQTT),
        (OfferedLink.WEBSOCKET, DeviceLink.AUTOMATIC, "2.4.2", LinkKind.WEBSOCKET),
        (OfferedLink.WEBSOCKET, DeviceLink.MQTT, "2.4.2", LinkKind.WEBSOCKET),
    ],
)
def test_the_owner_decides_and_old_firmware_limits(
    offered: OfferedLink, wanted: DeviceLink, firmware: str | None, kind: LinkKind
) -> None:
    assert kind_of_link(gateway(offered), device(wanted), FirmwareVersion.parse(firmware)) is kind


def test_each_reply_names_the_links_under_the_address_that_the_device_used() -> None:
    offered = gateway(OfferedLink.MQTT)
    websocket = told(offered, DeviceLink.WEBSOCKET).sections
    assert websocket.keys() == {"websocket"}
    assert websocket["websocket"]["url"] == "ws://192.168.1.10:8765/xiaozhi/v1/"
    both = told(offered).sections
    assert both == websocket | {
        "mqtt": {
            "endpoint": "192.168.1.10:1884",
            "client_id": "246f28aabb01",
            "username": "24:6f:28:aa:bb:01",
            "password": "secret",
            "publish_topic": "xiaozhi/246f28aabb01/up",
            "keepalive": 60,
            "subscribe_topic": downlink_topic("246f28aabb01"),
        }
    }
    # The owner's address goes before it, for photos and files, too.
    moved = told(gateway(OfferedLink.MQTT, address="ha.lan"))
    assert moved.sections["mqtt"]["endpoint"] == "ha.lan:1884"
    assert moved.origin == "http://ha.lan:8123"


def test_the_name_of_a_gateway_is_that_of_its_entry_and_stays() -> None:
    names = [
        GatewaySettings.from_entry(MockConfigEntry(entry_id=entry_id, data={"websocket_port": 8765})).name
        for entry_id in ("01JQ", "01JR", "01JQ")
    ]
    assert names[0] == names[2] != names[1]
    assert all(re.fullmatch("[0-9a-f]{8}", name) for name in names)
