"""The link of a device that has connected to the WebSocket listener.

Source: the firmware's `main/protocols/websocket_protocol.cc`, and `web_socket.cc` of its network component.
A stock device connects for one conversation: link and audio channel are one.
"""

import asyncio
from collections.abc import Callable
import logging
import secrets
from typing import ClassVar, Final, override

from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from ...audio.opus_packet import is_announced
from ...clock import loop_time
from ...limits import FloodError, FloodGuard, LinkCounters
from ...messages import (
    AudioFormat,
    DeviceHello,
    DeviceMessage,
    Goodbye,
    JsonObject,
    MessageError,
    UnknownMessage,
    encode,
    in_session,
    parse_message,
    server_hello,
)
from ...shortening import encode_within
from ...timeouts import WebSocketTimeouts
from ..link import Channel, Link, LinkClosedError, LinkHandler, LinkKind
from .audio_framing import FramingError, framing_version, pack, unpack
from .websocket_connection import WebSocketConnection, header, peer_address

_LOGGER = logging.getLogger(__name__)

_TRANSPORT: Final = "websocket"


class _ViolationError(Exception):
    """The device violates the protocol; the text becomes the reason in the close frame."""


class WebSocketLink(Link):
    """The connection of one device for one conversation."""

    kind: ClassVar[LinkKind] = LinkKind.WEBSOCKET
    stays_connected: ClassVar[bool] = False

    def __init__(
        self,
        connection: WebSocketConnection,
        downlink: AudioFormat,
        timeouts: WebSocketTimeouts,
        clock: Callable[[], float],
    ) -> None:
        """Use a connection after its opening handshake; `run` does the rest."""
        self.counters = LinkCounters()
        self._connection = connection
        self._downlink = downlink
        self._timeouts = timeouts
        self._clock = clock
        self._remote = peer_address(connection)
        self._framing = framing_version(header(connection.request, "Protocol-Version"))
        self._guard = FloodGuard()
        # Packets dropped since the last valid one: their time has passed as well.
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
        message = in_session(message, self._require_channel().session_id)
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
        """Talk to the device until the link ends. Never raises."""
        watch: asyncio.Task[None] | None = None
        try:
            admission = self._connection.admission
            self._handler = handler = admission.attach(self)
            if self._ended is not None:
                # Closed during `attach`, before there was a handler.
                _call(handler.link_closed, self._ended)
                return
            await self._shake_hands(handler)
            if admission.pings_safe:
                watch = asyncio.create_task(self._watch())
            while True:
                frame = await self._connection.recv()
                if self._ended is None:
                    self._receive(handler, frame)
                # Buffered messages come without a pause, and must not block the loop.
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
            # Not counted as a flood: a client may announce a wrong duration.
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
        """End the link of a device that is silent: one that lost power does not close it.

        Whatever it sends is a sign of life: with small buffers, the answer to a ping may come late.
        """
        while True:
            await asyncio.sleep(self._timeouts.ping_interval)
            pinged = loop_time()
            try:
                async with asyncio.timeout(self._timeouts.pong):
                    await (await self._connection.ping())
            except ConnectionClosed:
                return
            except TimeoutError:
                if self._connection.heard_at < pinged:
                    await self.end(CloseCode.INTERNAL_ERROR, "the device does not answer any more")
                    return

    def _require_channel(self) -> Channel:
        if self._channel is None:
            raise LinkClosedError(self._ended or "no conversation is open yet")
        return self._channel

    async def _send(self, data: bytes, *, text: bool) -> None:
        try:
            async with asyncio.timeout(self._timeouts.send):
                await self._connection.send(data, text=text)
        except ConnectionClosed as err:
            raise LinkClosedError(self._ended or _describe(err)) from err
        except TimeoutError:
            reason = "the device does not take what it is sent"
            self._report_end(reason)
            self._connection.abort()
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
    """Describe why a connection ended, unless `WebSocketLink.end` ended it."""
    if err.sent is not None and not err.rcvd_then_sent:
        return f"closed for what the device sent: {err.sent.reason or err.sent.code}"
    return "the device closed the connection"
