"""Ogg Opus files for the device, faulty ones too, and a server for them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
import socket
import struct
from typing import Self

from tests.simulator.fake_server import opus_packets

type Serve = Callable[[asyncio.StreamWriter], Awaitable[None]]

HEAD = b"OpusHead\x01\x01" + struct.pack("<HIhB", 312, 24000, 0, 0)
TAGS = b"OpusTags" + struct.pack("<I4sI", 4, b"test", 0)
FIRST, LAST, CONTINUED = 2, 4, 1


def checksum(data: bytes) -> int:
    """Compute the check sum of a page bit by bit, unlike the device's table."""
    value = 0
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1) ^ 0x104C11DB7 if value & 0x80000000 else value << 1
    return value


def page(
    packets: list[bytes],
    *,
    flags: int = 0,
    granule: int = 0,
    serial: int = 7,
    sequence: int = 0,
    version: int = 0,
    lacing: bytes | None = None,
    crc: int | None = None,
) -> bytes:
    """Return a page."""
    if lacing is None:
        lacing = b"".join(b"\xff" * (len(packet) // 255) + bytes((len(packet) % 255,)) for packet in packets)
    fields = struct.pack("<BBQIII", version, flags, granule, serial, sequence, 0)
    data = b"OggS" + fields + bytes((len(lacing),)) + lacing + b"".join(packets)
    return data[:22] + struct.pack("<I", checksum(data) if crc is None else crc) + data[26:]


def ogg(packets: list[bytes], *, head: bytes = HEAD, tags: bytes = TAGS, milliseconds: int = 60) -> bytes:
    """Return a correct file with ten packets on a page."""
    pages = [page([head], flags=FIRST), page([tags], sequence=1)]
    for start in range(0, len(packets), 10):
        group = packets[start : start + 10]
        last = LAST if start + 10 >= len(packets) else 0
        granule = 48 * milliseconds * (start + len(group))
        pages.append(page(group, flags=last, granule=granule, sequence=len(pages)))
    return b"".join(pages)


def music(packets: int, *, rate: int = 24000, duration: int = 60) -> bytes:
    """Return a file of a rough tone."""
    return ogg(opus_packets(packets, rate=rate, duration=duration), milliseconds=duration)


def silence(packets: int) -> list[bytes]:
    """Return packets of silence."""
    return opus_packets(packets, loud=False)


def plain(body: bytes, status: str = "200 OK", *, length: int | None = None) -> Serve:
    """Return an answer with a Content-Length; with a wrong one, the connection ends behind it."""

    async def serve(writer: asyncio.StreamWriter) -> None:
        size = len(body) if length is None else length
        writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n\r\n".encode() + body)
        if length is not None:
            writer.write_eof()

    return serve


def until_close(body: bytes) -> Serve:
    """Return an answer that ends with the connection."""

    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + body)
        writer.write_eof()

    return serve


def chunked(body: bytes, *, end: bytes = b"0\r\n\r\n", size: int = 700) -> Serve:
    """Return an answer in chunks of a size."""

    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 206 Partial\r\nTransfer-Encoding: chunked\r\n\r\n")
        for start in range(0, len(body), size):
            part = body[start : start + size]
            writer.write(b"%x;name=value\r\n%b\r\n" % (len(part), part))
            await asyncio.sleep(0.01)
        writer.write(end)
        writer.write_eof()

    return serve


@dataclass
class FileServer:
    """Answers every request in the same way, and notes how the connections end."""

    serve: Serve
    heads: list[str] = field(default_factory=list)
    ended: int = 0
    """Connections that the device has closed."""
    port: int = 0
    _tasks: set[asyncio.Task[None] | None] = field(default_factory=set)

    @classmethod
    @asynccontextmanager
    async def serving(cls, serve: Serve, *, send_buffer: int | None = None) -> AsyncIterator[Self]:
        files = cls(serve)
        server = await asyncio.start_server(files._connected, "127.0.0.1", 0)
        if send_buffer is not None:
            server.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
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
        self.ended += 1
        writer.close()

    async def _serve(self, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await self.serve(writer)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/file/secret.ogg"

    def notify(self, *subtitles: tuple[float, str], url: str | None = None) -> dict[str, object]:
        """Return a message that has the device play the file."""
        given = [{"start_ms": start, "text": text} for start, text in subtitles]
        return {
            "type": "notify",
            "audio_url": url or self.url,
            **({"subtitles": given} if subtitles else {}),
        }
