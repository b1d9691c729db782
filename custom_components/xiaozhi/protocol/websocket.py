"""The WebSocket listener, and the link of a device that has connected to it.

Source: the firmware's `main/protocols/websocket_protocol.cc`, and `web_socket.cc` of its network component.
A stock device connects when a conversation starts and is gone when it ends: link and audio channel are one.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
import logging
import secrets
import socket
from time import monotonic
from typing import Any, ClassVar, Final, cast, override

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.http11 import Request, Response

from .checkin import parse_client_id, parse_mac
from .closing import close_all
from .framing import FramingError, framing_version, pack, unpack
from .limits import FloodError, FloodGuard, LinkCounters, WaitingRoom
from .link import Admission, Channel, Credentials, Link, LinkClosedError, LinkHandler, LinkKind
from .messages import (
    MAX_MESSAGE_BYTES,
    AudioFormat,
    DeviceHello,
    DeviceMessage,
    Goodbye,
    JsonObject,
    MessageError,
    UnknownMessage,
    encode,
    parse_message,
    server_hello,
)
from .opus_packet import is_announced
from .peers import is_local
from .shortening import encode_within
from .websocket_connection import DeviceConnection, QuietLogger, Timeouts, peer_address

__all__ = ["WebSocketLink", "WebSocketListener"]

_LOGGER = logging.getLogger(__name__)

_PATHS: Final = frozenset({"/xiaozhi/v1", "/xiaozhi/v1/"})
_TRANSPORT: Final = "websocket"
# Connections in the handshake or before their hello.
_MAX_STRANGERS: Final = 64
_WRITE_LIMIT: Final = 16 * 1024


class _ViolationError(Exception):
    """The device does what the protocol does not know; the text becomes the reason of the close frame."""


class WebSocketListener:
    """Lets devices connect to a port of its own, and runs a `WebSocketLink` for each."""

    def __init__(
        self,
        authenticate: Callable[[Credentials], Admission | None],
        *,
        downlink: AudioFormat,
        timeouts: Timeouts | None = None,
        admits: Callable[[str], bool] = is_local,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Prepare a listener.

        `authenticate` decides on every connection, and compares the token in constant time; `downlink` is the
        audio that devices are told to expect. `admits` tells of an IP address whether it may connect;
        `clock` gives the seconds by which floods are measured.
        """
        self._clock = clock
        self._admits = admits
        self._authenticate = authenticate
        self._downlink = downlink
        self._timeouts = timeouts or Timeouts()
        self._server: Server | None = None
        self._strangers = WaitingRoom[DeviceConnection](_MAX_STRANGERS)
        self._links: set[WebSocketLink] = set()

    @property
    def port(self) -> int:
        """The port that is listened on. Raises `RuntimeError` when there is none."""
        if self._server is None:
            raise RuntimeError("the listener is not started")
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self, host: str | None, port: int) -> None:
        """Listen on `port` of an IPv4 address, of all when None. Raises `OSError` when that fails."""
        self._strangers = WaitingRoom[DeviceConnection](_MAX_STRANGERS)
        self._server = await serve(
            self._run_link,
            host or "0.0.0.0",  # noqa: S104
            port,
            family=socket.AF_INET,
            process_request=self._admit,
            compression=None,
            server_header=None,
            open_timeout=self._timeouts.open,
            close_timeout=self._timeouts.close,
            ping_interval=None,
            max_size=MAX_MESSAGE_BYTES,
            write_limit=_WRITE_LIMIT,
            logger=QuietLogger(_LOGGER),
            # Any factory will do.
            create_connection=cast("type[ServerConnection]", self._make_connection),
        )

    def _make_connection(self, *args: Any, **options: Any) -> DeviceConnection:
        return DeviceConnection(
            *args, **options, strangers=self._strangers, admits=self._admits, clock=self._clock
        )

    async def stop(self) -> None:
        """Close the port and all links. Does nothing when not started."""
        if self._server is None:
            return
        server, self._server = self._server, None
        for stranger in self._strangers.close():
            stranger.transport.abort()
        server.close(close_connections=False)
        await close_all(
            *(link.end(CloseCode.GOING_AWAY, "the server is stopping") for link in tuple(self._links))
        )
        await server.wait_closed()

    async def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        # The device looks for the answer only after it has sent the request, and may miss one that is faster.
        await asyncio.sleep(self._timeouts.upgrade_delay)
        if request.headers.get_all("Origin"):
            # A page in somebody's browser, which must not reach into the house.
            return connection.respond(HTTPStatus.FORBIDDEN, "Not for browsers.\n")
        if request.path.partition("?")[0] not in _PATHS:
            return connection.respond(HTTPStatus.NOT_FOUND, "Nothing here.\n")
        credentials = _read_credentials(request, peer_address(connection))
        if credentials is None:
            return connection.respond(HTTPStatus.FORBIDDEN, "Not a device.\n")
        try:
            admission = self._authenticate(credentials)
        except Exception:
            _LOGGER.exception("Unexpected error while authenticating a device")
            return connection.respond(HTTPStatus.INTERNAL_SERVER_ERROR, "Internal error.\n")
        if admission is None:
            # Not 401: that means a wrong password of a person, and gets addresses banned.
            return connection.respond(HTTPStatus.FORBIDDEN, "Unknown device or wrong token.\n")
        cast("DeviceConnection", connection).admission = admission
        return None

    async def _run_link(self, connection: ServerConnection) -> None:
        link = WebSocketLink(
            cast("DeviceConnection", connection), self._downlink, self._timeouts, self._clock
        )
        self._links.add(link)
        try:
            await link.run()
        finally:
            self._links.discard(link)


class WebSocketLink(Link):
    """The connection of one device for one conversation."""

    kind: ClassVar[LinkKind] = LinkKind.WEBSOCKET
    stays_connected: ClassVar[bool] = False

    def __init__(
        self,
        connection: DeviceConnection,
        downlink: AudioFormat,
        timeouts: Timeouts,
        clock: Callable[[], float],
    ) -> None:
        """Take over a connection whose opening handshake is done; `run` does the rest."""
        self.counters = LinkCounters()
        self._connection = connection
        self._downlink = downlink
        self._timeouts = timeouts
        self._clock = clock
        self._remote = peer_address(connection)
        self._framing = framing_version(_header(connection.request, "Protocol-Version"))
        self._guard = FloodGuard()
        # Packets dropped since the last good one, whose time has passed all the same.
        self._missing = 0
        self._handler: LinkHandler | None = None
        self._channel: Channel | None = None
        self._ended: str | None = None

    @property
    @override
    def remote(self) -> str:
        return self._remote

    @property
    @override
    def channel(self) -> Channel | None:
        return self._channel

    @override
    async def send(self, message: JsonObject) -> None:
        self._require_channel()
        limit = self._connection.admission.text_limit
        text = encode(message) if limit is None else encode_within(message, limit)
        await self._send(text.encode(errors="replace"), text=True)
        self.counters.messages_out += 1

    @override
    async def send_audio(self, packet: bytes) -> None:
        self._require_channel()
        await self._send(pack(self._framing, packet), text=False)
        self.counters.packets_out += 1

    @override
    async def close_channel(self) -> None:
        if self._channel is not None:
            await self.close("the conversation is over")

    @override
    async def close(self, reason: str) -> None:
        await self.end(CloseCode.NORMAL_CLOSURE, reason)

    async def end(self, code: CloseCode, reason: str) -> None:
        """Close the link with a close code of our choice. Does nothing when it is closed already."""
        self._report_end(reason)
        await self._connection.hang_up(code, reason)

    async def run(self) -> None:
        """Talk to the device until the link has ended. Raises nothing."""
        watch: asyncio.Task[None] | None = None
        try:
            admission = self._connection.admission
            self._handler = handler = admission.attach(self)
            if self._ended is not None:
                # Closed while it was attached, when nobody could be told.
                _call(handler.link_closed, self._ended)
                return
            await self._shake_hands(handler)
            if admission.pings_safe:
                watch = asyncio.create_task(self._watch())
            while True:
                frame = await self._connection.recv()
                if self._ended is None:
                    self._receive(handler, frame)
                # What has piled up comes without a pause, and must not hold the loop.
                await asyncio.sleep(0)
        except ConnectionClosed as err:
            self._report_end(_describe(err))
        except LinkClosedError as err:
            self._report_end(str(err))
        except _ViolationError as err:
            await self.end(CloseCode.PROTOCOL_ERROR, str(err))
        except FloodError as err:
            await self.end(CloseCode.POLICY_VIOLATION, str(err))
        except Exception:
            _LOGGER.exception("Unexpected error on the link of the device at %s", self._remote)
            await self.end(CloseCode.INTERNAL_ERROR, "internal error")
        finally:
            if watch is not None:
                watch.cancel()
                await asyncio.wait([watch])

    async def _shake_hands(self, handler: LinkHandler) -> None:
        hello = await self._receive_hello()
        if hello.transport not in {_TRANSPORT, ""}:
            raise _ViolationError("hello for another transport than websocket")
        channel = Channel(
            session_id=secrets.token_hex(16), hello=hello, uplink=hello.audio, downlink=self._downlink
        )
        answer = server_hello(transport=_TRANSPORT, session_id=channel.session_id, downlink=self._downlink)
        await self._send(encode(answer).encode(), text=True)
        self._connection.settle()
        if self._ended is None:
            self._channel = channel
            handler.channel_opened(channel)

    async def _receive_hello(self) -> DeviceHello:
        try:
            async with asyncio.timeout(self._timeouts.hello):
                frame = await self._connection.recv()
        except TimeoutError:
            raise _ViolationError("no hello in time") from None
        if isinstance(frame, bytes):
            raise _ViolationError("audio before hello")
        try:
            message = parse_message(frame)
        except MessageError as err:
            raise _ViolationError(f"malformed hello: {err}") from err
        if not isinstance(message, DeviceHello):
            raise _ViolationError("the first message is not a hello")
        return message

    def _receive(self, handler: LinkHandler, frame: str | bytes) -> None:
        now = self._clock()
        if isinstance(frame, bytes):
            self._receive_packet(handler, frame, now)
        else:
            self._receive_message(handler, frame, now)

    def _receive_packet(self, handler: LinkHandler, frame: bytes, now: float) -> None:
        self.counters.bytes_in += len(frame)
        self._guard.packet(now)
        try:
            packet = unpack(self._framing, frame)
        except FramingError as err:
            self._drop(err, now)
            return
        if self._channel is not None and not is_announced(packet, self._channel.uplink):
            # Not a flood by itself: a client may announce another duration than it sends all the time.
            if not self.counters.malformed:
                _LOGGER.debug("The device at %s sends packets of another duration than it said", self._remote)
            self.counters.malformed += 1
            self._missing += 1
            return
        self.counters.packets_in += 1
        missing, self._missing = self._missing, 0
        handler.audio_received(packet, missing)

    def _receive_message(self, handler: LinkHandler, frame: str, now: float) -> None:
        size = len(frame.encode())
        self.counters.bytes_in += size
        self._guard.message(now, size)
        try:
            message = parse_message(frame)
        except MessageError as err:
            self._drop(err, now)
            return
        self.counters.messages_in += 1
        self._dispatch(handler, message)

    def _drop(self, err: Exception, now: float) -> None:
        self.counters.malformed += 1
        _LOGGER.debug("Dropped what the device at %s sent: %s", self._remote, err)
        self._guard.malformed(now)

    def _dispatch(self, handler: LinkHandler, message: DeviceMessage) -> None:
        match message:
            case DeviceHello():
                raise _ViolationError("second hello")
            case UnknownMessage() | Goodbye():
                if not self.counters.unknown:
                    _LOGGER.debug("The device at %s sends messages unknown here: %r", self._remote, message)
                self.counters.unknown += 1
            case _:
                handler.message_received(message)

    async def _watch(self) -> None:
        """End the link when a ping is not answered: a device that lost its power says nothing."""
        while True:
            await asyncio.sleep(self._timeouts.ping_interval)
            try:
                async with asyncio.timeout(self._timeouts.pong):
                    await (await self._connection.ping())
            except ConnectionClosed:
                return
            except TimeoutError:
                await self.end(CloseCode.INTERNAL_ERROR, "the device does not answer any more")
                return

    def _require_channel(self) -> None:
        if self._channel is None:
            raise LinkClosedError(self._ended or "no conversation is open yet")

    async def _send(self, data: bytes, *, text: bool) -> None:
        try:
            async with asyncio.timeout(self._timeouts.send):
                await self._connection.send(data, text=text)
        except ConnectionClosed as err:
            raise LinkClosedError(self._ended or _describe(err)) from err
        except TimeoutError:
            reason = "the device does not take what it is sent"
            self._report_end(reason)
            self._connection.transport.abort()
            raise LinkClosedError(reason) from None
        self.counters.bytes_out += len(data)

    def _report_end(self, reason: str) -> None:
        if self._ended is not None:
            return
        self._ended = reason
        channel, self._channel = self._channel, None
        if self._handler is None:
            return
        if channel is not None:
            _call(self._handler.channel_closed, reason)
        _call(self._handler.link_closed, reason)


def _call(report: Callable[[str], None], reason: str) -> None:
    try:
        report(reason)
    except Exception:
        _LOGGER.exception("Unexpected error while ending the link of a device")


def _describe(err: ConnectionClosed) -> str:
    """Say why a connection ended that `WebSocketLink.end` did not end."""
    if err.sent is not None and not err.rcvd_then_sent:
        return f"closed for what the device sent: {err.sent.reason or err.sent.code}"
    return "the device closed the connection"


def _read_credentials(request: Request, remote: str) -> Credentials | None:
    """Return who is calling; None when the headers of a device are not there."""
    mac = parse_mac(_header(request, "Device-Id"))
    client_id = parse_client_id(_header(request, "Client-Id"))
    if mac is None or client_id is None:
        return None
    scheme, _, token = _header(request, "Authorization").partition(" ")
    return Credentials(mac=mac, client_id=client_id, token=token if scheme == "Bearer" else "", remote=remote)


def _header(request: Request | None, name: str) -> str:
    values = request.headers.get_all(name) if request is not None else []
    return values[0] if len(values) == 1 else ""
