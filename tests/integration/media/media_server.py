"""A web server with media: files, radio, playlists, and what goes wrong with them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

from aiohttp import web
from aiohttp.test_utils import TestServer
from homeassistant.components.media_source import MediaSource
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockModule, mock_integration, mock_platform

from tests.protocol.audio.sounds import make_media, tone

type Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def music(seconds: float, container: str = "mp3", codec: str = "libmp3lame", **options: Any) -> bytes:
    """Return a file with a tone of 440 Hz."""
    rate = 48000 if codec == "libopus" else 44100
    hertz = options.pop("hertz", 440)
    return make_media(container, codec, tone(seconds, rate, hertz), rate, **options)


def with_titles(data: bytes, interval: int, titles: dict[int, str]) -> bytes:
    """Return a stream with a title, or none, after each interval."""
    out = bytearray()
    for number, start in enumerate(range(0, len(data), interval)):
        piece = data[start : start + interval]
        out += piece
        if len(piece) == interval:
            title = f"StreamTitle='{titles[number]}';".encode() if number in titles else b""
            blocks = -(-len(title) // 16)
            out += bytes([blocks]) + title.ljust(16 * blocks, b"\0")
    return bytes(out)


@dataclass
class MediaServer:
    """What it serves, by path, and what was asked of it."""

    server: TestServer = field(init=False)
    handlers: dict[str, Handler] = field(default_factory=dict)
    asked: list[web.Request] = field(default_factory=list)
    sent: int = 0
    """Bytes of bodies that `pieces` has sent."""
    open: int = 0
    """Requests that are being answered."""

    def url(self, path: str) -> str:
        return str(self.server.make_url(path))

    def paths(self) -> list[str]:
        return [request.path for request in self.asked]

    def file(self, path: str, data: bytes | str, content_type: str = "", **headers: str) -> str:
        """Serve a file, also parts of it; return its address."""
        body = data.encode() if isinstance(data, str) else data

        async def handle(request: web.Request) -> web.StreamResponse:
            wanted = request.http_range
            own = headers | ({"Content-Type": content_type} if content_type else {})
            if wanted.start:
                about = f"bytes {wanted.start}-{len(body) - 1}/{len(body)}"
                return web.Response(
                    body=body[wanted.start :], status=206, headers=own | {"Content-Range": about}
                )
            return web.Response(body=body, headers=own | {"Accept-Ranges": "bytes"})

        self.handlers[path] = handle
        return self.url(path)

    def pieces(
        self,
        path: str,
        pieces: Sequence[bytes],
        *,
        every: float = 0,
        then: str = "end",
        headers: dict[str, str] | None = None,
    ) -> str:
        """Serve pieces, one each so many seconds; then end, stall, break off, or begin again."""

        async def handle(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse(headers=headers)
            if then == "break":
                response.content_length = sum(map(len, pieces)) + 1
            else:
                response.enable_chunked_encoding()
            await response.prepare(request)
            while True:
                for piece in pieces:
                    await response.write(piece)
                    self.sent += len(piece)
                    await asyncio.sleep(every)
                if then != "again":
                    break
            if then == "stall":
                await asyncio.Event().wait()
            if then == "break" and request.transport is not None:
                request.transport.abort()
            return response

        self.handlers[path] = handle
        return self.url(path)

    def redirect(self, path: str, location: str) -> str:
        """Lead from a path somewhere else; return its address."""

        async def handle(_request: web.Request) -> web.StreamResponse:
            raise web.HTTPFound(location)

        self.handlers[path] = handle
        return self.url(path)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request."""
        self.asked.append(request)
        self.open += 1
        try:
            if (handler := self.handlers.get(request.path)) is None:
                return web.Response(status=404)
            return await handler(request)
        finally:
            self.open -= 1

    async def wait_unused(self) -> None:
        async with asyncio.timeout(10):
            while self.open:  # noqa: ASYNC110 - handlers end by themselves
                await asyncio.sleep(0.01)


async def add_media_source(hass: HomeAssistant, source: MediaSource) -> None:
    """Set up an integration that has a source of media."""
    mock_integration(hass, MockModule(source.domain))
    get = AsyncMock(return_value=source)
    mock_platform(hass, f"{source.domain}.media_source", Mock(async_get_media_source=get))
    assert await async_setup_component(hass, source.domain, {})
    await hass.async_block_till_done()


def children() -> list[int]:
    """Return the child processes of this one, zombies included."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):
            found += map(int, (task / "children").read_text().split())
    return found


@asynccontextmanager
async def media_server() -> AsyncIterator[MediaServer]:
    media = MediaServer()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", media.handle)
    # A client that hangs up ends the answer.
    media.server = TestServer(application)
    await media.server.start_server(shutdown_timeout=0)
    try:
        yield media
    finally:
        await media.server.close()
