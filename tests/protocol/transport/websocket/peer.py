"""What stands on both sides of a WebSocket listener in its tests: devices, and whoever owns their links."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
import json
import socket
from typing import Any, Self

import pytest
from websockets.frames import Close, Frame, Opcode

from custom_components.xiaozhi.protocol.messages import DeviceMessage
from custom_components.xiaozhi.protocol.timeouts import WebSocketTimeouts
from custom_components.xiaozhi.protocol.transport.link import (
    Admission,
    Channel,
    Credentials,
    Link,
    LinkHandler,
    LinkKind,
)
from custom_components.xiaozhi.protocol.transport.mqtt.mqtt_server import MqttServer
from custom_components.xiaozhi.protocol.transport.websocket.websocket_server import WebSocketServer
from simulator.link.websocket_frames import read_frame

TOKEN = "a1b2c3d4"
HELLO: dict[str, Any] = {
    "type": "hello",
    "version": 1,
    "features": {"mcp": True},
    "transport": "websocket",
    "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60},
}
# Long enough for a busy machine, short enough to fail.
PATIENCE = 10
AT_ONCE = pytest.mark.timeouts(WebSocketTimeouts, close=0.05, upgrade_delay=0)
"""Mark of tests in which neither an answer to a device nor the end of its connection takes time."""


def port_of(server: WebSocketServer | MqttServer) -> int:
    """Return the open port."""
    assert server._server is not None
    return next(iter(server._server.sockets)).getsockname()[1]


class Recorder(LinkHandler):
    """Keeps what happens on one link."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []
        self._news = asyncio.Event()

    def channel_opened(self, channel: Channel) -> None:
        self._add("opened", channel)

    def message_received(self, message: DeviceMessage) -> None:
        self._add("message", message)

    def message_too_long(self) -> None:
        self._add("too_long", None)

    def audio_received(self, packet: bytes, missing: int) -> None:
        self._add("audio", (packet, missing))

    def channel_closed(self, reason: str) -> None:
        self._add("channel_closed", reason)

    def link_closed(self, reason: str) -> None:
        self._add("link_closed", reason)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.events]

    def values(self, name: str) -> list[Any]:
        return [value for event, value in self.events if event == name]

    async def wait_for(self, name: str, count: int = 1) -> Any:
        async with asyncio.timeout(PATIENCE):
            while len(self.values(name)) < count:
                self._news.clear()
                await self._news.wait()
        return self.values(name)[count - 1]

    def _add(self, name: str, value: Any) -> None:
        self.events.append((name, value))
        self._news.set()


def failing_in(*methods: str) -> Recorder:
    """Return a handler that raises an error in these methods."""
    recorder = Recorder()

    def fail(method: Callable[..., None], *arguments: Any) -> None:
        method(*arguments)
        raise RuntimeError("no such thing")

    for method in methods:
        setattr(recorder, method, partial(fail, getattr(recorder, method)))
    return recorder


@dataclass
class Owner:
    """Owns the links of those that it lets in, which is whoever has the token."""

    pings_safe: bool = False
    text_limit: int | None = None
    make_handler: Callable[[], Recorder] = Recorder
    seen: list[Credentials] = field(default_factory=list)
    addresses: dict[str, str] = field(default_factory=dict)
    links: list[Any] = field(default_factory=list)
    recorders: list[Recorder] = field(default_factory=list)

    def address_for(self, mac: str) -> str | None:
        return self.addresses.get(mac)

    def admit(self, credentials: Credentials, kind: LinkKind) -> Admission | None:
        self.seen.append(credentials)
        return self.admission if credentials.token == TOKEN else None

    @property
    def admission(self) -> Admission:
        return Admission(attach=self.attach, pings_safe=self.pings_safe, text_limit=self.text_limit)

    def attach(self, link: Link) -> LinkHandler:
        self.links.append(link)
        self.recorders.append(self.make_handler())
        return self.recorders[-1]


@dataclass
class Site(Owner):
    """A running listener."""

    listener: WebSocketServer = field(init=False)
    devices: list[RawDevice] = field(default_factory=list)

    async def start(self, host: str | None = "127.0.0.1") -> None:
        self.listener = WebSocketServer(self)
        await self.listener.start(host, 0)


class RawDevice:
    """A TCP connection that does what a test tells it to, right or wrong.

    Like the firmware it never answers a close frame and never closes its end by itself.
    """

    link: Link
    recorder: Recorder

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def dial(cls, site: Site, *, receive_buffer: int | None = None, address: str = "127.0.0.1") -> Self:
        sock = socket.socket(proto=socket.IPPROTO_TCP)
        sock.bind((address, 0))
        sock.setblocking(False)
        if receive_buffer is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port_of(site.listener)))
        device = cls(*await asyncio.open_connection(sock=sock, limit=1024))
        site.devices.append(device)
        return device

    @classmethod
    async def connect(cls, site: Site, *, receive_buffer: int | None = None, **headers: str) -> Self:
        """Do the opening handshake as the firmware does."""
        device = await cls.dial(site, receive_buffer=receive_buffer)
        status, _ = await device.request(**headers)
        assert status == 101
        device.link, device.recorder = site.links[-1], site.recorders[-1]
        return device

    @classmethod
    async def talking(
        cls, site: Site, *, receive_buffer: int | None = None, version: int = 1, **headers: str
    ) -> Self:
        device = await cls.connect(site, receive_buffer=receive_buffer, **headers)
        device.send_json(HELLO | {"version": version})
        assert (await device.receive_json())["type"] == "hello"
        return device

    async def request(self, path: str = "/xiaozhi/v1/", extra: str = "", **headers: str) -> tuple[int, str]:
        """Send the firmware's request; return status and head (or all, unless 101) of the response."""
        values = {
            # The firmware leaves the port out.
            "Host": "127.0.0.1",
            "Authorization": f"Bearer {TOKEN}",
            "Client-Id": "8a7c3a1e-6f0b-4f0e-9a55-0a9b6f6a2d11",
            "Connection": "Upgrade",
            "Device-Id": "94:a9:90:28:a4:5f",
            "Protocol-Version": "1",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            "Sec-WebSocket-Version": "13",
            "Upgrade": "websocket",
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in values.items() if value)]
        self.writer.write(("\r\n".join(lines) + "\r\n" + extra + "\r\n").encode())
        async with asyncio.timeout(PATIENCE):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            status = int(head.split(" ", 2)[1])
            return status, head if status == 101 else head + (await self.reader.read()).decode()

    def send_json(self, message: Any) -> None:
        self.send_frame(Opcode.TEXT, json.dumps(message).encode())

    def send_frame(self, opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> None:
        self.writer.write(Frame(opcode, data, fin).serialize(mask=True))

    async def receive(self) -> Frame | None:
        """Return the next frame; None when the server has ended the TCP connection."""
        try:
            async with asyncio.timeout(PATIENCE):
                opcode, _, data = await read_frame(self.reader)
                return Frame(Opcode(opcode), data)
        except asyncio.IncompleteReadError, ConnectionError:
            return None

    async def receive_json(self) -> Any:
        frame = await self.receive()
        assert frame is not None
        assert frame.opcode is Opcode.TEXT
        return json.loads(bytes(frame.data))

    async def receive_close(self, *, at_once: bool = False) -> tuple[int, str]:
        """Return what the close frame says, and check that the TCP connection ends after it.

        With `at_once`, check that nothing comes before it either.
        """
        frame = await self.receive()
        while not at_once and frame is not None and frame.opcode is not Opcode.CLOSE:
            frame = await self.receive()
        assert frame is not None, "the connection ended without a close frame"
        assert frame.opcode is Opcode.CLOSE
        assert await self.receive() is None, "the TCP connection is still open"
        close = Close.parse(bytes(frame.data))
        return close.code, close.reason

    async def wait_until_dropped(self) -> None:
        while await self.receive() is not None:
            pass

    async def hang_up(self) -> None:
        """End the TCP connection without a close frame, as the firmware does."""
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()
