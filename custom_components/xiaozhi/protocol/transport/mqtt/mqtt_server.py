"""An MQTT 3.1.1 endpoint for devices, on a port of its own.

Stock firmware never subscribes, so an ordinary broker delivers nothing to it. But it accepts every PUBLISH on
its connection, whatever the topic, and this endpoint sends those. It is not a broker: clients cannot reach
each other. Source: the firmware's `main/protocols/mqtt_protocol.cc`.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
import logging
import socket
from typing import Final, NamedTuple, cast

from ...checkin import parse_mac
from ...limits import FloodError, PendingConnections, TokenBucket
from ...tasks import close_all
from ...timeouts import MqttTimeouts
from ..link import Admission, Credentials, LinkClosedError
from ..local_network import is_local
from ..udp.udp_server import UdpServer
from . import mqtt_packets as mqtt
from .mqtt_connection import READ_BYTES, MqttConnection
from .mqtt_link import Carrier, MqttLink, downlink_topic, uplink_topic
from .mqtt_packets import Connect, ConnectCode, MqttProtocolError, Packet, UnsupportedProtocolError

_LOGGER = logging.getLogger(__name__)

# Connections without a valid CONNECT yet.
_MAX_PENDING: Final = 256
_STOPPING: Final = "the server is stopping"
# Of a client that promises none, in seconds; the standard allows to disconnect it (3.1.2.10).
_USUAL_KEEP_ALIVE: Final = 60


@dataclass(slots=True)
class MqttServerCounters:
    """What the endpoint refused, for diagnostics."""

    refused: int = 0
    """Clients with wrong credentials."""
    not_local: int = 0
    """Connections from outside the home network."""
    crowded_out: int = 0
    """Unauthenticated connections that were displaced by others."""
    violations: int = 0
    """Connections ended because of invalid data or a flood."""
    foreign_topics: int = 0
    """Messages dropped because their topic is not the client's own."""


class MqttServer:
    """Lets devices connect by MQTT, and runs an `MqttLink` for each."""

    def __init__(
        self,
        authenticate: Callable[[Credentials], Admission | None],
        *,
        audio: UdpServer,
        address: Callable[[str], str | None] | None = None,
        timeouts: MqttTimeouts | None = None,
        admits: Callable[[str], bool] = is_local,
    ) -> None:
        """Prepare an endpoint.

        `authenticate` decides on every connection, and compares the token in constant time; its client id is
        that of MQTT. `address` returns for a MAC the host
        name or IPv4 address under which the device reaches `audio`; without it, or for None, devices use the
        IP address of their connection. `admits` returns whether an IP address may connect.
        """
        self.counters = MqttServerCounters()
        self._authenticate = authenticate
        self._admits = admits
        self._audio = audio
        self._address = address or (lambda _mac: None)
        self._timeouts = timeouts or MqttTimeouts()
        self._pending = PendingConnections[asyncio.Task[None]](_MAX_PENDING)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._links: set[MqttLink] = set()

    @property
    def port(self) -> int:
        """The open port. Raises `RuntimeError` if none is open."""
        if self._server is None:
            raise RuntimeError("the endpoint is not started")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self, host: str | None, port: int) -> None:
        """Listen on `port` of an IPv4 address, or of all for None. Raises `OSError`."""
        self._pending = PendingConnections[asyncio.Task[None]](_MAX_PENDING)
        self._server = await asyncio.start_server(
            self._serve,
            host or "0.0.0.0",  # noqa: S104
            port,
            family=socket.AF_INET,
            limit=READ_BYTES,
        )

    async def stop(self) -> None:
        """Close the port and all links. Does nothing when not started."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        for connection in self._pending.close():
            connection.cancel()
        await close_all(*(link.close(_STOPPING) for link in tuple(self._links)))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = MqttConnection(reader, writer, self._timeouts)
        if not self._admits(connection.remote):
            self.counters.not_local += 1
            connection.abort()
            return
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._tasks.add(task)
        try:
            if (displaced := self._pending.enter(task, connection.remote)) is not None:
                self.counters.crowded_out += 1
                displaced.cancel()
            if (identity := await self._identify(connection)) is not None:
                self._pending.let_in(task)
                await self._run_link(connection, identity)
        except LinkClosedError as err:
            _LOGGER.debug("Connection from %s is over: %s", connection.remote, err)
        except (MqttProtocolError, FloodError) as err:
            self.counters.violations += 1
            _LOGGER.debug("Connection from %s ended: %s", connection.remote, err)
        except Exception:
            _LOGGER.exception("Unexpected error on the connection from %s", connection.remote)
        finally:
            self._pending.leave(task)
            await connection.close()
            self._tasks.discard(task)

    async def _identify(self, connection: MqttConnection) -> _Identity | None:
        try:
            packet = await connection.read(self._timeouts.connect)
        except UnsupportedProtocolError:
            connection.write(mqtt.connack(ConnectCode.UNACCEPTABLE_PROTOCOL))
            raise
        if not isinstance(packet, Connect):
            raise MqttProtocolError("the first packet is not a CONNECT")
        identity = self._check(packet, connection.remote)
        if isinstance(identity, ConnectCode):
            self.counters.refused += 1
            await asyncio.sleep(self._timeouts.refusal)
            connection.write(mqtt.connack(identity))
            return None
        return identity

    def _check(self, connect: Connect, remote: str) -> _Identity | ConnectCode:
        mac = parse_mac(connect.username or "")
        token = (connect.password or b"").decode(errors="replace")
        if mac is None or not token:
            return ConnectCode.BAD_CREDENTIALS
        if not connect.client_id:
            return ConnectCode.IDENTIFIER_REJECTED
        credentials = Credentials(mac=mac, client_id=connect.client_id, token=token, remote=remote)
        if (admission := self._authenticate(credentials)) is None:
            return ConnectCode.NOT_AUTHORIZED
        return _Identity(mac, connect.keep_alive, admission)

    async def _run_link(self, connection: MqttConnection, identity: _Identity) -> None:
        mac = identity.mac
        connection.settle(downlink_topic(mac))
        carrier = Carrier(
            publish=connection.publish,
            disconnect=connection.disconnect,
            remote=connection.remote,
            notices_loss=True,
        )
        link = MqttLink(
            carrier,
            identity.admission,
            audio=self._audio,
            address=self._address(mac) or connection.local,
        )
        self._links.add(link)
        reason = _STOPPING
        try:
            await self._talk(_Client(connection, link, mac), identity.keep_alive)
            reason = "the device disconnected"
        except (LinkClosedError, MqttProtocolError, FloodError) as err:
            reason = str(err)
            raise
        finally:
            link.ended(reason)
            self._links.discard(link)

    async def _talk(self, client: _Client, keep_alive: int) -> None:
        """Answer packets until the client disconnects."""
        loop = asyncio.get_running_loop()
        budget = TokenBucket(rate=100, burst=200)
        patience = (keep_alive or _USUAL_KEEP_ALIVE) * self._timeouts.keep_alive_factor
        while not isinstance(packet := await client.connection.read(patience), mqtt.Disconnect):
            if not budget.take(loop.time()):
                raise FloodError("more than 100 MQTT packets a second")
            await self._answer(client, packet)
            await client.connection.drain()
            # Buffered packets come without a pause, and must not block the loop.
            await asyncio.sleep(0)

    async def _answer(self, client: _Client, packet: Packet) -> None:
        write = client.connection.write
        match packet:
            case mqtt.Publish():
                await self._published(client, packet)
            case mqtt.Subscribe(packet_id=packet_id, filters=filters):
                own = downlink_topic(client.mac)
                codes = bytes(0 if name == own else mqtt.SUBSCRIBE_FAILED for name in filters)
                write(mqtt.suback(packet_id, codes))
            case mqtt.PingRequest():
                write(mqtt.PINGRESP)
            case Connect():
                raise MqttProtocolError("a second CONNECT")

    async def _published(self, client: _Client, message: mqtt.Publish) -> None:
        if message.qos > 1:
            raise MqttProtocolError("QoS 2 is not offered")
        if message.topic != uplink_topic(client.mac):
            self.counters.foreign_topics += 1
        else:
            await client.link.receive(message.payload)
        if message.packet_id is not None:
            client.connection.write(mqtt.puback(message.packet_id))


class _Identity(NamedTuple):
    """Identity of a client."""

    mac: str
    keep_alive: int
    admission: Admission


class _Client(NamedTuple):
    """A device that is connected."""

    connection: MqttConnection
    link: MqttLink
    mac: str
