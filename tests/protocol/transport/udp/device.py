"""The device's end of the audio over UDP, written after the firmware without the code under test."""

import asyncio
from collections.abc import Callable
import struct
from typing import Any, Self, override

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

# TOC of a mono wide-band SILK packet of 60 ms, as the firmware's encoder makes them.
TOC_60_MS = 0x58


def opus_packet(content: bytes = b"speech") -> bytes:
    """Return bytes that look like an Opus packet of 60 ms."""
    return bytes((TOC_60_MS,)) + content


def ctr(key: bytes, header: bytes, data: bytes) -> bytes:
    """AES-128-CTR with a context of its own for each packet."""
    return Cipher(algorithms.AES(key), modes.CTR(header)).encryptor().update(data)


class DeviceAudio:
    """Makes datagrams and reads them as the firmware does."""

    def __init__(self, key: bytes, nonce: bytes) -> None:
        assert (len(key), len(nonce), nonce[0]) == (16, 16, 1)
        self.key = key
        self.nonce = nonce
        self._sent = 0
        self._accepted = 0

    @classmethod
    def from_offer(cls, offer: dict[str, Any]) -> Self:
        return cls(bytes.fromhex(offer["key"]), bytes.fromhex(offer["nonce"]))

    def seal(self, packet: bytes, *, sequence: int | None = None, timestamp: int = 0) -> bytes:
        """Return the next datagram, or that of another sequence number.

        Builds that leave the echo to the server repeat the timestamp of a packet that they have played.
        """
        if sequence is None:
            sequence = self._sent = self._sent + 1
        header = self.nonce[:2] + len(packet).to_bytes(2) + self.nonce[4:8]
        header += struct.pack(">II", timestamp, sequence)
        return header + ctr(self.key, header, packet)

    def open(self, datagram: bytes) -> bytes | None:
        """Return the packet of a datagram; None when the firmware would drop it."""
        assert datagram, "an empty datagram ends the device's reception"
        kind, _, length, _, _, sequence = struct.unpack(">BBHIII", datagram[:16])
        if kind != 1 or length != len(datagram) - 16 or sequence <= self._accepted:
            return None
        self._accepted = sequence
        return ctr(self.key, datagram[:16], datagram[16:])


class DeviceSocket(asyncio.DatagramProtocol):
    """The device's socket: connected, so that it hears only the address it sends to."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[bytes] = asyncio.Queue()
        self.transport: asyncio.DatagramTransport | None = None

    @classmethod
    async def open(cls, port: int) -> Self:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_datagram_endpoint(cls, remote_addr=("127.0.0.1", port))
        protocol.transport = transport
        return protocol

    @override
    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        self.received.put_nowait(data)

    def send(self, datagram: bytes) -> None:
        assert self.transport is not None
        self.transport.sendto(datagram)

    async def receive(self) -> bytes:
        async with asyncio.timeout(5):
            return await self.received.get()

    def close(self) -> None:
        assert self.transport is not None
        self.transport.close()


async def until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Run the event loop until a condition holds; who may wait for long looks less and less often."""
    pause = 0.01
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(pause)
            pause = max(pause, min(1.2 * pause, seconds / 1000))
