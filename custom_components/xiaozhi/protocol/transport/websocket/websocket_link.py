"""The link of a device that has connected to the WebSocket listener.

Source: the firmware's `main/protocols/websocket_protocol.cc`, and `web_socket.cc` of its network component.
A stock device connects for one conversation: link and audio channel are one.
"""

import asyncio
from collections import deque
import logging
from math import inf
from typing import ClassVar, Final, override

from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode

from ....util.event_loop import loop_time
from ....util.limits import FloodError
from ...audio.opus_codec import opus_samples
from ...messages import (
    DeviceHello,
    Goodbye,
    JsonObject,
    MessageError,
    UnknownMessage,
    encode,
    encode_within,
    in_session,
    parse_message,
    server_hello,
)
from ...timeouts import WebSocketTimeouts
from ..link import Channel, Link, LinkClosedError, LinkKind
from .audio_framing import AudioFraming, FramingError
from .websocket_connection import WebSocketConnection, peer_address

_LOGGER = logging.getLogger(__name__)

_TRANSPORT: Final = "websocket"
# Speech takes a few hundred bytes a packet; 4000 is 120 ms at 266 kbit/s.
_MAX_PACKET_BYTES: Final = 4000
# Packets on their way at once: the shortest play queue (1.2 s), and more than a slow Wi-Fi needs.
_MAX_ON_THE_WAY: Final = 20


class _ViolationError(Exception):
    """The device violates the protocol; the text becomes the reason in the close frame."""


class WebSocketLink(Link):
    """The connection of one device for one conversation."""

    kind: ClassVar[LinkKind] = LinkKind.WEBSOCKET
    stays_connected: ClassVar[bool] = False

    def __init__(self, connection: WebSocketConnection) -> None:
        """Use a connection after its opening handshake; `run` does the rest."""
        super().__init__()
        self._connection = connection
        self._remote = peer_address(connection)
        self._framing = AudioFraming(1)
        self._pinged_at = -inf
        """`loop_time` of the last ping of a program."""
        # Packets dropped since the last valid one: their time has passed as well.
        self._missing = 0
        self._sizes = deque[int](maxlen=_MAX_ON_THE_WAY)
        """Sizes of the last audio packets."""

    @property
    @override
    def remote(self) -> str:
        return self._remote

    @property
    @override
    def pinged_at(self) -> float:
        return max(self._connection.pinged_at, self._pinged_at)

    @property
    @override
    def held(self) -> int:
        return self._connection.unacknowledged

    @override
    async def send(self, message: JsonObject) -> None:
        message = in_session(message, self._require_channel().session_id)
        limit = self._connection.admission.text_limit
        text = encode(message) if limit is None else encode_within(message, limit)
        await self._send(text.encode(errors="replace"), text=True)
        self._sent(message)

    @override
    async def send_audio(self, packet: bytes) -> None:
        self._require_channel()
        frame = self._framing.pack(packet)
        await self._send(frame, text=False)
        self._sizes.append(len(frame))
        self.counters.packets_out += 1

    @override
    async def wait_received(self) -> int:
        if not self._is_held_back():
            return 0
        try:
            async with asyncio.timeout(WebSocketTimeouts.receive):
                while self._is_held_back():  # noqa: ASYNC110 - the kernel tells nobody
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise self._drop_link() from None
        return _MAX_ON_THE_WAY

    def _is_held_back(self) -> bool:
        return len(self._sizes) == _MAX_ON_THE_WAY and self._connection.unacknowledged > sum(self._sizes)

    @override
    async def close_channel(self) -> None:
        if self._channel is not None:
            await self.close("the conversation is over")

    @override
    async def close(self, reason: str) -> None:
        await self.end(CloseCode.NORMAL_CLOSURE, reason)

    async def end(self, code: CloseCode, reason: str) -> None:
        """Close the link with a close code of our choice. Does nothing when it is closed already."""
        self._end(reason)
        await self._connection.hang_up(code, reason)

    async def run(self) -> None:
        """Talk to the device until the link ends. Never raises."""
        watch: asyncio.Task[None] | None = None
        try:
            self.attach(self._connection.admission)
            if self._connection.admission.pings_safe:
                watch = asyncio.create_task(self._watch())
            await self._shake_hands()
            while True:
                frame = await self._connection.recv()
                if self._ended is None:
                    self._receive(frame)
                # Buffered messages come without a pause, and must not block the loop.
                await asyncio.sleep(0)
        except ConnectionClosed as err:
            if err.sent is not None and err.sent.code == CloseCode.MESSAGE_TOO_BIG:
                self.message_too_long()
            self._end(_describe(err))
        except LinkClosedError as err:
            self._end(str(err))
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

    async def _shake_hands(self) -> None:
        hello = await self._receive_hello()
        if hello.transport not in {_TRANSPORT, ""}:
            raise _ViolationError("hello for another transport than websocket")
        self._framing = AudioFraming(hello.version)
        channel = Channel(hello=hello)
        answer = server_hello(transport=_TRANSPORT, session_id=channel.session_id)
        await self._send(encode(answer).encode(), text=True)
        if self._ended is None:
            self._channel = channel
            if not self._tell(self._handler.channel_opened, channel):
                await self.close_channel()

    async def _receive_hello(self) -> DeviceHello:
        # Clients that stay connected say hello only when they are woken. Pings show that they are there.
        patience = None if self._connection.admission.pings_safe else WebSocketTimeouts.hello
        try:
            async with asyncio.timeout(patience):
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

    def _receive(self, frame: str | bytes) -> None:
        now = loop_time()
        if isinstance(frame, bytes):
            self._receive_packet(frame, now)
            return
        match message := self._parse(frame.encode(), now):
            case None:
                pass
            case DeviceHello():
                raise _ViolationError("second hello")
            case UnknownMessage("ping"):
                self._pinged_at = now
            case UnknownMessage() | Goodbye():
                self._count_unknown(message)
            case _:
                self._tell(self._handler.message_received, message)

    def _receive_packet(self, frame: bytes, now: float) -> None:
        self.counters.bytes_in += len(frame)
        self._guard.packet(now)
        try:
            packet = self._framing.unpack(frame)
        except FramingError as err:
            raise _ViolationError(str(err)) from None
        if packet is None or len(packet) > _MAX_PACKET_BYTES:
            self._drop(f"packet of {len(frame)} bytes", now)
            return
        # It may last longer or shorter than the hello says.
        if packet and not opus_samples(packet):
            self.counters.malformed += 1
            self._missing += 1
            return
        self.counters.packets_in += 1
        missing, self._missing = self._missing, 0
        self._tell(self._handler.audio_received, packet, missing)

    async def _watch(self) -> None:
        """End the link of a device that is silent: one that lost power does not close it.

        Whatever it sends is a sign of life: with small buffers, the answer to a ping may come late.
        """
        while True:
            await asyncio.sleep(WebSocketTimeouts.ping_interval)
            pinged = loop_time()
            try:
                async with asyncio.timeout(WebSocketTimeouts.pong):
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
            async with asyncio.timeout(WebSocketTimeouts.send):
                await self._connection.send(data, text=text)
        except ConnectionClosed as err:
            raise LinkClosedError(self._ended or _describe(err)) from err
        except TimeoutError:
            raise self._drop_link() from None
        self.counters.bytes_out += len(data)

    def _drop_link(self) -> LinkClosedError:
        reason = "the device does not take what it is sent"
        self._end(reason)
        self._connection.abort()
        return LinkClosedError(reason)


def _describe(err: ConnectionClosed) -> str:
    """Describe why a connection ended, unless `WebSocketLink.end` ended it."""
    if err.sent is not None and not err.rcvd_then_sent:
        return f"closed for what the device sent: {err.sent.reason or err.sent.code}"
    return "the device closed the connection"
