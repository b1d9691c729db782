"""The WebSocket transport.

Source: the firmware's `websocket_protocol.cc` and `web_socket.cc` of its network component.

That client is its own: no extensions, `Host` without port, `Sec-WebSocket-Accept` not looked at, no close
frame when it hangs up, none in answer to the server's.
"""

import asyncio
import base64
import secrets
import ssl
from typing import Final, override

from ..board.cjson import JsonObject, dumps, find, loads_object
from ..board.crash import DeviceCrashed, stoi
from .hello import device_hello
from .misbehave import Misbehaviour
from .network import Connection
from .transport import Transport, TransportContext
from .websocket_frames import FrameReader, Opcode, frame_bytes

_TIMEOUT: Final = 10.0
_MAX_SEND: Final = 65535
_MAX_PONG: Final = 125
# As that of streams: half of what the system then takes.
_WINDOW: Final = 2048
# Of a frame between 126 and 65535 bytes that is not masked.
_FRAME_HEADER: Final = 4


class WebSocketTransport(Transport):
    """Connects only for a conversation."""

    name = "websocket"

    def __init__(self, context: TransportContext) -> None:
        super().__init__(context)
        self._connection: Connection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._connected = False
        self._version = 1
        self._late_pong: bytes | None = None

    @override
    async def start(self) -> None:
        """Do nothing: an idle device is not connected."""

    @property
    @override
    def connected(self) -> bool:
        return self._connected

    @property
    @override
    def channel_open(self) -> bool:
        return self._connected and not self._failed and not self._stale

    @override
    async def open_channel(self) -> bool:
        self._failed = False
        url = self._nvs.get_string("websocket", "url")
        self._version = self._nvs.get_int("websocket", "version") or self._version
        if self._version in (2, 3):
            raise NotImplementedError("audio behind a header, which no server of ours asks for")
        self._destroy()
        try:
            async with self._pace.timeout(_TIMEOUT):
                await self._connect(url)
        except OSError, EOFError, ValueError, asyncio.LimitOverrunError:
            self._drop()
            return self._fail("SERVER_NOT_CONNECTED")
        await self._faults.before_hello(self.send_raw)
        hello = device_hello(
            self._profile, version=self._version, transport="websocket", charset=self._charset()
        )
        text = dumps(hello)
        if not await self.send_text(text):
            return False
        try:
            async with self._pace.timeout(_TIMEOUT):
                await self._hello.wait()
        except TimeoutError:
            return self._fail("SERVER_TIMEOUT")
        # Only here: an unexpected hello makes the next wait end at once.
        self._hello.clear()
        stops = Misbehaviour.STOP_READING in self._faults.what
        if stops and self._reading is not None and self._connection is not None:
            self._reading.cancel()
            self._connection.stop_reading()
        await self._faults.after_hello(self.send_raw, text)
        return True

    @override
    async def close_channel(self) -> None:
        self._destroy()

    @override
    async def send_text(self, text: str) -> bool:
        if not self._connected:
            return False
        payload = text.encode()
        self._recorder.add("sent", text=text)
        if len(payload) > _MAX_SEND or not await self.send_raw(Opcode.TEXT, payload):
            return self._fail("SERVER_ERROR")
        return True

    @override
    async def send_audio(self, packet: bytes) -> bool:
        return await self.send_raw(Opcode.BINARY, packet)

    @override
    async def send_raw(self, opcode: Opcode, payload: bytes) -> bool:
        connection = self._connection
        if not self._connected or connection is None:
            return False
        frame = frame_bytes(opcode, payload)
        if self._late_pong is not None:
            # Before 1.9.0 the two tasks that write shared no lock.
            frame, self._late_pong = frame[:2] + self._late_pong + frame[2:], None
        connection.write(frame)
        await connection.drain()
        return True

    @override
    def lose_connection(self) -> None:
        self._destroy()

    @override
    def shut_down(self) -> None:
        self.power_off()

    @override
    def power_off(self) -> None:
        self._connected = False
        self._drop()

    def _destroy(self) -> None:
        """Replace the client object. An open connection is closed, and the listener gets that."""
        was_connected = self._connected
        self.power_off()
        if was_connected:
            self._listener.channel_closed()

    def _drop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _connect(self, url: str) -> None:
        """Raise one of several errors when the server does not answer with 101."""
        secure, host, port, path = _split(url)
        context = ssl.create_default_context() if secure else None
        self._connection = connection = await self._network.connect(host, port, context, window=_WINDOW)
        token = self._nvs.get_string("websocket", "token")
        if token and " " not in token:
            token = f"Bearer {token}"
        headers = [
            f"Host: {host}",
            *([f"Authorization: {token}"] if token else []),
            f"Client-Id: {self._identity.client_id}",
            "Connection: Upgrade",
            f"Device-Id: {self._identity.mac}",
            f"Protocol-Version: {self._version}",
            f"Sec-WebSocket-Key: {base64.b64encode(secrets.token_bytes(16)).decode()}",
            "Sec-WebSocket-Version: 13",
            "Upgrade: websocket",
        ]
        connection.write("\r\n".join((f"GET {path} HTTP/1.1", *headers, "", "")).encode())
        answer = await connection.reader.readuntil(b"\r\n\r\n")
        if not answer.startswith(b"HTTP/1.1 101"):
            raise ValueError("no 101")
        self._connected = True
        self._last_incoming = asyncio.get_running_loop().time()
        self._reading = self._spawn(self._read(FrameReader(connection.reader)))

    async def _read(self, frames: FrameReader) -> None:
        try:
            while True:
                opcode, payload = await frames.read()
                if opcode == Opcode.CLOSE:
                    break
                await self._received(opcode, payload)
        except OSError, EOFError:
            pass
        # The device does not close the socket before the next conversation; the server has to.
        self._connected = False
        self._listener.channel_closed()

    async def _received(self, opcode: int, payload: bytes) -> None:
        match opcode:
            case Opcode.TEXT if self._overflows(payload):
                raise EOFError("the receive buffer is full")
            case Opcode.TEXT:
                self._last_incoming = asyncio.get_running_loop().time()
                self._text(payload)
            case Opcode.BINARY:
                self._last_incoming = asyncio.get_running_loop().time()
                self._deliver_audio(payload)
            case Opcode.PING if len(payload) <= _MAX_PONG:
                if self._profile.pings_safe:
                    await self.send_raw(Opcode.PONG, payload)
                else:
                    self._late_pong = frame_bytes(Opcode.PONG, payload)

    def _overflows(self, payload: bytes) -> bool:
        room = self._profile.text_buffer
        return room is not None and len(payload) > room - _FRAME_HEADER

    def _text(self, payload: bytes) -> None:
        message = loads_object(payload)
        kind = find(message, "type")
        if message is None or not isinstance(kind, str):
            return
        if kind == "hello":
            self._server_hello(message)
        else:
            self._listener.message_received(message)

    def _server_hello(self, message: JsonObject) -> None:
        transport = find(message, "transport")
        if not isinstance(transport, str):
            raise DeviceCrashed("the server's hello has no string 'transport'")
        if transport != "websocket":
            return
        self._read_hello(message)
        self._hello.set()


def _split(url: str) -> tuple[bool, str, int, str]:
    """Split an address as the firmware does: the port follows the first colon anywhere."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        raise ValueError("no address")
    secure = scheme in {"wss", "https"}
    host, colon, after = rest.partition(":")
    if not colon:
        host, slash, path = rest.partition("/")
        return secure, host, 443 if scheme == "wss" else 80, slash + path or "/"
    port, slash, path = after.partition("/")
    return secure, host, stoi(port), slash + path or "/"
