"""The ports on which devices reach the gateway, and what a device is told about them."""

from collections.abc import Callable, Iterable
from dataclasses import asdict
from hashlib import sha256
import logging
import re
from typing import Any, Final

from yarl import URL

from .const import WEBSOCKET_PATH
from .protocol.checkin_reply import LinkReply, MqttReply, ServerTime, WebSocketReply, websocket_url
from .protocol.closing import close_all
from .protocol.firmware import FirmwareVersion
from .protocol.messages import AudioFormat
from .protocol.transport.link import Admission, Credentials, LinkKind
from .protocol.transport.mqtt.broker_client import BrokerError
from .protocol.transport.mqtt.broker_connection import BrokerConnection
from .protocol.transport.mqtt.endpoint import MqttEndpoint
from .protocol.transport.mqtt.link import downlink_topic, uplink_topic
from .protocol.transport.udp.listener import UdpListener
from .protocol.transport.websocket.listener import WebSocketListener
from .settings import DeviceLink, DeviceSettings, GatewaySettings, OfferedLink

_LOGGER = logging.getLogger(__name__)

# What 137 of 148 boards play without resampling; 60 ms lets their queue of 40 packets hold 2.4 s.
DOWNLINK: Final = AudioFormat(sample_rate=24000, frame_duration=60)
# Version 1 has no header that the device would read without checking its bounds.
_FRAMING_VERSION: Final = 1
# The firmware's own 240 s would let a device that lost its power look connected for six minutes.
_KEEP_ALIVE: Final = 60
# The first firmware that takes the address of a link from its check-in at all.
_FIRST_WITH_MQTT_PORT: Final = FirmwareVersion(1, 6, 2)
# Loopback, and the names that the Supervisor gives to its add-ons, such as a0d7b954-emqx.
_ON_THIS_COMPUTER: Final = re.compile(r"(.+\.)?localhost|127\.[0-9.]+|(core|local|[0-9a-f]{8})-[a-z0-9_-]+")
# Longer than a listener gives each of its links.
_STOP_SECONDS: Final = 5
# For a broker that asks for no password; the firmware wants both.
_NOBODY: Final = "xiaozhi"

# What EMQX is to subscribe every device to: our topic for it, written with EMQX's word for the client id.
AUTO_SUBSCRIBE_TOPIC: Final = downlink_topic("${clientid}")


class PortError(Exception):
    """A port cannot be opened."""

    def __init__(self, port: int, reason: str) -> None:
        """Say which port, and what the system says."""
        super().__init__(f"port {port}: {reason}")
        self.port = port
        self.reason = reason


class Listeners:
    """Opens and closes the ports, and writes the link settings of a check-in."""

    def __init__(
        self,
        settings: GatewaySettings,
        entry_id: str,
        *,
        admit: Callable[[Credentials, LinkKind], Admission | None],
        admit_from_broker: Callable[[str], Admission | None],
        devices: Callable[[], Iterable[str]],
        host_of: Callable[[str], str | None],
        broker_changed: Callable[[BrokerError | None], None],
    ) -> None:
        """Prepare the listeners.

        `entry_id` is the gateway's, which makes its name on a broker. `admit` decides on connections,
        `admit_from_broker` on MACs that a broker vouches for; `devices` are the MACs of devices that may be
        probed at any time, and `host_of` the host under which one of them last reached us.
        """
        self.settings = settings
        """May be replaced at any time; other ports are opened at the next start only."""
        self._host_of = host_of
        self._udp = UdpListener()
        self._websocket = WebSocketListener(
            lambda credentials: admit(credentials, LinkKind.WEBSOCKET), downlink=DOWNLINK
        )
        self._endpoint = MqttEndpoint(
            lambda credentials: admit(credentials, LinkKind.MQTT),
            audio=self._udp,
            downlink=DOWNLINK,
            address=self._address,
        )
        self._broker: BrokerConnection | None = None
        if settings.broker is not None:
            self._broker = BrokerConnection(
                settings.broker,
                admit_from_broker,
                gateway=sha256(entry_id.encode()).hexdigest()[:8],
                devices=devices,
                address=lambda mac: self._address(mac) or "",
                audio=self._udp,
                downlink=DOWNLINK,
                state_changed=broker_changed,
            )

    async def start(self) -> None:
        """Open all ports. Raises `PortError`, and then none is open."""
        port = self.settings.websocket_port
        try:
            await self._websocket.start(None, port)
            if self.settings.link is not OfferedLink.WEBSOCKET:
                port = self.settings.udp_port
                self._udp.start(None, port)
            if self.settings.link is OfferedLink.MQTT:
                port = self.settings.mqtt_port
                await self._endpoint.start(None, port)
            if self._broker is not None:
                self._broker.start()
        except OSError as err:
            await self.stop()
            raise PortError(port, err.strerror or str(err)) from err

    async def stop(self) -> None:
        """Close all links and ports."""
        stops = [self._websocket.stop(), self._endpoint.stop()]
        if self._broker is not None:
            stops.append(self._broker.stop())
        await close_all(*stops, patience=_STOP_SECONDS)
        self._udp.stop()

    def counters(self) -> dict[str, Any]:
        """Return what the listeners turned away, for diagnostics."""
        counters: dict[str, Any] = {
            "mqtt": asdict(self._endpoint.counters),
            "udp": asdict(self._udp.counters),
        }
        if self._broker is not None:
            problem = self._broker.problem
            counters["broker"] = asdict(self._broker.counters) | {
                "connected": self._broker.connected,
                "problem": problem and problem.problem,
            }
        return counters

    def kind_for(self, device: DeviceSettings, firmware: FirmwareVersion | None) -> LinkKind:
        """Return the kind of link that a device is to use."""
        if self.settings.link is OfferedLink.WEBSOCKET or device.link is DeviceLink.WEBSOCKET:
            return LinkKind.WEBSOCKET
        if device.link is DeviceLink.AUTOMATIC and firmware is not None and firmware < _FIRST_WITH_MQTT_PORT:
            return LinkKind.WEBSOCKET
        return LinkKind.MQTT

    def reply(self, device: DeviceSettings, kind: LinkKind, host: str, server_time: ServerTime) -> LinkReply:
        """Return the link settings for a device that reached us under `host`; with MQTT, of both links."""
        address = self.settings.address or host
        websocket = WebSocketReply(
            url=websocket_url(address, self.settings.websocket_port, WEBSOCKET_PATH),
            token=device.token,
            framing_version=_FRAMING_VERSION,
            server_time=server_time,
        )
        if kind is LinkKind.WEBSOCKET:
            return websocket
        endpoint, username, password = f"{address}:{self.settings.mqtt_port}", device.mac, device.token
        client_id = mqtt_client_id(device.mac)
        if (broker := self.settings.broker) is not None and self._broker is not None:
            endpoint = f"{_for_devices(broker.host, address)}:{broker.port}"
            username, password = broker.username or _NOBODY, broker.password or _NOBODY
            client_id = self._broker.address(device.mac).client_id
        return MqttReply(
            endpoint=endpoint,
            client_id=client_id,
            username=username,
            password=password,
            publish_topic=uplink_topic(client_id),
            keepalive=_KEEP_ALIVE,
            subscribe_topic=downlink_topic(client_id),
            websocket=websocket,
            server_time=server_time,
        )

    def expect(self, mac: str) -> None:
        """Note that a device has been told how to connect over MQTT, and will do so."""
        if self._broker is not None:
            self._broker.expect(mac)

    def web_origin(self, origin: str) -> str | None:
        """Return where our web server is for a device that checked in at `origin`; None for no URL."""
        try:
            url = URL(origin).origin()
            return str(url.with_host(self.settings.address) if self.settings.address else url)
        except ValueError:
            return None

    def _address(self, mac: str) -> str | None:
        return self.settings.address or self._host_of(mac)


def is_known_here_only(host: str) -> bool:
    """Whether a name or address means something on this computer only, and nothing to a device."""
    return bool(_ON_THIS_COMPUTER.fullmatch(host))


def _for_devices(broker: str, address: str) -> str:
    """Return a broker's host as devices reach it: what only this computer knows means this computer.

    The form refuses such a host, but was not always so strict.
    """
    return address if is_known_here_only(broker) else broker


def mqtt_client_id(mac: str) -> str:
    """Return the client id that a device is told to use at our own MQTT endpoint."""
    return mac.replace(":", "")
