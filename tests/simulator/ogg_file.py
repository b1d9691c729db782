"""Ogg Opus files for the device, and a server for them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
import struct
from typing import Self

type Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]

HEAD = b"OpusHead\x01\x01" + struct.pack("<HIhB", 312, 24000, 0, 0)
TAGS = b"OpusTags" + struct.pack("<I4sI", 4, b"test", 0)


def page(packets: list[bytes]) -> bytes:
    """Return a page, without what the device does not look at: flags, positions, numbers and check sum."""
    lacing = b"".join(b"\xff" * (len(packet) // 255) + bytes((len(packet) % 255,)) for packet in packets)
    return b"OggS" + bytes(22) + bytes((len(lacing),)) + lacing + b"".join(packets)


def ogg(packets: list[bytes]) -> bytes:
    """Return a file with ten packets on a page."""
    groups = [packets[start : start + 10] for start in range(0, len(packets), 10)]
    return b"".join(map(page, ([HEAD], [TAGS], *groups)))


def plain(body: bytes) -> Serve:
    """Return an answer with a Content-Length."""

    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    return serve


@dataclass
class FileServer:
    """Answers every request in the same way."""

    serve: Serve
    heads: list[str] = field(default_factory=list)
    port: int = 0
    _tasks: set[asyncio.Task[None] | None] = field(default_factory=set)

    @classmethod
    @asynccontextmanager
    async def serving(cls, serve: Serve) -> AsyncIterator[Self]:
        files = cls(serve)
        server = await asyncio.start_server(files._connected, "127.0.0.1", 0)
        files.port = server.sockets[0].getsockname()[1]
        try:
            yield files
        finally:
            server.close()
            server.close_clients()
            for task in files._tasks:
                if task is not None:
                    task.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._tasks.add(asyncio.current_task())
        self.heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        serving = asyncio.create_task(self._serve(writer))
        self._tasks.add(serving)
        with suppress(ConnectionError):
            await reader.read()
        serving.cancel()
        writer.close()

    async def _serve(self, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await self.serve(writer)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/file/secret.ogg"
