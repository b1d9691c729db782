"""The side that listens: a server on loopback with faults in its handshake."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Self
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from .certificates import Certificates
from .timing import Timing


@dataclass(slots=True, kw_only=True)
class OpeningFaults:
    """Faults while a connection opens; may be changed at any time, for later connections."""

    status: int | None = None
    """Refuse the upgrade with this HTTP status, such as 401."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to upgrade."""

    time: float
    """The event loop's."""
    target: str
    """Path and query, as the client sent them."""
    headers: Mapping[str, str]
    status: int
    """Status of the answer; 101 means accepted, and 0 means none."""


class Listener:
    """A WebSocket server on 127.0.0.1, as an async context manager. It can be stopped and started again."""

    _compression: str | None = None
    _keepalive = False

    def __init__(
        self,
        *,
        timing: Timing | None = None,
        faults: OpeningFaults | None = None,
        tls: str | None = None,
        port: int = 0,
    ) -> None:
        """Listen at this port, or any if it is 0. `tls` is the name in the certificate, None for plain ws."""
        self.timing = timing or Timing()
        self.opening = faults or OpeningFaults()
        self.certificates = Certificates(tls) if tls else None
        self.port = port
        self.attempts: list[Attempt] = []
        """Every request to upgrade, also those that were refused."""
        self.log: Callable[[str], object] = lambda _: None
        """Told each event in a sentence, without tokens."""
        self._server: Server | None = None
        self._connections: set[ServerConnection] = set()
        self._failures: list[Exception] = []

    async def __aenter__(self) -> Self:
        """Start."""
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop. Raises what went wrong inside the double, so that the test fails."""
        await self.stop()
        if self._failures:
            raise ExceptionGroup("the double failed", self._failures)

    async def start(self) -> None:
        """Listen, after `stop` at the same port as before."""
        self._server = await serve(
            self._open,
            "127.0.0.1",
            self.port,
            process_request=self._process_request,
            ssl=self.certificates and self.certificates.server_context,
            compression=self._compression,
            ping_interval=self.timing.keepalive if self._keepalive else None,
            ping_timeout=self.timing.keepalive,
            close_timeout=self.timing.close,
            open_timeout=None,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self, *, code: int = 1006) -> None:
        """Stop listening and close all connections with this code; 1006 is without a close frame."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close(close_connections=False)
        if code != 1006:
            await asyncio.gather(*(connection.close(code) for connection in [*self._connections]))
        for connection in [*self._connections]:
            connection.transport.abort()
        server.close()
        await server.wait_closed()

    @property
    def origin(self) -> str:
        """Scheme, host and port of the address."""
        return f"wss://localhost:{self.port}" if self.certificates else f"ws://127.0.0.1:{self.port}"

    def _refusal(self, connection: ServerConnection, path: str, token: str) -> Response | None:
        """Return what refuses an upgrade, None to accept it. A subclass looks at path and token."""
        raise NotImplementedError

    async def _serve(self, connection: ServerConnection, path: str, token: str) -> None:
        """Serve an open connection to its end."""
        raise NotImplementedError

    async def _process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        response = self._answer(connection, request)
        self._note(request, response.status_code if response else 101)
        return response

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        if self.opening.status is not None:
            return respond(connection, self.opening.status)
        return self._refusal(connection, *_target(request.path))

    def _note(self, request: Request, status: int) -> None:
        self.attempts.append(
            Attempt(
                asyncio.get_running_loop().time(), request.path, dict(request.headers.raw_items()), status
            )
        )
        self.log(f"asked to upgrade: {status or 'no answer'}")

    async def _open(self, connection: ServerConnection) -> None:
        self._connections.add(connection)
        try:
            request = connection.request
            await self._serve(connection, *_target(request.path if request else ""))
        except ConnectionClosed:
            pass
        except Exception as err:  # noqa: BLE001 - raised when the double ends, so that the test fails
            self._failures.append(err)
        finally:
            self._connections.discard(connection)


def respond(connection: ServerConnection, status: int) -> Response:
    """Return an HTTP answer instead of the upgrade."""
    return connection.respond(HTTPStatus(status), HTTPStatus(status).phrase)


def _target(target: str) -> tuple[str, str]:
    """Return path and token; a plus in a query is a space, as for every web server."""
    parts = urlsplit(target)
    return parts.path, parse_qs(parts.query).get("token", [""])[0]
