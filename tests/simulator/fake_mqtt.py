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

CONNECT, PUBLISH, SUBSCRIBE, DISCONNECT = 1, 3, 8, 14
KEY = bytes(range(16))
NONCE = bytes.fromhex("01a5" + "0000" + "c0ffee42" + "00000000" + "00000000")


def ctr(key: bytes, header: bytes, data: bytes) -> bytes:
    """AES-CTR built from AES-ECB: block by block, the header plus the block number is encrypted."""
    block = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    counter, stream = int.from_bytes(header), b""
    while len(stream) < len(data):
        stream += block.update((counter % 2**128).to_bytes(16))
        counter += 1
    return bytes(one ^ other for one, other in zip(data, stream, strict=False))


@dataclass(frozen=True)
class Packet:
    """An MQTT packet of the device."""

    kind: int
    flags: int
    body: bytes

    @property
    def topic(self) -> str:
        return self.body[2 : 2 + int.from_bytes(self.body[:2])].decode()

    @property
    def text(self) -> str:
        return self.body[2 + int.from_bytes(self.body[:2]) :].decode()


class Session(Watched):
    """One MQTT connection of a device."""

    def __init__(
        self, server: MqttServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        super().__init__()
        self.packets: list[Packet] = []
        self.closed = False
        self.pending = 0
        """Bytes of the body that is being read."""
        self._server = server
        self._reader = reader
        self.writer = writer

    async def run(self) -> None:
        with suppress(EOFError, ConnectionError):
            while True:
                await self._receive()
                self._news.set()
        self.closed = True
        self._news.set()
        self.writer.close()

    async def _receive(self) -> None:
        first = (await self._reader.readexactly(1))[0]
        length = 0
        for shift in (0, 7, 14, 21):
            byte = (await self._reader.readexactly(1))[0]
            length |= (byte & 127) << shift
            if byte < 128:
                break
        self.pending = length
        self._news.set()
        self.packets.append(Packet(first >> 4, first & 15, await self._reader.readexactly(length)))
        self.pending = 0
        match self.packets[-1]:
            case Packet(kind=1):
                self.writer.write(b"\x20\2\0\0")
            case Packet(kind=12):
                self.writer.write(b"\xd0\x00")
            case Packet(kind=3) as message if '"type":"hello"' in message.text:
                for answer in self._server.hellos:
                    self.send(answer)

    def of(self, kind: int) -> list[Packet]:
        return [packet for packet in self.packets if packet.kind == kind]

    def send(self, message: Json | str, topic: str = "wherever") -> None:
        text = json.dumps(message) if isinstance(message, dict) else message
        self.writer.write(packet(0x30, string(topic) + text.encode()))


class Audio(asyncio.DatagramProtocol, Watched):
    """The server's UDP socket."""

    def __init__(self) -> None:
        super().__init__()
        self.datagrams: list[bytes] = []
        self.sources: list[tuple[str | Any, int]] = []
        self._sent = 0
        self.transport: asyncio.DatagramTransport | None = None

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self.datagrams.append(data)
        self.sources.append(addr)
        self._news.set()

    @property
    def port(self) -> int:
        assert self.transport is not None
        port: int = self.transport.get_extra_info("sockname")[1]
        return port

    @property
    def sequences(self) -> list[int]:
        return [int.from_bytes(datagram[12:16]) for datagram in self.datagrams]

    def seal(self, payload: bytes, sequence: int | None = None, *, kind: int = 1, key: bytes = KEY) -> bytes:
        """Return the next datagram for the device, or that of another number."""
        if sequence is None:
            sequence = self._sent = self._sent + 1
        header = bytes((kind, 0)) + len(payload).to_bytes(2) + bytes(8) + sequence.to_bytes(4)
        return header + ctr(key, header, payload)

    def send(self, datagram: bytes, number: int = -1) -> None:
        """Send to where the device's datagram of that number came from."""
        assert self.transport is not None
        self.transport.sendto(datagram, self.sources[number])


@dataclass
class MqttServer(Watched):
    """Check-ins, MQTT and UDP."""

    http: Http
    audio: Audio
    port: int = 0
    hellos: list[Json] = field(default_factory=list)
    """Answers to the device's hello."""
    settings: Json = field(default_factory=dict)
    """What a check-in gives to a device."""
    sessions: list[Session] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def serving(cls) -> AsyncIterator[Self]:
        loop = asyncio.get_running_loop()
        transport, audio = await loop.create_datagram_endpoint(Audio, local_addr=("127.0.0.1", 0))
        audio.transport = transport
        async with Http.serving({}) as http:
            server = cls(http, audio)
            server.hellos = [server.hello()]
            listener = await asyncio.start_server(server._serve, "127.0.0.1", 0)
            server.port = listener.sockets[0].getsockname()[1]
            server.check_in(
                endpoint=f"127.0.0.1:{server.port}",
                client_id="box-1",
                username="box",
                password="secret",
                publish_topic="from/box",
                keepalive=60,
            )
            try:
                yield server
            finally:
                listener.close()
                for session in server.sessions:
                    session.writer.transport.abort()
                transport.close()

    def check_in(self, **settings: str | int) -> None:
        """Change the settings that a device is given."""
        self.settings |= settings
        self.http.replies = deque([{"mqtt": self.settings}])

    def hello(self, session_id: str = "session-1", **udp: Any) -> Json:
        """Return a good answer to a hello."""
        offer = {"server": "127.0.0.1", "port": self.audio.port, "key": KEY.hex(), "nonce": NONCE.hex()} | udp
        return {
            "type": "hello",
            "transport": "udp",
            "session_id": session_id,
            "audio_params": {"format": "opus", "sample_rate": 24000, "channels": 1, "frame_duration": 60},
            "udp": {name: value for name, value in offer.items() if value is not None},
        }

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        session = Session(self, reader, writer)
        self.sessions.append(session)
        self._news.set()
        await session.run()

    async def session(self, number: int = 1) -> Session:
        """Return the connection of that number."""
        await self.until(lambda: len(self.sessions) >= number)
        return self.sessions[number - 1]
