"""Small servers for the simulated device: HTTP, and conversations over a WebSocket or MQTT and UDP."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
import json
from typing import Any, Self, override

from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from simulator.link.mqtt_client import publish_packet, read_packet
from tests.protocol.audio import sounds
from tests.protocol.transport.udp.device import DeviceAudio

type Json = dict[str, Any]
type Reply = Json | bytes | int
type Session = WebSocketSession | MqttSession

CONNECT, PUBLISH, SUBSCRIBE, PINGREQ = 1, 3, 8, 12
KEY = bytes(range(16))
NONCE = bytes.fromhex("01a5" + "0000" + "c0ffee42" + "00000000" + "00000000")
HELLO: Json = {
    "type": "hello",
    "session_id": "session-1",
    "audio_params": {"format": "opus", "sample_rate": 24000, "channels": 1, "frame_duration": 60},
}


class Stalling(bytes):
    """Bytes after which the server neither says anything nor hangs up."""


@dataclass(frozen=True)
class Request:
    """What a client sent, as it was on the wire."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes


class Watched:
    """Something that happens, for which a test can wait."""

    @cached_property
    def _news(self) -> asyncio.Event:
        return asyncio.Event()

    def notify(self) -> None:
        self._news.set()

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait, for an hour at most: the firmware may be silent for up to 43 minutes."""
        async with asyncio.timeout(3600):
            while not condition():
                self._news.clear()
                await self._news.wait()


@dataclass
class Http(Watched):
    """Answers requests with what `replies` holds, the last one repeatedly.

    A reply is a JSON object with status 200, a status, or the bytes to write.
    """

    replies: deque[Reply]
    requests: list[Request] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    port: int = 0

    @classmethod
    @asynccontextmanager
    async def serving(cls, *replies: Reply) -> AsyncIterator[Self]:
        http = cls(deque(replies))
        server = await asyncio.start_server(http._serve, "127.0.0.1", 0)
        http.port = server.sockets[0].getsockname()[1]
        try:
            yield http
        finally:
            server.close()
            server.close_clients()
            await server.wait_closed()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/ota"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append(await _read_request(reader))
            self.times.append(asyncio.get_running_loop().time())
            self.notify()
            reply = self.replies.popleft() if len(self.replies) > 1 else self.replies[0]
            writer.write(_response(reply))
            await writer.drain()
            if isinstance(reply, Stalling):
                await reader.read()
        finally:
            writer.close()


async def _read_request(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().removesuffix("\r\n\r\n")
    line, *rest = head.split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (entry.partition(":") for entry in rest)]
    found = {name.lower(): value for name, value in headers}
    body = await reader.readexactly(int(found.get("content-length", 0)))
    return Request(line, headers, body)


def _response(reply: Reply) -> bytes:
    if isinstance(reply, bytes):
        return reply
    status, body = (reply, b"no") if isinstance(reply, int) else (200, json.dumps(reply).encode())
    return b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


class _Session(Watched):
    """One connection of a device."""

    def __init__(self) -> None:
        self.messages: list[str | bytes] = []
        """Its texts and audio packets."""
        self.closed = False

    def take(self, message: str | bytes) -> None:
        self.messages.append(message)
        self.notify()

    def end(self) -> None:
        self.closed = True
        self.notify()

    @property
    def texts(self) -> list[str]:
        return [message for message in self.messages if isinstance(message, str)]

    @property
    def packets(self) -> list[bytes]:
        return [message for message in self.messages if isinstance(message, bytes)]


class WebSocketSession(_Session):
    """A WebSocket of a device."""

    def __init__(self, connection: ServerConnection) -> None:
        super().__init__()
        self.connection = connection

    async def run(self) -> None:
        with suppress(ConnectionClosed):
            async for message in self.connection:
                self.take(message)
        self.end()

    async def send(self, message: Json | str | bytes) -> None:
        await self.connection.send(json.dumps(message) if isinstance(message, dict) else message)

    async def play(self, packet: bytes) -> None:
        """Send an audio packet."""
        await self.send(packet)

    def abort(self) -> None:
        self.connection.transport.abort()


class MqttSession(_Session):
    """An MQTT connection of a device."""

    def __init__(self, server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__()
        self.kinds: set[int] = set()
        """Of the MQTT packets that came."""
        self._server = server
        self._reader = reader
        self._writer = writer

    async def run(self) -> None:
        with suppress(EOFError, ConnectionError):
            while True:
                first, body = await read_packet(self._reader)
                await self._answer(first >> 4, body)
        self.end()
        self._writer.close()

    async def _answer(self, kind: int, body: bytes) -> None:
        self.kinds.add(kind)
        if kind == CONNECT:
            self._writer.write(b"\x20\2\0\0")
        elif kind == PINGREQ:
            self._writer.write(b"\xd0\x00")
        elif kind == PUBLISH:
            text = body[2 + int.from_bytes(body[:2]) :].decode()
            if '"type":"hello"' in text and self._server.hello:
                await self.send(self._server.hello)
            self.take(text)

    async def send(self, message: Json | str) -> None:
        text = json.dumps(message) if isinstance(message, dict) else message
        self._writer.write(publish_packet("wherever", text.encode()))

    async def play(self, packet: bytes) -> None:
        """Send an audio packet."""
        await self.until(lambda: self.packets)
        self._server.audio.send(packet)

    def abort(self) -> None:
        self._writer.transport.abort()


class Audio(asyncio.DatagramProtocol):
    """The server's UDP socket."""

    transport: asyncio.DatagramTransport

    def __init__(self, server: Server) -> None:
        self._server = server
        self._source: tuple[str | Any, int] | None = None
        self._sealing = DeviceAudio(KEY, NONCE)

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self._source = addr
        self._server.sessions[-1].take(data)

    def send(self, packet: bytes, sequence: int | None = None) -> None:
        """Send to where the device's last packet came from, with this number or the next."""
        self.transport.sendto(self._sealing.seal(packet, sequence=sequence), self._source)


@dataclass
class Server(Watched):
    """Answers check-ins, which send the device to its other part."""

    http: Http
    hello: Json | None
    """Answer to the device's hello; None for none."""
    sessions: list[Session] = field(default_factory=list)
    audio: Audio = field(init=False)

    async def session(self, number: int = 1) -> Session:
        """Return the connection of that number; over a WebSocket, once its hellos are exchanged."""
        await self.until(lambda: len(self.sessions) >= number)
        return self.sessions[number - 1]


@asynccontextmanager
async def websocket_server() -> AsyncIterator[Server]:
    async with Http.serving({}) as http:
        server = Server(http, HELLO | {"transport": "websocket"})

        async def converse(connection: ServerConnection) -> None:
            session = WebSocketSession(connection)
            server.sessions.append(session)
            if server.hello is not None:
                session.take(await connection.recv())
                await session.send(server.hello)
            server.notify()
            await session.run()

        async with serve(
            converse, "127.0.0.1", 0, compression=None, ping_interval=None, close_timeout=0.05
        ) as listener:
            url = f"ws://127.0.0.1:{listener.sockets[0].getsockname()[1]}/xiaozhi/v1/"
            http.replies = deque([{"websocket": {"url": url, "token": "secret", "version": 1}}])
            yield server


@asynccontextmanager
async def mqtt_server() -> AsyncIterator[Server]:
    async with Http.serving({}) as http:
        server = Server(http, HELLO | {"transport": "udp"})

        async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            session = MqttSession(server, reader, writer)
            server.sessions.append(session)
            server.notify()
            await session.run()

        transport, server.audio = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Audio(server), local_addr=("127.0.0.1", 0)
        )
        server.audio.transport = transport
        udp = {"server": "127.0.0.1", "port": transport.get_extra_info("sockname")[1]}
        server.hello |= {"udp": udp | {"key": KEY.hex(), "nonce": NONCE.hex()}}
        listener = await asyncio.start_server(converse, "127.0.0.1", 0)
        settings = {"endpoint": f"127.0.0.1:{listener.sockets[0].getsockname()[1]}", "keepalive": 60}
        settings |= {"client_id": "box-1", "username": "box", "password": "secret"}
        http.replies = deque([{"mqtt": settings | {"publish_topic": "from/box"}}])
        try:
            yield server
        finally:
            listener.close()
            listener.abort_clients()
            transport.close()


@cache
def opus_packets(count: int, *, duration: int = 60) -> list[bytes]:
    """Return Opus packets of a tone."""
    pcm = sounds.tone(count * duration / 1000, 16000)
    return sounds.opus_packets(pcm, duration, dtx=False, application="audio")
