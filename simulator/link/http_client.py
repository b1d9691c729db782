"""The device's HTTP client. Source: `http_client.cc` of the firmware's network component.

HTTP/1.1, a new connection for every request, no redirects, no cookies.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
import ssl
from typing import Final

from ..board.crash import DeviceCrashed, stoi
from ..board.pace import Pace
from .network import Connection, Network
from .streamed_body import StreamedBody

# Bytes that can wait to be read; reading a whole body of this size dead-locks with the receiver.
_WINDOW: Final = 8192
_PAGE: Final = 4096
_TIMEOUT: Final = 30.0
_MAX_BODY: Final = 16 * 1024 * 1024
# Bytes of a stream that wait to be received; half of the device's TCP window, since the system doubles it.
_STREAM_WINDOW: Final = 2048


class HttpError(Exception):
    """No usable answer: not connected, timed out or malformed."""


@dataclass(frozen=True, slots=True)
class Response:
    """An answer of any status."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpClient:
    """Makes requests as the firmware does."""

    pace: Pace
    network: Network
    deadlocks: bool
    """Whether a body of 8192 bytes or more hangs the device."""

    @asynccontextmanager
    async def stream(
        self, url: str, headers: dict[str, str], seconds: float
    ) -> AsyncIterator[tuple[int, StreamedBody]]:
        """Get a file while it comes; yields the status and the body.

        The head of the answer and every read of the body may take `seconds`. Raises `HttpError`.
        """
        window = _STREAM_WINDOW
        async with self._exchange("GET", url, headers, window=window, seconds=seconds) as (
            connection,
            status,
            answer_headers,
        ):
            body = StreamedBody(connection.reader, answer_headers, lambda: self.pace.timeout(seconds))
            async with body:
                yield status, body

    async def request(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes = b"",
        *,
        chunks: list[bytes] | None = None,
        streamed: bool = False,
        reads: Callable[[int], bool] = lambda _: True,
    ) -> Response:
        """Send a request and read the answer.

        `headers` go out in the order of their names, `chunks` instead of `body`.
        A `streamed` answer is read piece by piece and may be large; `reads` says by status
        whether the body is read.
        Raises `HttpError`, and `DeviceCrashed` when the answer hangs the device.
        """
        async with self._exchange(method, url, headers, body, chunks) as (connection, status, answer_headers):
            answer = b""
            if reads(status):
                async with self.pace.timeout(_TIMEOUT):
                    answer = await _read_body(connection.reader, answer_headers)
        if self.deadlocks and not streamed and len(answer) >= _WINDOW:
            raise DeviceCrashed(f"HTTP reader dead-locked on a body of {len(answer)} bytes")
        return Response(status, answer_headers, answer)

    async def download(self, url: str, take: Callable[[bytes, int], Awaitable[None]]) -> None:
        """Get a file page by page; `take` is awaited for each page, with the length of the file.

        Raises `HttpError`, also for another status than 200 and for an answer without its length.
        """
        async with self._exchange("GET", url, {}, window=_WINDOW) as (connection, status, headers):
            if status != 200:
                raise HttpError(f"the server answered with status {status}")
            length = int(headers.get("content-length", 0))
            if length <= 0:
                raise HttpError("the answer has no Content-Length")
            left = length
            while left:
                async with self.pace.timeout(_TIMEOUT):
                    page = await connection.reader.readexactly(min(left, _PAGE))
                left -= len(page)
                await take(page, length)

    @asynccontextmanager
    async def _exchange(
        self,
        method: str,
        url: str,
        headers: dict[str, str],
        body: bytes = b"",
        chunks: list[bytes] | None = None,
        *,
        window: int | None = None,
        seconds: float = _TIMEOUT,
    ) -> AsyncIterator[tuple[Connection, int, dict[str, str]]]:
        """Send a request and read the head of the answer, for which it has `seconds`.

        Any failure becomes an `HttpError`.
        """
        scheme, host, port, path = _split(url)
        secure = ssl.create_default_context() if scheme == "https" else None
        try:
            async with self.pace.timeout(_TIMEOUT):
                connection = await self.network.connect(host, port, secure, window=window)
        except OSError as err:
            raise HttpError(f"cannot connect to {host}:{port}") from err
        try:
            connection.write(_head(method, host, port, path, headers, body, secure=scheme == "https"))
            for chunk in chunks or ():
                connection.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                await connection.drain()
            connection.write(body if chunks is None else b"0\r\n\r\n")
            await connection.drain()
            async with self.pace.timeout(seconds):
                status, answer_headers = await _read_head(connection.reader)
            yield connection, status, answer_headers
        except TimeoutError as err:
            raise HttpError("timed out") from err
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as err:
            raise HttpError(f"malformed answer: {err}") from err
        finally:
            connection.close()


def _split(url: str) -> tuple[str, str, int, str]:
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in {"http", "https"}:
        raise HttpError(f"not an http or https address: {url!r}")
    authority, slash, path = rest.partition("/")
    host, colon, port = authority.partition(":")
    number = stoi(port) if colon else (443 if scheme == "https" else 80)
    return scheme, host, number, slash + path or "/"


def _head(
    method: str,
    host: str,
    port: int,
    path: str,
    headers: dict[str, str],
    body: bytes,
    *,
    secure: bool,
) -> bytes:
    default_port = 443 if secure else 80
    lines = [
        f"{method} {path} HTTP/1.1",
        f"Host: {host}" if port == default_port else f"Host: {host}:{port}",
        *(f"{name}: {value}" for name, value in sorted(headers.items())),
    ]
    if body:
        lines.append(f"Content-Length: {len(body)}")
    lines.append("Connection: close")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    status_line = (await reader.readuntil(b"\r\n")).decode("latin-1")
    protocol, _, rest = status_line.partition(" ")
    if not protocol.startswith("HTTP/1."):
        raise ValueError("not HTTP")
    headers: dict[str, str] = {}
    while (line := await reader.readuntil(b"\r\n")) != b"\r\n":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return int(rest[:3]), headers


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        return body
    if (length := headers.get("content-length")) is None:
        return await reader.read(_MAX_BODY)
    if int(length) == 0:
        # The firmware waits for the end of the connection, up to 30 s if it is kept open.
        return await reader.read(1)
    return await reader.readexactly(int(length))
