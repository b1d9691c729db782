"""The ports on which devices reach the gateway, and its connection to the owner's broker."""

from dataclasses import asdict
import errno
from functools import partial
from importlib import import_module
import logging
from typing import TYPE_CHECKING, Any, Final

from homeassistant.config_entries import ConfigEntry
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import ConfigEntryNotReady

from ..const import DOMAIN
from ..protocol.transport.mqtt.mqtt_server import MqttServer
from ..protocol.transport.owner_broker.broker_settings import BROKER_MODULE, BrokerSettings
from ..protocol.transport.udp.udp_server import UdpServer
from ..protocol.transport.websocket.websocket_server import WebSocketServer
from ..settings import GatewaySettings, OfferedLink
from ..util.event_loop import close_all
from .admission import PairedDevices
from .problems import async_broker_changed

if TYPE_CHECKING:
    from ..protocol.transport.owner_broker.broker_connection import BrokerConnection

_LOGGER = logging.getLogger(__name__)

# Longer than a listener gives each of its links.
_STOP_SECONDS: Final = 5
_PORT_ERRORS: Final = {
    errno.EADDRINUSE: "port_in_use",
    errno.EACCES: "port_not_allowed",
    errno.EPERM: "port_not_allowed",
}


def port_error(port: int, err: OSError) -> ConfigEntryNotReady:
    """Return the error for the owner when a port cannot be opened."""
    _LOGGER.debug("Port %s cannot be opened: %s", port, err)
    return ConfigEntryNotReady(
        translation_domain=DOMAIN,
        translation_key=_PORT_ERRORS.get(err.errno or 0, "port_failed"),
        translation_placeholders={"port": str(port)},
    )


class Ports:
    """The open ports and the connection to the broker."""

    def __init__(
        self, hass: HomeAssistant, entry: ConfigEntry[Any], settings: GatewaySettings, paired: PairedDevices
    ) -> None:
        self._entry = entry
        self._settings = settings
        self._udp = UdpServer()
        self._websocket = WebSocketServer(paired)
        self._endpoint = MqttServer(paired, audio=self._udp)
        self._hass = hass
        self._paired = paired
        self._broker: BrokerConnection | None = None

    async def start(self) -> None:
        """Open all ports; if one fails, close the others and raise `ConfigEntryNotReady`."""
        port = self._settings.websocket_port
        try:
            await self._websocket.start(None, port)
            if self._settings.link is not OfferedLink.WEBSOCKET:
                port = self._settings.udp_port
                self._udp.start(None, port)
            if self._settings.link is OfferedLink.MQTT:
                port = self._settings.mqtt_port
                await self._endpoint.start(None, port)
            if self._settings.broker is not None:
                self._broker = await self._broker_connection(self._settings.broker)
                self._broker.start()
        except OSError as err:
            await self.stop()
            raise port_error(port, err) from err

    async def _broker_connection(self, broker: BrokerSettings) -> BrokerConnection:
        # The library takes 90 ms to import, and most owners have no broker for their devices.
        await self._hass.async_add_import_executor_job(import_module, BROKER_MODULE)
        from ..protocol.transport.owner_broker.broker_connection import BrokerConnection  # noqa: PLC0415

        return BrokerConnection(
            broker,
            self._paired,
            gateway=self._settings.name,
            audio=self._udp,
            state_changed=partial(async_broker_changed, self._hass, self._entry),
        )

    async def stop(self) -> None:
        """Close all links and ports."""
        stops = [self._websocket.stop(), self._endpoint.stop()]
        if self._broker is not None:
            stops.append(self._broker.stop())
        try:
            await close_all(*stops, patience=_STOP_SECONDS)
        finally:
            # The caller may give up before.
            self._udp.stop()

    def expect(self, mac: str) -> None:
        """Expect a device on the broker, after its check-in."""
        if self._broker is not None:
            self._broker.expect(mac)

    def counters(self) -> dict[str, Any]:
        """Return counters of what the ports refused, for diagnostics."""
        counters: dict[str, Any] = {"udp": asdict(self._udp.counters)}
        if self._broker is not None:
            problem = self._broker.problem
            counters["broker"] = asdict(self._broker.counters) | {
                "connected": self._broker.connected,
                "problem": problem and problem.problem,
            }
        return counters
