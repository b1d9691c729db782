"""MQTT 3.1.1 as the firmware's client speaks it.

Source: `esp_mqtt.cc` of the firmware's network component, and ESP-IDF's `mqtt_client.c` below it: clean
session, no will, no subscriptions, QoS 0. It reconnects by itself.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
import ssl
from typing import Any, Final, Protocol

from ..board.pace import Pace
from .misbehave import FaultInjector, Misbehaviour
from .network import Connection, Network

TLS_PORT: Final = 8883
_NETWORK_TIMEOUT: Final = 10.0
_RECONNECT_SECONDS: Final = 10.0
# ESP-IDF uses this for a keep-alive of 0.
_DEFAULT_KEEP_ALIVE: Final = 120

_CONNECT: Final = 0x10
_CONNACK: Final = 0x20
_PUBLISH: Final = 0x30
_PUBACK: Final = 0x40
_PUBREC: Final = 0x50
_PUBCOMP: Final = 0x70
_PINGREQ: Final = b"\xc0\x00"
_DISCONNECT: Final = b"\xe0\x00"


@dataclass(frozen=True, slots=True, kw_only=True)
class MqttSettings:
    """Address and credentials."""

    host: str
    port: int
    """TLS if and only if it is 8883."""
    client_id: str
    username: str
    password: str
    keepalive: int
    """Seconds."""


class MqttListener(Protocol):
    """Receives the events of the connection, on the network task."""

    def mqtt_connected(self) -> None:
        """The server accepted the device."""

    def mqtt_disconnected(self, reason: str) -> None:
        """The connection ended, or could not be made."""

    def mqtt_message(self, payload: bytes) -> None:
        """A message arrived, whatever its topic."""


class _Refused(Exception):  # noqa: N818 - an answer of the server
    """The server refused the device."""


class MqttClient:
    """Keeps a connection to a server until it is stopped."""

    def __init__(
        self,
        settings: MqttSettings,
        pace: Pace,
        network: Network,
        listener: MqttListener,
        *,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        faults: FaultInjector,
        notices_reconnection: bool = True,
    ) -> None:
        """`spawn` starts tasks that end with the device.

        A client that does not notice its own reconnection can only receive afterwards.
        """
        self.connected = False
        """Whether the client believes that it can send."""
        self._notices_reconnection = notices_reconnection
        self._was_connected = False
        self._settings = settings
        self._pace = pace
        self._network = network
        self._listener = listener
        self._spawn = spawn
        self._faults = faults
        self._connection: Connection | None = None
        self._settled = asyncio.Event()
        self._pong = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def connect(self) -> bool:
        """Start, and return whether the first attempt succeeded; the client keeps trying in any case."""
        self._tasks = [self._spawn(self._run())]
        try:
            async with self._pace.timeout(_NETWORK_TIMEOUT):
                await self._settled.wait()
        except TimeoutError:
            return False
        return self.connected

    async def publish(self, topic: str, payload: bytes) -> bool:
        """Publish with QoS 0, not retained; False without a connection, or if it breaks."""
        connection = self._connection
        if not self.connected or connection is None:
            return False
        connection.write(publish_packet(topic, payload))
        try:
            async with self._pace.timeout(_NETWORK_TIMEOUT):
                await connection.drain()
        except TimeoutError:
            connection.abort()
            return False
        return True

    def stop_reading(self) -> None:
        """Read nothing more from the connection."""
        if self._connection is not None:
            self._connection.stop_reading()

    def lose_connection(self) -> None:
        """Break the connection; the client notices at once."""
        if self._connection is not None:
            self._connection.abort()

    def stop(self, *, politely: bool) -> None:
        """Stop; `politely` sends a DISCONNECT first."""
        for task in self._tasks:
            task.cancel()
        self._tasks.clear()
        connection, self._connection = self._connection, None
        if connection is not None:
            if politely and self.connected:
                connection.write(_DISCONNECT)
                connection.close()
            else:
                connection.abort()
        self.connected = False

    async def _run(self) -> None:
        while True:
            reason = "the server has closed the connection"
            try:
                async with self._pace.timeout(_NETWORK_TIMEOUT):
                    connection = await self._connect()
                await self._serve(connection)
            except EOFError:
                pass
            except TimeoutError:
                reason = "no answer"
            except (OSError, ValueError, _Refused) as err:
                reason = str(err)
            self._lost(reason)
            await asyncio.sleep(_RECONNECT_SECONDS)

    def _lost(self, reason: str) -> None:
        while len(self._tasks) > 1:
            self._tasks.pop().cancel()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()
        self.connected = False
        self._settled.set()
        self._listener.mqtt_disconnected(reason)

    async def _connect(self) -> Connection:
        """Connect and log in. Raises `OSError`, `EOFError`, `ValueError` and `_Refused`."""
        settings = self._settings
        tls = ssl.create_default_context() if settings.port == TLS_PORT else None
        connection = await self._network.connect(settings.host, settings.port, tls)
        self._connection = connection
        connection.write(self._connect_packet())
        first, body = await read_packet(connection.reader)
        if first != _CONNACK or len(body) != 2:
            raise _Refused("the answer is not a CONNACK")
        if body[1]:
            raise _Refused(f"the server refuses with code {body[1]}")
        return connection

    def _connect_packet(self) -> bytes:
        settings = self._settings
        flags = 0x02
        payload = mqtt_string(settings.client_id)
        if settings.username:
            flags |= 0x80
            payload += mqtt_string(settings.username)
        if password := self._faults.password(settings.password):
            flags |= 0x40
            payload += mqtt_string(password)
        keepalive = settings.keepalive or _DEFAULT_KEEP_ALIVE
        header = mqtt_string("MQTT") + bytes((4, flags)) + (keepalive & 0xFFFF).to_bytes(2)
        return packet(_CONNECT, header + payload)

    async def _serve(self, connection: Connection) -> None:
        """Receive until the connection ends. Raises `OSError`, `EOFError` and `ValueError`."""
        self.connected = self._notices_reconnection or not self._was_connected
        self._was_connected = True
        self._settled.set()
        self._listener.mqtt_connected()
        connection.write(self._faults.after_connect())
        if Misbehaviour.NEVER_PING not in self._faults.what:
            self._tasks.append(self._spawn(self._keep_alive(connection)))
        while True:
            first, body = await read_packet(connection.reader)
            self._received(connection, first, body)

    async def _keep_alive(self, connection: Connection) -> None:
        """Ping at half the keep-alive; give up if no answer comes within the other half."""
        half = (self._settings.keepalive or _DEFAULT_KEEP_ALIVE) / 2
        while True:
            await asyncio.sleep(half * self._pace.timeouts)
            self._pong.clear()
            connection.write(_PINGREQ)
            if Misbehaviour.STOP_READING in self._faults.what:
                continue
            try:
                async with self._pace.timeout(half):
                    await self._pong.wait()
            except TimeoutError:
                connection.abort()
                return

    def _received(self, connection: Connection, first: int, body: bytes) -> None:
        match first & 0xF0:
            case 0x30:
                topic_end = 2 + int.from_bytes(body[:2])
                qos = first >> 1 & 3
                start = topic_end + (2 if qos else 0)
                if len(body) < start:
                    raise ValueError("a PUBLISH is incomplete")
                if qos:
                    answer = _PUBACK if qos == 1 else _PUBREC
                    connection.write(packet(answer, body[topic_end:start]))
                self._listener.mqtt_message(body[start:])
            case 0x60:
                connection.write(packet(_PUBCOMP, body[:2]))
            case 0xD0:
                self._pong.set()


def publish_packet(topic: str, payload: bytes) -> bytes:
    """Return a PUBLISH of QoS 0."""
    return packet(_PUBLISH, mqtt_string(topic) + payload)


def packet(first: int, body: bytes) -> bytes:
    """Return a packet with its length, by its first byte and what follows the length."""
    length, remaining = bytearray(), len(body)
    while True:
        remaining, digit = divmod(remaining, 128)
        length.append(digit | (0x80 if remaining else 0))
        if not remaining:
            return bytes((first,)) + length + body


def mqtt_string(text: str | bytes) -> bytes:
    """Return a text, or bytes, with the length."""
    data = text.encode() if isinstance(text, str) else text
    return len(data).to_bytes(2) + data


async def read_packet(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return first byte and body. Raises `EOFError`, and `ValueError` for an invalid length."""
    first = (await reader.readexactly(1))[0]
    length = 0
    for shift in (0, 7, 14, 21):
        byte = (await reader.readexactly(1))[0]
        length |= (byte & 0x7F) << shift
        if byte < 0x80:
            return first, await reader.readexactly(length)
    raise ValueError("a length is longer than four bytes")
