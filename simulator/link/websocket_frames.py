"""WebSocket frames as the device's client writes and reads them (RFC 6455).

Source: `web_socket.cc` of the firmware's network component.
"""

import asyncio
from enum import IntEnum
import secrets


class Opcode(IntEnum):
    """The kind of a frame."""

    CONTINUATION = 0
    TEXT = 1
    BINARY = 2
    CLOSE = 8
    PING = 9
    PONG = 10


def frame_bytes(opcode: int, payload: bytes) -> bytes:
    """Return a single, masked frame."""
    size = len(payload)
    if size < 126:
        length = bytes([0x80 | size])
    elif size < 65536:
        length = bytes([0x80 | 126]) + size.to_bytes(2)
    else:
        length = bytes([0x80 | 127]) + size.to_bytes(8)
    key = secrets.token_bytes(4)
    return bytes([0x80 | opcode]) + length + key + _masked(payload, key)


def _masked(payload: bytes, key: bytes) -> bytes:
    size = len(payload)
    stream = int.from_bytes((key * (size // 4 + 1))[:size])
    return (int.from_bytes(payload) ^ stream).to_bytes(size)


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bool, bytes]:
    """Read a frame: opcode, whether it is the last of its message, payload. Reserved bits are ignored."""
    first, second = await reader.readexactly(2)
    size = second & 0x7F
    if size == 126:
        size = int.from_bytes(await reader.readexactly(2))
    elif size == 127:
        size = int.from_bytes(await reader.readexactly(8))
    key = await reader.readexactly(4) if second & 0x80 else b""
    payload = await reader.readexactly(size)
    return first & 0x0F, bool(first & 0x80), _masked(payload, key) if key else payload


class FrameReader:
    """Reads whole messages, joining fragments."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._opcode = 0
        self._parts: list[bytes] = []

    async def read(self) -> tuple[int, bytes]:
        """Return opcode and payload of the next message or control frame.

        Raises `EOFError` or `OSError` at the end of the connection.
        """
        while True:
            opcode, last, payload = await read_frame(self._reader)
            if opcode >= Opcode.CLOSE:
                return opcode, payload
            if opcode != Opcode.CONTINUATION:
                self._opcode, self._parts = opcode, []
            self._parts.append(payload)
            if last:
                return self._opcode, b"".join(self._parts)
