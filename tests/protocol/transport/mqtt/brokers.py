"""Brokers for tests: a real Mosquitto, and one that pushes to devices which never subscribe."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from fnmatch import fnmatchcase
import getpass
import os
from pathlib import Path
import shutil
from typing import Self

import pytest

from custom_components.xiaozhi.protocol.timeouts import BrokerTimeouts
from custom_components.xiaozhi.protocol.transport.link import LinkClosedError
from custom_components.xiaozhi.protocol.transport.mqtt import mqtt_packets as mqtt
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_connection import MqttConnection
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_link import downlink_topic
from demo.processes import free_port

REAL_BROKER = [
    pytest.mark.real_time,
    pytest.mark.usefixtures("socket_enabled"),
    # Of another process, on a busy machine.
    pytest.mark.timeouts(BrokerTimeouts, answer=60, push=60),
]
"""Marks of tests with a broker in a process of its own."""

_PATH = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin"))


def command(name: str) -> str:
    """Return the path of a command of Mosquitto; skip the test where it is not installed."""
    if (path := shutil.which(name, path=_PATH)) is None:
        pytest.skip(f"{name} is not installed (Debian packages mosquitto and mosquitto-clients)")
    return path


class Mosquitto:
    """A Mosquitto on loopback with its own configuration. It can be killed and started again."""

    def __init__(self, folder: Path, port: int, *lines: str) -> None:
        """Prepare it; `lines` are added to its configuration."""
        self.port = port
        self._program = command("mosquitto")
        self._config = folder / "mosquitto.conf"
        settings = [f"listener {port} 127.0.0.1", "persistence false", f"user {getpass.getuser()}", *lines]
        self._config.write_text("\n".join(settings) + "\n")
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Self:
        self._process = await asyncio.create_subprocess_exec(
            self._program,
            "-c",
            str(self._config),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        async with asyncio.timeout(60):
            while True:
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                    writer.close()
                    return self
                await asyncio.sleep(0.01)

    async def stop(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.kill()
            await process.wait()


@asynccontextmanager
async def mosquitto(folder: Path, *lines: str) -> AsyncGenerator[Mosquitto]:
    broker = Mosquitto(folder, free_port(), *lines)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()


@asynccontextmanager
async def answering(answer: bytes | None) -> AsyncGenerator[int]:
    """Listen as something that is no broker: it answers once, or closes at once."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if answer is not None:
            writer.write(answer)
            with suppress(ConnectionError):
                await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
        server.abort_clients()


class PushingBroker:
    """Subscribes each client to the topic of its client id when it connects, as EMQX can be configured to.

    No more of a broker than the tests need: QoS 0, filters with `+` only.
    """

    def __init__(self) -> None:
        self.kicking = self.kicks_at_once = False
        """Whether those that subscribe are disconnected, after an answer or before."""
        self.kicks = 0
        self.grants = True
        """Whether subscriptions are granted."""
        self.delivers = True
        """Whether anybody gets what devices say: nobody without the right to read it."""
        self.pushes = True
        """Whether it subscribes clients; an ordinary broker does not."""
        self._filters: dict[asyncio.StreamWriter, set[str]] = {}
        self.port = 0
        """The same after it was stopped and is started again."""
        self._server: asyncio.Server | None = None

    async def start(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self._server.abort_clients()
        await self._server.wait_closed()

    @property
    def clients(self) -> int:
        """Number of those that are connected."""
        return len(self._filters)

    def send(self, packet: bytes) -> None:
        """Send the same bytes to all clients."""
        for writer in self._filters:
            writer.write(packet)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._filters[writer] = set()
        connection = MqttConnection(reader, writer)
        with suppress(LinkClosedError):
            while True:
                # The clock of the client's pings is a real one.
                self._handle(writer, await connection.read(86400))
        del self._filters[writer]
        writer.close()

    def _handle(self, writer: asyncio.StreamWriter, packet: mqtt.Packet) -> None:
        match packet:
            case mqtt.Connect(client_id=client_id):
                writer.write(mqtt.ACCEPTED)
                if self.pushes:
                    self._filters[writer].add(downlink_topic(client_id))
            case mqtt.Subscribe() if self.kicks_at_once:
                writer.close()
            case mqtt.Subscribe(packet_id=packet_id, filters=filters):
                self._filters[writer].update(filters)
                codes = bytes(0 if self.grants else mqtt.SUBSCRIBE_FAILED for _ in filters)
                writer.write(mqtt.suback(packet_id, codes))
                if self.kicking:
                    self.kicks += 1
                    writer.close()
            case mqtt.Signal.PING:
                writer.write(mqtt.PINGRESP)
            case mqtt.Publish(topic=topic) if topic.endswith("/up") and not self.delivers:
                pass
            case mqtt.Publish(topic=topic, payload=payload):
                for other, filters in self._filters.items():
                    if any(fnmatchcase(topic, name.replace("+", "*")) for name in filters):
                        other.write(mqtt.publish(topic, payload))


ANONYMOUS = "allow_anonymous true"
