#!/usr/bin/env python3
"""Throw garbage at what reads the network: the MQTT codec and the audio over UDP.

Run it with `.venv/bin/python -m benchmarks.fuzz`. Inputs are random bytes, valid ones with changes, and
valid ones. Whatever they are, nothing but the declared error may be raised and memory must not grow. Prints
one line of JSON for each target and exits with 1 at the first fault, naming what reproduces it.
"""

import argparse
import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
import json
import random
import resource
import struct
import sys
from time import perf_counter
from typing import Final

from custom_components.xiaozhi.protocol.messages import AudioFormat
from custom_components.xiaozhi.protocol.mqtt_codec import (
    MAX_PACKET_BYTES,
    MqttProtocolError,
    PacketReader,
    publish,
)
from custom_components.xiaozhi.protocol.udp import UdpServer
from custom_components.xiaozhi.protocol.udp_session import AudioCipher, Source

# Growth of the process that is no leak: caches and arenas of the interpreter.
_ALLOWED_GROWTH_KIB: Final = 16 * 1024
_UPLINK: Final = AudioFormat(16000, 60)
_SOURCES: Final = tuple(Source("127.0.0.1", port, bytes(4)) for port in (9, 10))

_CONNECT: Final = (
    b"\x10\x35\x00\x04MQTT\x04\xc6\x00\x3c\x00\x09xiaozhi-1\x00\x01w\x00\x01m"
    b"\x00\x1102:00:00:00:00:01\x00\x03abc"
)
_MQTT_SEEDS: Final = (
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


@dataclass(slots=True)
class Outcome:
    """What became of the inputs of one target."""

    taken: int = 0
    refused: int = 0
    most_buffered: int = 0


def mutated(chance: random.Random, data: bytes) -> bytes:
    """Return `data` with some bytes changed, inserted, removed or doubled; sometimes as it was."""
    result = bytearray(data)
    for _ in range(chance.choice((0, 1, 1, 2, 5))):
        at = chance.randrange(len(result) + 1)
        match chance.randrange(5):
            case 0:
                result[at : at + 1] = chance.randbytes(1)
            case 1:
                result[at:at] = chance.randbytes(chance.randrange(8))
            case 2:
                del result[at : at + chance.randrange(8)]
            case 3:
                result[at:at] = result[: chance.randrange(len(result) + 1)]
            case _:
                result[at : at + 2] = chance.choice((b"\x00\x00", b"\xff\xff", b"\x7f\x80", b"\x80\x01"))
    return bytes(result)


def mqtt_inputs(chance: random.Random) -> Iterator[bytes]:
    """Yield pieces of byte streams."""
    while True:
        if chance.random() < 0.2:
            yield chance.randbytes(chance.randrange(64))
        else:
            data = mutated(chance, chance.choice(_MQTT_SEEDS))
            cut = chance.randrange(len(data) + 1) if chance.random() < 0.3 else len(data)
            yield data[:cut]
            yield data[cut:]


def mqtt_target(outcome: Outcome, chance: random.Random) -> Callable[[bytes], None]:
    """Return what feeds a connection, and begins another when one ends in an error."""
    reader = PacketReader()

    def limit() -> int:
        # A large one lets a length that was made up swallow thousands of inputs.
        return MAX_PACKET_BYTES if chance.random() < 0.01 else 400

    def take(data: bytes) -> None:
        nonlocal reader
        reader.feed(data)
        outcome.most_buffered = max(outcome.most_buffered, reader.buffered)
        try:
            while reader.next_packet() is not None:
                outcome.taken += 1
        except MqttProtocolError:
            outcome.refused += 1
            reader = PacketReader(limit())
        if reader.buffered > reader.limit + 5:
            raise AssertionError(f"{reader.buffered} bytes are kept")

    return take


class UdpTarget:
    """A server with a conversation that is begun anew now and then."""

    _INPUTS_PER_CONVERSATION: Final = 500

    def __init__(self, server: UdpServer, chance: random.Random, outcome: Outcome) -> None:
        """Begin."""
        self._server = server
        self._chance = chance
        self._outcome = outcome
        self._sequence = 0
        self._begin()

    def inputs(self) -> Iterator[bytes]:
        """Yield datagrams: of the conversation, near to such, and any."""
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

    def take(self, datagram: bytes) -> None:
        """Let the server receive a datagram."""
        self._server.datagram_received(datagram, self._chance.choice(_SOURCES))
        self._channel.send(datagram[:200])
        self._left -= 1
        if not self._left:
            self._channel.flush()
            self._channel.close()
            self._begin()

    def _begin(self) -> None:
        self._channel = self._server.open_channel(_UPLINK, self._hear)
        offer = self._channel.offer("192.0.2.2")
        self._nonce = bytes.fromhex(offer["nonce"])
        self._cipher = AudioCipher(bytes.fromhex(offer["key"]))
        self._sequence = 0
        self._left = self._INPUTS_PER_CONVERSATION

    def _hear(self, packet: bytes, missing: int) -> None:
        if missing < 0:
            raise AssertionError(f"{missing} packets are missing before {packet.hex()}")
        self._outcome.taken += 1


def fuzz(name: str, take: Callable[[bytes], None], inputs: Iterator[bytes], count: int, seed: int) -> float:
    """Run one target; return the seconds. Exits with a message that helps to repeat a fault."""
    begun = perf_counter()
    for number, data in zip(range(count), inputs, strict=False):
        try:
            take(data)
        except Exception as err:  # noqa: BLE001 - any is a find
            sys.exit(f"{name}: {err!r} at input {number} of seed {seed}: {data.hex()}")
    return perf_counter() - begun


def report(name: str, count: int, seconds: float, outcome: Outcome, growth_kib: int) -> None:
    """Print the outcome of a target."""
    figures = {
        "target": name,
        "inputs": count,
        "seconds": round(seconds, 1),
        "taken": outcome.taken,
        "refused": outcome.refused,
        "most_buffered_bytes": outcome.most_buffered,
        "memory_growth_kib": growth_kib,
    }
    print(json.dumps(figures))
    if growth_kib > _ALLOWED_GROWTH_KIB:
        sys.exit(f"{name}: memory has grown by {growth_kib} KiB")


def memory_kib() -> int:
    """Return the largest memory that the process has ever used."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


async def main(arguments: list[str]) -> None:
    """Run all targets."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--inputs", type=int, default=1_000_000, help="for each target (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=1, help="another one makes other inputs")
    options = parser.parse_args(arguments)

    outcome, chance = Outcome(), random.Random(options.seed)
    take, inputs = mqtt_target(outcome, chance), mqtt_inputs(chance)
    fuzz("mqtt", take, inputs, options.inputs // 10, options.seed)
    before = memory_kib()
    seconds = fuzz("mqtt", take, inputs, options.inputs, options.seed)
    report("mqtt", options.inputs, seconds, outcome, memory_kib() - before)

    server, outcome = UdpServer(), Outcome()
    server.start("127.0.0.1", 0)
    target = UdpTarget(server, random.Random(options.seed), outcome)
    fuzz("udp", target.take, target.inputs(), options.inputs // 10, options.seed)
    before = memory_kib()
    seconds = fuzz("udp", target.take, target.inputs(), options.inputs, options.seed)
    server.stop()
    outcome.refused = server.counters.rejected + server.counters.unknown + server.counters.late
    report("udp", options.inputs, seconds, outcome, memory_kib() - before)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
