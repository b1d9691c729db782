"""A small MQTT and UDP server for the simulated device, on raw sockets."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
import json
from typing import Any, Self, override

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from tests.protocol.transport.mqtt.wire import packet, string
from tests.simulator.fake_server import Http, Json, Watched

PUBLISH, SUBSCRIBE = 3, 8
KEY = bytes(range(16))
NONCE = bytes.fromhex("01a5" + "0000" + "c0ffee42" + "00000000" + "00000000")


@dataclass(frozen=True)
class Packet:
    """An MQTT packet of the device."""

    kind: int
    body: bytes

    @property
    def text(self) -> str:
        """What is published, without its topic."""
        return self.body[2 + int.from_bytes(self.body[:2]) :].decode()


class Session(Watched):
    """One MQTT connection of a device."""

    def __init__(
        self, server: MqttServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.received: list[Packet] = []
        self.closed = False
        self._server = server
        self._reader = reader
        self._writer = writer

    async def run(self) -> None:
        with suppress(EOFError, ConnectionError):
            while True:
                await self._receive()
                self.notify()
        self.closed = True
        self.notify()
        self._writer.close()

    async def _receive(self) -> None:
        kind = (await self._reader.readexactly(1))[0] >> 4
        length = 0
        for shift in (0, 7, 14, 21):
            byte = (await self._reader.readexactly(1))[0]
            length |= (byte & 127) << shift
            if byte < 128:
                break
        self.received.append(Packet(kind, await self._reader.readexactly(length)))
        match self.received[-1]:
            case Packet(kind=1):
                self._writer.write(b"\x20\2\0\0")
            case Packet(kind=12):
                self._writer.write(b"\xd0\x00")
            case Packet(kind=3) as message if '"type":"hello"' in message.text and self._server.hello:
                await self.send(self._server.hello)

    def of(self, kind: int) -> list[Packet]:
        return [packet for packet in self.received if packet.kind == kind]

    @property
    def texts(self) -> list[str]:
        return [packet.text for packet in self.of(PUBLISH)]

    @property
    def packets(self) -> list[bytes]:
        return self._server.audio.datagrams

    async def send(self, message: Json | str) -> None:
        text = json.dumps(message) if isinstance(message, dict) else message
        self._writer.write(packet(0x30, string("wherever") + text.encode()))

    async def play(self, packet: bytes) -> None:
        """Send an audio packet."""
        await self._server.audio.until(lambda: self.packets)
        self._server.audio.send(self._server.audio.seal(packet))

    def abort(self) -> None:
        self._writer.transport.abort()


class Audio(asyncio.DatagramProtocol, Watched):
    """The server's UDP socket."""

    transport: asyncio.DatagramTransport

    def __init__(self) -> None:
        self.datagrams: list[bytes] = []
        self.sources: list[tuple[str | Any, int]] = []
        self._sent = 0

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self.datagrams.append(data)
        self.sources.append(addr)
        self.notify()

    def seal(self, payload: bytes, sequence: int | None = None) -> bytes:
        """Return the next datagram for the device, or that of another number."""
        if sequence is None:
            sequence = self._sent = self._sent + 1
        header = b"\1\0" + len(payload).to_bytes(2) + bytes(8) + sequence.to_bytes(4)
        cipher = Cipher(algorithms.AES(KEY), modes.CTR(header))
        return header + cipher.encryptor().update(payload)

    def send(self, datagram: bytes) -> None:
        """Send to where the device's last datagram came from."""
        self.transport.sendto(datagram, self.sources[-1])


@dataclass
class MqttServer(Watched):
    """Check-ins, MQTT and UDP."""

    http: Http
    audio: Audio
    hello: Json | None
    """Answer to the device's hello; None for none."""
    sessions: list[Session] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def serving(cls) -> AsyncIterator[Self]:
        loop = asyncio.get_running_loop()
        transport, audio = await loop.create_datagram_endpoint(Audio, local_addr=("127.0.0.1", 0))
        audio.transport = transport
        udp = {"server": "127.0.0.1", "port": transport.get_extra_info("sockname")[1]}
        hello: Json = {"type": "hello", "transport": "udp", "session_id": "session-1"}
        hello["audio_params"] = {"format": "opus", "sample_rate": 24000, "channels": 1, "frame_duration": 60}
        hello["udp"] = udp | {"key": KEY.hex(), "nonce": NONCE.hex()}
        async with Http.serving({}) as http:
            server = cls(http, audio, hello)
            listener = await asyncio.start_server(server._serve, "127.0.0.1", 0)
            settings = {"endpoint": f"127.0.0.1:{listener.sockets[0].getsockname()[1]}", "keepalive": 60}
            settings |= {"client_id": "box-1", "username": "box", "password": "secret"}
            http.replies = deque([{"mqtt": settings | {"publish_topic": "from/box"}}])
            try:
                yield server
            finally:
                listener.close()
                for session in server.sessions:
                    session.abort()
                transport.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self, reader, writer)
        self.sessions.append(session)
        self.notify()
        await session.run()

    async def session(self, number: int = 1) -> Session:
        """Return the connection of that number."""
        await self.until(lambda: len(self.sessions) >= number)
        return self.sessions[number - 1]
