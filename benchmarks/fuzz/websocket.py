"""WebSocket connections on real sockets: what comes before the handshake is done, and the frames after it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
import random
from typing import Final, override

from websockets.frames import Frame, Opcode

from custom_components.xiaozhi.protocol.messages import AudioFormat, DeviceMessage
from custom_components.xiaozhi.protocol.timeouts import WebSocketTimeouts
from custom_components.xiaozhi.protocol.transport.link import (
    Admission,
    Channel,
    Credentials,
    Link,
    LinkHandler,
)
from custom_components.xiaozhi.protocol.transport.websocket.framing import (
    MAX_PACKET_BYTES,
    FramingError,
    pack,
    unpack,
)
from custom_components.xiaozhi.protocol.transport.websocket.listener import WebSocketListener

from .inputs import mutated, spoiled_json
from .target import Outcome

__all__ = ["frames", "framing", "handshakes"]

_HOST: Final = "127.0.0.1"
_DOWNLINK: Final = AudioFormat(24000, 60)
_TOKEN: Final = "a1b2c3d4"
_REQUEST: Final = (
    "GET /xiaozhi/v1/ HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\nClient-Id: a-1\r\n"
    "Connection: Upgrade\r\nDevice-Id: 02:00:00:00:00:01\r\nProtocol-Version: {version}\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nUpgrade: websocket\r\n\r\n"
)
_HELLO: Final = (
    '{"type":"hello","version":1,"features":{"mcp":true},"transport":"websocket","audio_params":'
    '{"format":"opus","sample_rate":16000,"channels":1,"frame_duration":60}}'
)
_TEXTS: Final = (
    '{"session_id":"a1","type":"listen","state":"start","mode":"auto"}',
    '{"session_id":"a1","type":"listen","state":"stop"}',
    '{"session_id":"a1","type":"abort"}',
    '{"session_id":"a1","type":"mcp","payload":{"jsonrpc":"2.0","id":1,"result":{}}}',
)
# The listener allows 64 unauthenticated connections, and closes the oldest ones.
_CONNECTIONS: Final = 24
_PATIENCE: Final = 60
_CHECK_EVERY: Final = 2000


class _Owner(LinkHandler):
    """Counts what arrives on the links of the listener."""

    def __init__(self) -> None:
        self.packets = 0
        self.messages = 0
        self.open_links = 0

    @override
    def channel_opened(self, channel: Channel) -> None:
        pass

    @override
    def message_received(self, message: DeviceMessage) -> None:
        self.messages += 1

    @override
    def audio_received(self, packet: bytes, missing: int) -> None:
        if len(packet) > MAX_PACKET_BYTES:
            raise AssertionError(f"a packet of {len(packet)} bytes came through")
        self.packets += 1

    @override
    def channel_closed(self, reason: str) -> None:
        pass

    @override
    def link_closed(self, reason: str) -> None:
        self.open_links -= 1

    def attach(self, link: Link) -> LinkHandler:
        """Take a link."""
        self.open_links += 1
        return self

    def admit(self, credentials: Credentials) -> Admission | None:
        """Accept devices with the token."""
        return Admission(attach=self.attach, pings_safe=False) if credentials.token == _TOKEN else None


@dataclass(slots=True)
class _Peer:
    """The other end of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    drain: asyncio.Task[bytes] | None = None

    @property
    def over(self) -> bool:
        """Whether the server has ended it."""
        return self.drain is None or self.drain.done()

    async def write(self, data: bytes) -> None:
        """Send, unless the connection has ended."""
        with suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()

    def end(self) -> None:
        """Close it."""
        if self.drain is not None:
            self.drain.cancel()
        self.writer.transport.abort()


class _WebSocketTarget:
    """A listener, clients that send malformed data, and a device that must not be disturbed."""

    def __init__(self, listener: WebSocketListener, owner: _Owner, chance: random.Random) -> None:
        self.outcome = Outcome()
        self.owner = owner
        self._port = listener.port
        self._chance = chance
        self._number = 0
        self._bystander: _Peer | None = None

    async def open(self) -> None:
        """Connect the correct device."""
        self._bystander = await self._device()

    async def check(self) -> None:
        """Send a packet from the correct device, which must arrive. Raises `AssertionError`."""
        bystander, before = self._bystander, self.owner.packets
        assert bystander is not None
        await bystander.write(Frame(Opcode.BINARY, b"\x58" * 40).serialize(mask=True))
        async with asyncio.timeout(_PATIENCE):
            while self.owner.packets == before:
                if bystander.over:
                    raise AssertionError("the device that behaves was hung up on")
                await asyncio.sleep(0.001)

    async def count(self) -> None:
        """Count an input; sometimes check that the device still works."""
        self._number += 1
        if self._number % _CHECK_EVERY == 0:
            await self.check()

    def end(self) -> None:
        """Close all connections."""
        if self._bystander is not None:
            self._bystander.end()

    async def _dial(self) -> _Peer:
        return _Peer(*await asyncio.open_connection(_HOST, self._port))

    async def _device(self, version: int = 1) -> _Peer:
        peer = await self._dial()
        await peer.write(_REQUEST.format(token=_TOKEN, version=version).encode())
        async with asyncio.timeout(_PATIENCE):
            head = await peer.reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head:
            raise AssertionError(f"a device was refused: {head!r}")
        await peer.write(Frame(Opcode.TEXT, _HELLO.encode()).serialize(mask=True))
        peer.drain = asyncio.create_task(_drain(peer.reader))
        return peer


class _Frames(_WebSocketTarget):
    """Devices in conversations, each until the server closes it."""

    def __init__(self, listener: WebSocketListener, owner: _Owner, chance: random.Random) -> None:
        super().__init__(listener, owner, chance)
        self._peers: dict[int, _Peer] = {}
        self._calls: dict[int, asyncio.Task[_Peer]] = {}
        self._next = 0

    def inputs(self) -> Iterator[bytes]:
        """Yield frames, and pieces of frames."""
        chance = self._chance
        while True:
            kind = chance.random()
            if kind < 0.02:
                yield chance.randbytes(chance.randrange(64))
                continue
            if kind < 0.6:
                opcode, data = Opcode.TEXT, spoiled_json(chance, _TEXTS)
            elif kind < 0.95:
                packet = chance.randbytes(chance.randrange(120))
                opcode, data = Opcode.BINARY, mutated(chance, pack(chance.randrange(1, 4), packet))
            else:
                opcode, data = chance.choice(list(Opcode)), chance.randbytes(chance.randrange(126))
            final = opcode >= Opcode.CLOSE or chance.random() < 0.98
            whole = Frame(opcode, data, final).serialize(mask=chance.random() < 0.99)
            yield whole if chance.random() < 0.9 else mutated(chance, whole)

    @override
    def end(self) -> None:
        for call in self._calls.values():
            call.cancel()
        for peer in self._peers.values():
            peer.end()
        super().end()

    async def take(self, data: bytes) -> None:
        """Send it from the next device."""
        peer = await self._ready()
        await peer.write(data)
        await asyncio.sleep(0)
        self.outcome.taken = self.owner.messages + self.owner.packets
        await self.count()

    async def _ready(self) -> _Peer:
        """Return a device in a conversation; closed ones reconnect meanwhile."""
        async with asyncio.timeout(_PATIENCE):
            while True:
                for _ in range(_CONNECTIONS):
                    self._next = number = (self._next + 1) % _CONNECTIONS
                    if (peer := self._peers.get(number)) is not None:
                        if not peer.over:
                            return peer
                        peer.end()
                        del self._peers[number]
                        self.outcome.refused += 1
                    call = self._calls.get(number)
                    if call is None:
                        self._calls[number] = asyncio.create_task(self._device(1 + number % 3))
                    elif call.done():
                        self._peers[number] = self._calls.pop(number).result()
                await asyncio.sleep(0.001)


class _Handshakes(_WebSocketTarget):
    """Clients before the handshake, each with its own connection; some send too little."""

    def inputs(self) -> Iterator[bytes]:
        """Yield requests."""
        chance = self._chance
        request = _REQUEST.format(token=_TOKEN, version=1).encode()
        hello = Frame(Opcode.TEXT, _HELLO.encode()).serialize(mask=True)
        while True:
            data = (
                chance.randbytes(chance.randrange(600))
                if chance.random() < 0.05
                else mutated(chance, request)
            )
            yield data + hello if chance.random() < 0.5 else data

    async def take(self, data: bytes) -> None:
        """Connect and send it in two pieces; wait for an answer if there must be one."""
        peer = await self._dial()
        try:
            cut = len(data) // 2
            await peer.write(data[:cut])
            await asyncio.sleep(0)
            await peer.write(data[cut:])
            head = b""
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(0.05):
                    head = await peer.reader.read(64)
            if head and not head.startswith(b"HTTP/1.1 "):
                raise AssertionError(f"the answer is {head!r}")
            if head.startswith(b"HTTP/1.1 401"):
                raise AssertionError("Home Assistant would ban the address")
            if head.startswith(b"HTTP/1.1 101"):
                self.outcome.taken += 1
            else:
                self.outcome.refused += 1
        finally:
            peer.end()
        await self.count()


class _Framing:
    """Both directions of the framing of audio in a frame."""

    def __init__(self, chance: random.Random) -> None:
        self.outcome = Outcome()
        self._chance = chance

    def inputs(self) -> Iterator[bytes]:
        """Yield the version in one byte, then a frame."""
        chance = self._chance
        while True:
            version = chance.randrange(5)
            size = chance.choice((0, 1, 40, 200, MAX_PACKET_BYTES, MAX_PACKET_BYTES + 1))
            frame = (
                bytes(16) + bytes(size) if size > MAX_PACKET_BYTES else pack(version, chance.randbytes(size))
            )
            yield bytes([version]) + mutated(chance, frame)

    async def take(self, data: bytes) -> None:
        """Unpack it, and pack its content again."""
        version = data[0] if data else 0
        try:
            packet = unpack(version, data[1:])
        except FramingError:
            self.outcome.refused += 1
            return
        self.outcome.taken += 1
        if unpack(version, pack(version, packet)) != packet:
            raise AssertionError("the packet is another one")


@asynccontextmanager
async def framing(chance: random.Random) -> AsyncIterator[_Framing]:
    """Frame audio."""
    yield _Framing(chance)


@asynccontextmanager
async def frames(chance: random.Random) -> AsyncIterator[_Frames | _Handshakes]:
    """Receive frames of devices."""
    async with _listening(_Frames, chance) as target:
        yield target


@asynccontextmanager
async def handshakes(chance: random.Random) -> AsyncIterator[_Frames | _Handshakes]:
    """Receive handshakes."""
    async with _listening(_Handshakes, chance) as target:
        yield target


@asynccontextmanager
async def _listening(
    kind: type[_Frames | _Handshakes], chance: random.Random
) -> AsyncIterator[_Frames | _Handshakes]:
    owner = _Owner()
    listener = WebSocketListener(
        owner.admit,
        downlink=_DOWNLINK,
        timeouts=WebSocketTimeouts(open=1, hello=1, close=0.05, upgrade_delay=0),
    )
    await listener.start(_HOST, 0)
    try:
        target = kind(listener, owner, chance)
        await target.open()
        try:
            yield target
            await target.check()
        finally:
            target.end()
    finally:
        await listener.stop()
    if owner.open_links:
        raise AssertionError(f"{owner.open_links} links were never told that they are over")


async def _drain(reader: asyncio.StreamReader) -> bytes:
    """Read until the end, and drop everything."""
    with suppress(ConnectionError):
        while await reader.read(1 << 16):
            pass
    return b""
