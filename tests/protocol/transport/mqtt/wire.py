"""MQTT packets as any client writes them, by the simulator's code, which shares none with the endpoint."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from simulator.link.mqtt_client import mqtt_string, packet, read_packet


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
    body = mqtt_string(client_id)
    if will is not None:
        flags |= 0x04 | 0x08 | 0x20
        body += mqtt_string(will[0]) + mqtt_string(will[1])
    if username is not None:
        flags |= 0x80
        body += mqtt_string(username)
    if password is not None:
        flags |= 0x40
        body += mqtt_string(password)
    return packet(0x10, mqtt_string("MQTT") + bytes((level, flags)) + keep_alive.to_bytes(2) + body)


def publish(topic: str, payload: bytes, *, qos: int = 0, packet_id: int = 1) -> bytes:
    return packet(0x30 | qos << 1, mqtt_string(topic) + (packet_id.to_bytes(2) if qos else b"") + payload)


def subscribe(packet_id: int, *filters: str) -> bytes:
    """Encode a SUBSCRIBE at QoS 1."""
    return packet(0x82, packet_id.to_bytes(2) + b"".join(mqtt_string(name) + b"\x01" for name in filters))


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
