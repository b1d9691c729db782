"""Datagrams with audio."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
import random
import struct
from typing import Final

from custom_components.xiaozhi.protocol.messages import AudioFormat
from custom_components.xiaozhi.protocol.transport.udp.listener import UdpListener
from custom_components.xiaozhi.protocol.transport.udp.session import AudioCipher, Source

from .inputs import mutated
from .target import Outcome

__all__ = ["udp"]

_UPLINK: Final = AudioFormat(16000, 60)
_SOURCES: Final = tuple(Source("127.0.0.1", port, bytes(4)) for port in (9, 10))


class _UdpTarget:
    """A listener with a conversation that sometimes ends and begins again."""

    _INPUTS_PER_CONVERSATION: Final = 500

    def __init__(self, listener: UdpListener, chance: random.Random) -> None:
        self.outcome = Outcome()
        self._listener = listener
        self._chance = chance
        # Separate from the inputs' generator, so that skipping inputs does not change others.
        self._fate = random.Random(0)
        self._sequence = 0
        self._begin()

    def inputs(self) -> Iterator[bytes]:
        """Yield datagrams: of the conversation, similar ones, and random ones."""
        chance = self._chance
        while True:
            if chance.random() < 0.1:
                yield chance.randbytes(chance.randrange(64))
                continue
            ahead = chance.choice((1, 1, 1, 1, 2, 3, 90, 200, 2**32 - 1, 0, -1, -5))
            sequence = (self._sequence + ahead) & 0xFFFFFFFF
            if 0 < ahead <= 3:
                self._sequence = sequence
            packet = bytes((chance.choice((0x58, 0x58, 0x58, 0x5B, chance.randrange(256))),))
            packet = chance.choice((packet + chance.randbytes(chance.randrange(200)), packet, b""))
            header = self._nonce[:2] + len(packet).to_bytes(2) + self._nonce[4:8]
            header += struct.pack(">II", 0, sequence)
            datagram = header + self._cipher.apply(header, packet)
            yield datagram if chance.random() < 0.5 else mutated(chance, datagram)

    async def take(self, data: bytes) -> None:
        """Let the listener receive a datagram."""
        self._listener.datagram_received(data, self._fate.choice(_SOURCES))
        self._channel.deliver()
        self._channel.send(data[:200])
        counters = self._listener.counters
        self.outcome.refused = counters.rejected + counters.unknown + counters.late
        self._left -= 1
        if not self._left:
            self._channel.flush()
            self._channel.close()
            self._begin()

    def _begin(self) -> None:
        self._channel = self._listener.open_channel(_UPLINK, self._hear)
        offer = self._channel.offer("192.0.2.2")
        self._nonce = bytes.fromhex(offer["nonce"])
        self._cipher = AudioCipher(bytes.fromhex(offer["key"]))
        self._sequence = 0
        self._left = self._INPUTS_PER_CONVERSATION

    def _hear(self, packet: bytes, missing: int) -> None:
        if missing < 0:
            raise AssertionError(f"{missing} packets are missing before {packet.hex()}")
        self.outcome.taken += 1


@asynccontextmanager
async def udp(chance: random.Random) -> AsyncIterator[_UdpTarget]:
    """Receive datagrams as if they came from two addresses."""
    listener = UdpListener()
    listener.start("127.0.0.1", 0)
    try:
        yield _UdpTarget(listener, chance)
    finally:
        listener.stop()
