"""A connection of the `websockets` library with bounds against faulty or hostile devices.

The library waits for close handshakes that a device never answers, accepts any number of empty frames, and
ends a connection for one byte that is not UTF-8. Its documented interface has no hooks for that. So this
module alone overrides undocumented methods of its connection, those of `asyncio.Protocol` and
`process_event`, and uses two undocumented members, `protocol` and `send_data`; `test_library.py` fails when
they change.

Tested with websockets 15.0.1, 16.0, 17.0 and 17.4. Home Assistant asks for 15.0.1 or newer.
"""

import asyncio
import logging
from math import inf
import socket
from typing import Any, Final, cast, override

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode, Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import Event

from ....util.event_loop import loop_time, within
from ....util.limits import PendingConnections, TokenBucket
from ..link import Admission
from ..local_network import is_local
from ..tcp_backlog import unacknowledged

# The kernel's own buffer would hide for minutes that a device has stopped reading.
_SEND_BUFFER: Final = 16 * 1024
# Bytes parsed before their frames are counted: a few milliseconds with the smallest frames.
_SLICE: Final = 4 * 1024
# Bytes of the opening request. The library takes a megabyte, and 256 strangers may connect at a time.
_MAX_HEAD: Final = 16 * 1024
# From a close frame to the end of our side. Stock firmware then frees an object that a wake word at that
# moment would use; there is none so soon after it has gone idle. It never closes TCP first.
_END_DELAY: Final = 0.02


class WebSocketConnection(ServerConnection):
    """A server connection that ends soon after its close frame, and at a flood of frames."""

    admission: Admission
    """Set when the device is authenticated."""

    def __init__(
        self,
        *args: Any,
        pending: PendingConnections[WebSocketConnection],
        close_timeout: float,
        **options: Any,
    ) -> None:
        """Take the library's arguments, and the connections that wait beside it to be authenticated."""
        super().__init__(*args, close_timeout=close_timeout, **options)
        self._close_seconds = close_timeout
        self._tcp: asyncio.Transport
        """Set in `connection_made`, before anything can be asked."""
        self._pending = pending
        self._frames = TokenBucket(rate=600, burst=600)
        # Pings, pongs and fragments of messages.
        self._controls = TokenBucket(rate=5, burst=50)
        self._head = 0
        """Bytes of the request so far."""
        self._drop_timers: tuple[asyncio.TimerHandle, ...] = ()
        self._sending_ended = False
        self.heard_at = loop_time()
        """`loop_time` of the last data of the peer."""
        self.pinged_at = -inf
        """`loop_time` of its last ping."""

    def admit(self, admission: Admission) -> None:
        """Note that the device is paired: from now on, nobody else can displace this connection."""
        self.admission = admission
        self._pending.let_in(self)

    @property
    def unacknowledged(self) -> int:
        """Bytes that the device's side has not acknowledged."""
        return unacknowledged(self._tcp)

    def abort(self) -> None:
        """End the TCP connection at once, without a close frame."""
        self._tcp.abort()

    async def hang_up(self, code: CloseCode, reason: str) -> None:
        """Send a close frame if the device still accepts one, and end the TCP connection."""
        self._drop_soon()
        # A slow reader may block even this; the library's own time-out begins only after that.
        closing = self.close(code, reason.encode()[:123].decode(errors="ignore"))
        await within(self._close_seconds, closing)
        self.abort()
        await self.wait_closed()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._tcp = cast("asyncio.Transport", transport)
        endpoint = transport.get_extra_info("socket")
        endpoint.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        super().connection_made(transport)
        if not is_local(peer_address(self)):
            self.abort()
            return
        displaced = self._pending.enter(self, peer_address(self))
        if displaced is not None:
            displaced.abort()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._pending.leave(self)
        for timer in self._drop_timers:
            timer.cancel()
        super().connection_lost(exc)

    @override
    def data_received(self, data: bytes) -> None:
        if self._sending_ended:
            # The library could want to answer it.
            return
        self.heard_at = loop_time()
        if self.request is None:
            self._head += len(data)
            if self._head > _MAX_HEAD:
                self.abort()
                return
        for start in range(0, len(data), _SLICE):
            super().data_received(data[start : start + _SLICE])
        if self.protocol.close_expected():
            self._drop_soon()

    @override
    def eof_received(self) -> None:
        super().eof_received()
        self._drop_soon()

    @override
    def process_event(self, event: Event) -> None:
        if isinstance(event, Frame):
            now, is_message = loop_time(), event.opcode in {Opcode.TEXT, Opcode.BINARY}
            if not (self._frames.take(now) and (is_message or self._controls.take(now))):
                # From then on, the library discards all data.
                self.protocol.fail(CloseCode.POLICY_VIOLATION, "too many frames")
                self.send_data()
                return
            if event.opcode is Opcode.PING:
                self.pinged_at = now
            if event.opcode is Opcode.TEXT and event.fin:
                # The name of a Wi-Fi network may be any bytes; the rest of the text is still valid.
                event.data = bytes(event.data).decode(errors="replace").encode()
        super().process_event(event)

    def _drop_soon(self) -> None:
        if not self._drop_timers:
            later = asyncio.get_running_loop().call_later
            self._drop_timers = later(_END_DELAY, self._end_sending), later(self._close_seconds, self.abort)

    def _end_sending(self) -> None:
        if self.protocol.close_sent is not None:
            self._sending_ended = True
            self._tcp.write_eof()


class QuietLogger(logging.LoggerAdapter[logging.Logger]):
    """Turns the library's log records into debug records, so that a port scan does not fill the log.

    The library's own debug records are dropped: they hold the frames, and the token in the headers.
    """

    @override
    def isEnabledFor(self, level: int) -> bool:
        return level > logging.DEBUG and self.logger.isEnabledFor(logging.DEBUG)

    @override
    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if self.isEnabledFor(level):
            self.logger.log(logging.DEBUG, msg, *args, **kwargs)


def peer_address(connection: ServerConnection) -> str:
    """Return the IP address of the peer; empty if it is gone already."""
    address: tuple[str, int] | None = connection.remote_address
    return address[0] if address else ""


def header(request: Request, name: str) -> str:
    """Return a header of a request; empty unless it occurs exactly once."""
    values = request.headers.get_all(name)
    return values[0] if len(values) == 1 else ""
