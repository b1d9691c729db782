"""The ports on which devices reach the gateway, and its connection to the owner's broker."""

from collections.abc import Callable
from dataclasses import asdict, replace
import errno
from typing import Any, Final

from ..protocol.closing import close_all
from ..protocol.messages import AudioFormat
from ..protocol.transport.link import LinkKind
from ..protocol.transport.mqtt.broker_client import BrokerError
from ..protocol.transport.mqtt.broker_connection import BrokerConnection
from ..protocol.transport.mqtt.endpoint import MqttEndpoint
from ..protocol.transport.udp.listener import UdpListener
from ..protocol.transport.websocket.listener import WebSocketListener
from ..settings import GatewaySettings, OfferedLink
from ..timeouts import Timeouts
from .credentials import PairedDevices

# 137 of 148 boards play 24 kHz without resampling; with 60 ms, their queue of 40 packets holds 2.4 s.
DOWNLINK: Final = AudioFormat(sample_rate=24000, frame_duration=60)
# Longer than a listener gives each of its links.
_STOP_SECONDS: Final = 5
_PORT_ERRORS: Final = {
    errno.EADDRINUSE: "port_in_use",
    errno.EACCES: "port_not_allowed",
    errno.EPERM: "port_not_allowed",
}


class PortError(Exception):
    """A port cannot be opened."""

    def __init__(self, port: int, err: OSError) -> None:
        self.reason = err.strerror or str(err)
        super().__init__(f"port {port}: {self.reason}")
        self.port = port
        self.key = _PORT_ERRORS.get(err.errno or 0, "port_failed")
        """Among the `exceptions` of the translations."""


class Listeners:
    """The open ports and the connection to the broker."""

    def __init__(
        self,
        settings: GatewaySettings,
        paired: PairedDevices,
        broker_changed: Callable[[BrokerError | None], None],
        timeouts: Timeouts,
    ) -> None:
        self._settings = settings
        self._udp = UdpListener()
        self._websocket = WebSocketListener(
            lambda credentials: paired.admit(credentials, LinkKind.WEBSOCKET),
            downlink=DOWNLINK,
            timeouts=timeouts.websocket,
        )
        self._endpoint = MqttEndpoint(
            lambda credentials: paired.admit(credentials, LinkKind.MQTT),
            audio=self._udp,
            downlink=DOWNLINK,
            address=paired.address_for,
            timeouts=timeouts.mqtt,
        )
        self._broker: BrokerConnection | None = None
        if settings.broker is not None:
            self._broker = BrokerConnection(
                replace(settings.broker, timeouts=timeouts.broker),
                paired.admit_from_broker,
                gateway=settings.name,
                devices=paired.probed_macs,
                address=lambda mac: paired.address_for(mac) or "",
                audio=self._udp,
                downlink=DOWNLINK,
                state_changed=broker_changed,
            )

    async def start(self) -> None:
        """Open all ports; if one fails, close the others and raise `PortError`."""
        port = self._settings.websocket_port
        try:
            await self._websocket.start(None, port)
            if self._settings.link is not OfferedLink.WEBSOCKET:
                port = self._settings.udp_port
                self._udp.start(None, port)
            if self._settings.link is OfferedLink.MQTT:
                port = self._settings.mqtt_port
                await self._endpoint.start(None, port)
            if self._broker is not None:
                self._broker.start()
        except OSError as err:
            await self.stop()
            raise PortError(port, err) from err

    async def stop(self) -> None:
        """Close all links and ports."""
        stops = [self._websocket.stop(), self._endpoint.stop()]
        if self._broker is not None:
            stops.append(self._broker.stop())
        await close_all(*stops, patience=_STOP_SECONDS)
        self._udp.stop()

    def expect(self, mac: str) -> None:
        """Expect a device on the broker, after its check-in."""
        if self._broker is not None:
            self._broker.expect(mac)

    def counters(self) -> dict[str, Any]:
        """Return counters of what the listeners refused, for diagnostics."""
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
