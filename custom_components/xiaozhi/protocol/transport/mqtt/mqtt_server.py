"""An MQTT 3.1.1 endpoint for devices, on a port of its own.

Stock firmware never subscribes, so an ordinary broker delivers nothing to it. But it accepts every PUBLISH on
its connection, whatever the topic, and this endpoint sends those. It is not a broker: clients cannot reach
each other. Source: the firmware's `main/protocols/mqtt_protocol.cc`.
"""

import asyncio
import logging
import socket
from typing import Final, cast

from ....util.event_loop import close_all, loop_time
from ....util.limits import FloodError, PendingConnections, TokenBucket
from ...checkin import parse_mac
from ...timeouts import MqttTimeouts
from ..link import Admission, Credentials, KnownDevices, LinkClosedError, LinkKind
from ..local_network import is_local
from ..udp.udp_server import UdpServer
from . import mqtt_packets as mqtt
from .mqtt_connection import READ_BYTES, MqttConnection
from .mqtt_link import MqttLink, downlink_topic, uplink_topic
from .mqtt_packets import Connect, MqttProtocolError, Packet, PacketTooLongError, Publish, Signal, Subscribe

_LOGGER = logging.getLogger(__name__)

# Connections without a valid CONNECT yet.
_MAX_PENDING: Final = 256
_STOPPING: Final = "the server is stopping"
# Keep-alive time of a client without one, in seconds; the standard allows disconnecting it (3.1.2.10).
_USUAL_KEEP_ALIVE: Final = 60


class MqttServer:
    """Lets devices connect by MQTT, and runs an `MqttLink` for each."""

    def __init__(self, paired: KnownDevices, *, audio: UdpServer) -> None:
        """Prepare an endpoint. Without an address, `audio` has that of the device's connection."""
        self._paired = paired
        self._audio = audio
        self._pending = PendingConnections[asyncio.Task[None]](_MAX_PENDING)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._links: set[MqttLink] = set()

    async def start(self, host: str | None, port: int) -> None:
        """Listen on `port` of an IPv4 address, or of all for None. Raises `OSError`."""
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
        connection = MqttConnection(reader, writer)
        if not is_local(connection.remote):
            _LOGGER.debug("Connection from %s refused: not in the home network", connection.remote)
            connection.abort()
            return
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._tasks.add(task)
        try:
            if (displaced := self._pending.enter(task, connection.remote)) is not None:
                displaced.cancel()
            connect = await connection.read_connect()
            if (known := self._identify(connect, connection.remote)) is None:
                await asyncio.sleep(MqttTimeouts.refusal)
                connection.write(mqtt.NOT_AUTHORIZED)
                return
            self._pending.let_in(task)
            await self._run_link(connection, *known, connect.keep_alive)
        except (LinkClosedError, MqttProtocolError, FloodError) as err:
            _LOGGER.debug("Connection from %s ended: %s", connection.remote, err)
        except Exception:
            _LOGGER.exception("Unexpected error on the connection from %s", connection.remote)
        finally:
            self._pending.leave(task)
            await connection.close()
            self._tasks.discard(task)

    def _identify(self, connect: Connect, remote: str) -> tuple[str, Admission] | None:
        if (mac := parse_mac(connect.username)) is None:
            return None
        token = connect.password.decode(errors="replace")
        credentials = Credentials(mac=mac, client_id=connect.client_id, token=token, remote=remote)
        admission = self._paired.admit(credentials, LinkKind.MQTT)
        return None if admission is None else (mac, admission)

    async def _run_link(
        self, connection: MqttConnection, mac: str, admission: Admission, keep_alive: int
    ) -> None:
        connection.settle(downlink_topic(mac))
        link = MqttLink(
            connection, audio=self._audio, address=self._paired.address_for(mac) or connection.local
        )
        link.attach(admission)
        self._links.add(link)
        reason = _STOPPING
        try:
            await self._talk(connection, link, mac, keep_alive)
            reason = "the device disconnected"
        except PacketTooLongError as err:
            link.message_too_long()
            reason = str(err)
            raise
        except (LinkClosedError, MqttProtocolError, FloodError) as err:
            reason = str(err)
            raise
        finally:
            link.ended(reason)
            self._links.discard(link)

    async def _talk(self, connection: MqttConnection, link: MqttLink, mac: str, keep_alive: int) -> None:
        budget = TokenBucket(rate=100, burst=200)
        patience = (keep_alive or _USUAL_KEEP_ALIVE) * MqttTimeouts.keep_alive_factor
        while (packet := await connection.read(patience)) is not Signal.DISCONNECT:
            if not budget.take(loop_time()):
                raise FloodError("more than 100 MQTT packets a second")
            await _answer(packet, connection, link, mac)
            await connection.drain()
            # Buffered packets come without a pause, and must not block the loop.
            await asyncio.sleep(0)


async def _answer(packet: Packet, connection: MqttConnection, link: MqttLink, mac: str) -> None:
    match packet:
        case Publish(topic, payload, packet_id):
            if packet_id is not None:
                connection.write(mqtt.puback(packet_id))
            # Messages to other topics reach nobody.
            if topic == uplink_topic(mac):
                await link.receive(payload)
        case Subscribe(packet_id, filters):
            own = downlink_topic(mac)
            codes = bytes(0 if name == own else mqtt.SUBSCRIBE_FAILED for name in filters)
            connection.write(mqtt.suback(packet_id, codes))
        case Signal.PING:
            connection.write(mqtt.PINGRESP)
        case Connect():
            raise MqttProtocolError("a second CONNECT")
