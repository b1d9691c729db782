"""The bytes of MQTT connections."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
import random
from typing import Final

from custom_components.xiaozhi.protocol.transport.mqtt.codec import (
    MAX_PACKET_BYTES,
    MqttProtocolError,
    PacketReader,
    publish,
)

from .inputs import mutated
from .target import Outcome

__all__ = ["mqtt"]

_CONNECT: Final = (
    b"\x10\x35\x00\x04MQTT\x04\xc6\x00\x3c\x00\x09xiaozhi-1\x00\x01w\x00\x01m"
    b"\x00\x1102:00:00:00:00:01\x00\x03abc"
)
_SEEDS: Final = (
    _CONNECT,
    publish("xiaozhi/020000000001/up", b'{"type":"listen","state":"start","mode":"auto"}'),
    publish("xiaozhi/020000000001/up", bytes(300)),
    b"\x32\x09\x00\x04a/bc\x00\x07x",
    b"\x34\x08\x00\x04a/bc\x00\x07",
    b"\x82\x0c\x00\x05\x00\x01#\x00\x00\x03a/b\x01",
    b"\xa2\x05\x00\x05\x00\x01#",
    b"\x40\x02\x00\x07",
    b"\xc0\x00",
    b"\xe0\x00",
)


class _MqttTarget:
    """Feeds a connection, and opens another when one ends in an error."""

    def __init__(self, chance: random.Random) -> None:
        self.outcome = Outcome()
        self._chance = chance
        # Separate from the inputs' generator, so that skipping inputs does not change others.
        self._fate = random.Random(0)
        self._reader = PacketReader()

    def inputs(self) -> Iterator[bytes]:
        """Yield pieces of byte streams."""
        chance = self._chance
        while True:
            if chance.random() < 0.2:
                yield chance.randbytes(chance.randrange(64))
            else:
                data = mutated(chance, chance.choice(_SEEDS))
                cut = chance.randrange(len(data) + 1) if chance.random() < 0.3 else len(data)
                yield data[:cut]
                yield data[cut:]

    async def take(self, data: bytes) -> None:
        """Let the connection receive a piece."""
        reader = self._reader
        reader.feed(data)
        try:
            while reader.next_packet() is not None:
                self.outcome.taken += 1
        except MqttProtocolError:
            self.outcome.refused += 1
            # With a large limit, a random length would swallow thousands of inputs.
            limit = MAX_PACKET_BYTES if self._fate.random() < 0.01 else 400
            reader = self._reader = PacketReader(limit)
        if reader.buffered > reader.limit + 5:
            raise AssertionError(f"{reader.buffered} bytes are kept")


@asynccontextmanager
async def mqtt(chance: random.Random) -> AsyncIterator[_MqttTarget]:
    """Read packets of MQTT."""
    yield _MqttTarget(chance)
