"""The link settings that a device gets in the reply to its check-in: kind of link, address, credentials."""

from dataclasses import dataclass
from typing import Final

from yarl import URL

from ..const import WEBSOCKET_PATH
from ..protocol.checkin_reply import mqtt_section, websocket_section, websocket_url
from ..protocol.firmware_version import FirmwareVersion
from ..protocol.messages import JsonObject
from ..protocol.transport.link import LinkKind
from ..protocol.transport.mqtt.mqtt_link import downlink_topic, uplink_topic
from ..protocol.transport.owner_broker.broker_settings import Address
from ..settings import DeviceLink, DeviceSettings, GatewaySettings, OfferedLink

# With the firmware's default of 240 s, a device that lost power would look connected for six minutes.
_KEEP_ALIVE: Final = 60
# The first firmware that takes the address of its link from the check-in reply.
_FIRST_WITH_MQTT_PORT: Final = FirmwareVersion(1, 6, 2)
# For a broker without accounts: the firmware requires user and password.
_ANY_USER: Final = "xiaozhi"

# The topic to which EMQX is to subscribe every device, with EMQX's placeholder for the client id.
AUTO_SUBSCRIBE_TOPIC: Final = downlink_topic("${clientid}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSettings:
    """The link that a device that has checked in is to use."""

    preferred: LinkKind
    origin: str | None
    """Address of our web server for it."""
    sections: JsonObject
    """Sections of the reply; with MQTT, those of both links."""


def link_settings(
    gateway: GatewaySettings,
    device: DeviceSettings,
    firmware: FirmwareVersion | None,
    *,
    host: str,
    origin: str,
) -> LinkSettings:
    """Return the link settings for a device that has called this host, with this scheme and port."""
    kind = kind_of_link(gateway, device, firmware)
    address = gateway.address or host
    sections = websocket_section(
        url=websocket_url(address, gateway.websocket_port, WEBSOCKET_PATH), token=device.token
    )
    if kind is LinkKind.MQTT:
        # Both: for clients without MQTT, or with an older server's WebSocket stored; stock firmware
        # prefers MQTT.
        sections = _mqtt(gateway, device, address) | sections
    return LinkSettings(preferred=kind, origin=_web_origin(gateway, origin), sections=sections)


def kind_of_link(
    gateway: GatewaySettings, device: DeviceSettings, firmware: FirmwareVersion | None
) -> LinkKind:
    """Return the kind of link for a device."""
    if gateway.link is OfferedLink.WEBSOCKET or device.link is DeviceLink.WEBSOCKET:
        return LinkKind.WEBSOCKET
    if device.link is DeviceLink.AUTOMATIC and firmware is not None and firmware < _FIRST_WITH_MQTT_PORT:
        return LinkKind.WEBSOCKET
    return LinkKind.MQTT


def _mqtt(gateway: GatewaySettings, device: DeviceSettings, address: str) -> JsonObject:
    if (broker := gateway.broker) is None:
        endpoint, username, password = f"{address}:{gateway.mqtt_port}", device.mac, device.token
    else:
        endpoint = f"{broker.host}:{broker.port}"
        username, password = broker.username or _ANY_USER, broker.password or _ANY_USER
    client_id = client_id_of(gateway, device.mac)
    return mqtt_section(
        endpoint=endpoint,
        client_id=client_id,
        username=username,
        password=password,
        publish_topic=uplink_topic(client_id),
        keepalive=_KEEP_ALIVE,
        subscribe_topic=downlink_topic(client_id),
    )


def client_id_of(gateway: GatewaySettings, mac: str) -> str:
    """Return the MQTT client id for a device. On a broker, it begins with the name of the gateway."""
    return mac.replace(":", "") if gateway.broker is None else Address(mac, gateway.name).client_id


def _web_origin(gateway: GatewaySettings, origin: str) -> str | None:
    try:
        url = URL(origin).origin()
        return str(url.with_host(gateway.address) if gateway.address else url)
    except ValueError:
        return None
