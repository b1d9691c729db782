"""View on Home Assistant's web server where a device downloads sound while it is made.

The device reads as fast as it plays, after some seconds that it buffers, so what it has taken shows how far
it is. It asks without any credentials, and plays only what ends properly: a connection that breaks off cuts
the sound at once. Source: `main/notify/notify_player.cc` of the firmware.
"""

import asyncio
from contextlib import aclosing, suppress
from dataclasses import dataclass
import logging
import socket
import struct
from typing import Final

from aiohttp import web

from ..const import STREAM_PATH
from ..device_http.access import DeviceView, for_devices
from ..device_http.transfers import Stream, Transfers
from ..protocol.transport.tcp_backlog import unacknowledged
from ..timeouts import AnnouncementTimeouts
from ..util.event_loop import first_of, loop_time

_LOGGER = logging.getLogger(__name__)

# Sent and not taken: more would make it unclear what has been heard, less would let the device run dry.
_MAX_BACKLOG: Final = 8 * 1024
_HEADERS: Final = {
    "Cache-Control": "no-store",
    # A proxy that reads ahead would hide how much the device has taken.
    "X-Accel-Buffering": "no",
}
# Closing a connection then drops what was not sent, and the device notices at once.
_RESET_AT_CLOSE: Final = struct.pack("ii", 1, 0)


class StreamView(DeviceView[Transfers]):
    """View at which a device downloads a stream."""

    url = STREAM_PATH + "/{token}"
    name = "api:xiaozhi:stream"

    @for_devices
    async def get(self, request: web.Request, token: str) -> web.StreamResponse:
        """Send the stream at this address, no faster than the device takes it."""
        stream = self.part.take(Stream, token)
        response = web.StreamResponse(headers={**_HEADERS, "Content-Type": stream.content_type})
        response.enable_chunked_encoding()
        sender = _Sender(request, response, stream)
        stream.direct = _is_direct(request)
        stream.requested.set_result(loop_time())
        try:
            async with first_of(sender.send(), stream.stopped.wait()):
                pass
        finally:
            # A device that closes the connection meanwhile cancels this, too.
            stream.ended.set_result(loop_time())
            if not stream.delivered:
                sender.break_off()
        return response


@dataclass(eq=False, slots=True)
class _Sender:
    """Sends a stream over one connection."""

    _request: web.Request
    _response: web.StreamResponse
    _stream: Stream
    _sent: int = 0

    async def send(self) -> None:
        """Send everything, and wait until the device closes the connection. Never raises."""
        async with aclosing(self._stream.content) as content:
            try:
                await self._response.prepare(self._request)
                async for part in content:
                    await self._response.write(part)
                    self._sent += len(part)
                    await self._wait_taken(_MAX_BACKLOG, AnnouncementTimeouts.poll)
                # The device takes a body without its end for a failure. So if it closes the connection after
                # this, it has read everything, or was interrupted at the last moment.
                await self._wait_taken(0, AnnouncementTimeouts.last_look)
                await self._response.write_eof()
            except (TimeoutError, ConnectionError) as err:
                _LOGGER.debug("A stream was taken up to byte %d only: %s", self._stream.taken, err)
                return
            except Exception as err:  # noqa: BLE001 - the source of a stream may raise anything
                self._stream.error = err
                return
        self._stream.delivered = True
        # aiohttp, as Home Assistant configures it, cancels this when the device closes the connection.
        await asyncio.sleep(AnnouncementTimeouts.closing)
        # A device that hangs has not read it. Only a proxy keeps the connection.
        self._stream.delivered = not self._stream.direct

    def break_off(self) -> None:
        """Drop the connection with all data that the device has not taken."""
        if (transport := self._request.transport) is None:
            return
        if (connection := transport.get_extra_info("socket")) is not None:
            with suppress(OSError):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        transport.abort()

    async def _wait_taken(self, backlog: int, poll: float) -> None:
        """Wait until at most `backlog` bytes are on their way, polled every `poll` seconds.

        Raises `TimeoutError` if nothing moves.
        """
        patience_until = loop_time() + AnnouncementTimeouts.stall
        while True:
            if (transport := self._request.transport) is None or transport.is_closing():
                raise ConnectionResetError("the device has closed the connection")
            waiting = unacknowledged(transport)
            if (taken := self._sent - waiting) > self._stream.taken:
                self._stream.taken = taken
                patience_until = loop_time() + AnnouncementTimeouts.stall
            if waiting <= backlog:
                return
            if loop_time() >= patience_until:
                raise TimeoutError(f"the device has taken nothing for {AnnouncementTimeouts.stall:.0f} s")
            await asyncio.sleep(poll)


def _is_direct(request: web.Request) -> bool:
    """Whether there is no proxy between us and the device."""
    peer = request.transport.get_extra_info("peername") if request.transport is not None else None
    return peer is not None and peer[0] == request.remote
