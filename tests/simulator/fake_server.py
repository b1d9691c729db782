"""A small server for the simulated device: HTTP for check-ins, `websockets` for conversations."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
import json
from typing import Any, Self

import av
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

type Json = dict[str, Any]


@dataclass(frozen=True)
class Request:
    """What a client sent, as it was on the wire."""

    line: str
    headers: list[tuple[str, str]]
    body: bytes


type Reply = Json | bytes | int


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


class Session(Watched):
    """One connection of a device."""

    def __init__(self, connection: ServerConnection) -> None:
        self.connection = connection
        self.messages: list[str | bytes] = []
        self.closed = False

    async def run(self) -> None:
        try:
            async for message in self.connection:
                self.messages.append(message)
                self.notify()
        except ConnectionClosed:
            pass
        self.closed = True
        self.notify()

    @property
    def texts(self) -> list[str]:
        return [message for message in self.messages if isinstance(message, str)]

    @property
    def packets(self) -> list[bytes]:
        return [message for message in self.messages if isinstance(message, bytes)]

    async def send(self, message: Json | str | bytes) -> None:
        await self.connection.send(json.dumps(message) if isinstance(message, dict) else message)

    async def play(self, packet: bytes) -> None:
        """Send an audio packet."""
        await self.send(packet)

    def abort(self) -> None:
        self.connection.transport.abort()


@dataclass
class Server(Watched):
    """Both servers; the check-in sends the device to the WebSocket."""

    http: Http
    hello: Json | None
    """Answer to the device's hello; None for none."""
    sessions: list[Session] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def serving(cls) -> AsyncIterator[Self]:
        hello: Json = {"type": "hello", "transport": "websocket", "session_id": "session-1"}
        hello["audio_params"] = {"format": "opus", "sample_rate": 24000, "channels": 1, "frame_duration": 60}
        async with Http.serving({}) as http:
            server = cls(http, hello)
            async with serve(
                server._converse, "127.0.0.1", 0, compression=None, ping_interval=None, close_timeout=0.05
            ) as websocket:
                url = f"ws://127.0.0.1:{websocket.sockets[0].getsockname()[1]}/xiaozhi/v1/"
                http.replies = deque([{"websocket": {"url": url, "token": "secret", "version": 1}}])
                yield server

    async def _converse(self, connection: ServerConnection) -> None:
        session = Session(connection)
        self.sessions.append(session)
        if self.hello is not None:
            message = await connection.recv()
            session.messages.append(message)
            await session.send(self.hello)
        self.notify()
        await session.run()

    async def session(self, number: int = 1) -> Session:
        """Return the connection of that number, once its hellos are exchanged."""
        await self.until(lambda: len(self.sessions) >= number)
        return self.sessions[number - 1]


def opus_packets(count: int, *, rate: int = 24000, duration: int = 60) -> list[bytes]:
    """Return Opus packets of a rough tone."""
    encoder = av.CodecContext.create("libopus", "w")
    encoder.sample_rate, encoder.layout, encoder.format, encoder.bit_rate = rate, "mono", "s16", 24000
    encoder.options = {"frame_duration": str(duration)}
    encoder.open()
    samples = rate * duration // 1000
    packets: list[bytes] = []
    for number in range(count):
        frame = av.AudioFrame(format="s16", layout="mono", samples=samples)
        frame.sample_rate, frame.pts = rate, number * samples
        frame.planes[0].update(((b"\x00\x20" * 40 + b"\x00\xe0" * 40) * (samples // 80 + 1))[: samples * 2])
        packets += [bytes(packet) for packet in encoder.encode(frame)]
    return packets
