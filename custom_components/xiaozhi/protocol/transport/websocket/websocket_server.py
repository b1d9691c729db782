"""The WebSocket listener: authenticates devices.

Source: the firmware's `main/protocols/websocket_protocol.cc`, and `web_socket.cc` of its network component.
"""

import asyncio
from functools import partial
from http import HTTPStatus
import logging
import socket
from typing import Final, cast

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from ....util.event_loop import close_all
from ....util.limits import PendingConnections
from ...checkin import parse_client_id, parse_mac
from ...messages import MAX_MESSAGE_BYTES
from ...timeouts import WebSocketTimeouts
from ..link import Credentials, KnownDevices, LinkKind
from .websocket_connection import QuietLogger, WebSocketConnection, header, peer_address
from .websocket_link import WebSocketLink

_LOGGER = logging.getLogger(__name__)

# Connections that are not authenticated yet.
_MAX_PENDING: Final = 256


class WebSocketServer:
    """Lets devices connect to a port of its own, and runs a `WebSocketLink` for each."""

    def __init__(self, paired: KnownDevices) -> None:
        self._paired = paired
        self._server: Server | None = None
        self._pending = PendingConnections[WebSocketConnection](_MAX_PENDING)
        self._links: set[WebSocketLink] = set()

    async def start(self, host: str | None, port: int) -> None:
        """Listen on `port` of an IPv4 address, or of all for None. Raises `OSError`."""
        self._server = await serve(
            self._run_link,
            host or "0.0.0.0",  # noqa: S104
            port,
            family=socket.AF_INET,
            process_request=self._admit,
            compression=None,
            server_header=None,
            open_timeout=WebSocketTimeouts.open,
            close_timeout=WebSocketTimeouts.close,
            ping_interval=None,
            max_size=MAX_MESSAGE_BYTES,
            write_limit=16 * 1024,
            logger=QuietLogger(_LOGGER),
            # Any factory will do.
            create_connection=cast(
                "type[ServerConnection]", partial(WebSocketConnection, pending=self._pending)
            ),
        )

    async def stop(self) -> None:
        """Close the port and all links. Does nothing when not started."""
        if self._server is None:
            return
        server, self._server = self._server, None
        for connection in self._pending.close():
            connection.abort()
        server.close(close_connections=False)
        await close_all(
            *(link.end(CloseCode.GOING_AWAY, "the server is stopping") for link in tuple(self._links))
        )
        await server.wait_closed()

    async def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        refusal = self._authenticate_device(cast("WebSocketConnection", connection), request)
        # The device listens for the answer only after sending the request, and may miss a faster one.
        await asyncio.sleep(WebSocketTimeouts.upgrade_delay)
        if self._server is None:
            # Before version 17, the library checks that before it asks us.
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "The server is stopping.\n")
        return refusal

    def _authenticate_device(self, connection: WebSocketConnection, request: Request) -> Response | None:
        if request.headers.get_all("Origin"):
            # Sent by a web page in a browser, which must not act as a device.
            return connection.respond(HTTPStatus.FORBIDDEN, "Not for browsers.\n")
        if request.path.partition("?")[0] not in {"/xiaozhi/v1", "/xiaozhi/v1/"}:
            return connection.respond(HTTPStatus.NOT_FOUND, "Nothing here.\n")
        credentials = _read_credentials(request, peer_address(connection))
        if credentials is None:
            return connection.respond(HTTPStatus.FORBIDDEN, "Not a device.\n")
        try:
            admission = self._paired.admit(credentials, LinkKind.WEBSOCKET)
        except Exception:
            _LOGGER.exception("Unexpected error while authenticating a device")
            return connection.respond(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error.\n")
        if admission is None:
            # Not 401: that status means a person's wrong password, and gets IP addresses banned.
            return connection.respond(HTTPStatus.FORBIDDEN, "Unknown device or wrong token.\n")
        connection.admit(admission)
        return None

    async def _run_link(self, connection: ServerConnection) -> None:
        link = WebSocketLink(cast("WebSocketConnection", connection))
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)


def _read_credentials(request: Request, remote: str) -> Credentials | None:
    mac = parse_mac(header(request, "Device-Id"))
    client_id = parse_client_id(header(request, "Client-Id"))
    if mac is None or client_id is None:
        return None
    scheme, _, token = header(request, "Authorization").partition(" ")
    return Credentials(mac=mac, client_id=client_id, token=token if scheme == "Bearer" else "", remote=remote)
