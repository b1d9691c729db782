"""MQTT packets as a client writes and reads them, written from the standard without the code under test."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Self


def string(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return len(data).to_bytes(2) + data


def packet(first: int, body: bytes) -> bytes:
    length, remaining = b"", len(body)
    while True:
        remaining, digit = divmod(remaining, 128)
        length += bytes((digit | (0x80 if remaining else 0),))
        if not remaining:
            return bytes((first,)) + length + body


def connect(
    client_id: str = "client",
    username: str | None = None,
    password: str | bytes | None = None,
    *,
    keep_alive: int = 60,
    clean_session: bool = True,
    will: tuple[str, bytes] | None = None,
    level: int = 4,
) -> bytes:
    flags = 0x02 * clean_session
    body = string(client_id)
    if will is not None:
        flags |= 0x04 | 0x08 | 0x20
        body += string(will[0]) + string(will[1])
    if username is not None:
        flags |= 0x80
        body += string(username)
    if password is not None:
        flags |= 0x40
        body += string(password)
    return packet(0x10, string("MQTT") + bytes((level, flags)) + keep_alive.to_bytes(2) + body)


def publish(topic: str, payload: bytes, *, qos: int = 0, packet_id: int = 1) -> bytes:
    return packet(0x30 | qos << 1, string(topic) + (packet_id.to_bytes(2) if qos else b"") + payload)


def subscribe(packet_id: int, *filters: str) -> bytes:
    """Encode a SUBSCRIBE at QoS 1."""
    return packet(0x82, packet_id.to_bytes(2) + b"".join(string(name) + b"\x01" for name in filters))


async def read_packet(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return first byte and body of the next packet. Raises `IncompleteReadError` at the end."""
    first = (await reader.readexactly(1))[0]
    length, shift = 0, 0
    while True:
        byte = (await reader.readexactly(1))[0]
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return first, await reader.readexactly(length)


PINGREQ = b"\xc0\x00"
DISCONNECT = b"\xe0\x00"


@dataclass
class WireClient:
    """A client that sends any bytes, also wrong ones."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def open(cls, port: int, address: str = "127.0.0.1") -> Self:
        return cls(*await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0)))

    @classmethod
    async def login(cls, port: int, client_id: str, username: str, password: str) -> Self:
        client = await cls.open(port)
        await client.send(connect(client_id, username, password))
        assert await client.receive() == (0x20, b"\x00\x00")
        return client

    async def send(self, *packets: bytes) -> None:
        self.writer.write(b"".join(packets))
        await self.writer.drain()

    async def receive(self) -> tuple[int, bytes]:
        async with asyncio.timeout(5):
            return await read_packet(self.reader)

    async def receive_message(self) -> tuple[str, bytes]:
        """Return topic and payload of the next packet, which must be a PUBLISH of QoS 0."""
        first, body = await self.receive()
        assert first == 0x30
        end = 2 + int.from_bytes(body[:2])
        return body[2:end].decode(), body[end:]

    async def closed(self) -> bool:
        """Wait until the other end has closed the connection; drop what it still sends."""
        async with asyncio.timeout(5):
            with suppress(ConnectionError):
                while await self.reader.read(4096):
                    pass
        return True

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()
