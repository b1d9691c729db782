"""Attackers in the home network that use all open ports."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
import json
import random
import socket
import sys
from time import monotonic
from typing import Final

_HOST: Final = "127.0.0.1"
# Addresses of their own; only Linux has all of them on loopback.
_ADDRESSES: Final = tuple(f"127.0.0.{number}" for number in range(66, 76))
_ANSWER_SECONDS: Final = 1.0
_SLOW_SECONDS: Final = 3.0
_FLOOD: Final = 100
_BODY: Final = json.dumps({"board": {"name": "attacker", "ip": "192.168.1.66"}}).encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """The ports that are attacked, and the devices behind them."""

    http: int
    websocket: int
    mqtt: int
    udp: int
    macs: list[str]
    """MACs of the paired devices, which attackers pretend to be."""


class Attackers:
    """Runs attacks, several at a time."""

    async def attack(self, ports: Ports, seconds: float, seed: int, number: int) -> Counter[str]:
        """Attack for this many seconds, `number` attacks at a time; return the count of each kind."""
        counts = Counter[str]()
        end = monotonic() + seconds
        attackers = [_Attacker(ports, random.Random(f"{seed} attacker {one}")) for one in range(number)]
        await asyncio.gather(*(attacker.run(end, counts) for attacker in attackers))
        return counts


class _Attacker:
    """One attacker, which makes one attack after another."""

    def __init__(self, ports: Ports, chance: random.Random) -> None:
        self._ports = ports
        self._chance = chance

    async def run(self, end: float, counts: Counter[str]) -> None:
        """Attack until the monotonic time `end`."""
        own = {"slow connections": self._slow, "many connections": self._flood, "malformed UDP": self._udp}
        while monotonic() < end:
            requests = self._requests()
            name = self._chance.choice([*own, *requests])
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                await (own[name]() if name in own else self._exchange(*requests[name]))
            counts[name] += 1
            await asyncio.sleep(self._chance.uniform(0, 0.3))

    def _requests(self) -> dict[str, tuple[int, bytes]]:
        """Return requests by their names, each with the port that it goes to."""
        mac, paired = "02:66:" + self._chance.randbytes(4).hex(":"), self._chance.choice(self._ports.macs)
        http, websocket, mqtt = self._ports.http, self._ports.websocket, self._ports.mqtt
        guessed = {"Authorization": "Bearer guessed"}
        return {
            "malformed HTTP": (http, self._mutated(_check_in(mac))),
            "check-in with a strange MAC": (http, _check_in(mac)),
            "check-in as a paired device": (http, _check_in(paired)),
            "broken check-in": (http, _check_in(mac, self._mutated(_BODY))),
            "deep check-in": (http, _check_in(mac, b"[" * 60_000)),
            "activation as a paired device": (http, _post("ota/activate", paired, b"{}")),
            "photo, wrong token": (http, _post("vision", paired, bytes(100_000), **guessed)),
            "never offered": (http, _head("GET /api/xiaozhi/file/guessed", {})),
            "malformed WebSocket": (websocket, self._mutated(_upgrade(mac))),
            "WebSocket with a wrong token": (websocket, _upgrade(paired)),
            "WebSocket of a web page": (websocket, _upgrade(paired, Origin="http://evil.example")),
            "malformed MQTT": (mqtt, self._mutated(_connect(paired))),
            "MQTT with a wrong password": (mqtt, _connect(paired)),
        }

    async def _udp(self) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as opened:
            opened.setblocking(False)
            for _ in range(self._chance.randrange(1, 50)):
                kind = bytes((self._chance.choice((1, self._chance.randrange(256))),))
                data = kind + self._chance.randbytes(self._chance.randrange(300))
                with suppress(OSError):
                    opened.sendto(data, (_HOST, self._ports.udp))

    async def _slow(self) -> None:
        """Send a request byte by byte, and not all of it."""
        ports = self._ports
        check_in = _check_in("x", b"{}" * 100)
        requests = {ports.http: check_in, ports.websocket: _upgrade("x"), ports.mqtt: _connect("x")}
        port, data = self._chance.choice([*requests.items()])
        end = monotonic() + self._chance.uniform(0, _SLOW_SECONDS)
        async with self._dialled(port) as (_, writer):
            for at in range(len(data)):
                writer.write(data[at : at + 1])
                await writer.drain()
                if monotonic() > end:
                    return
                await asyncio.sleep(0.05)

    async def _flood(self) -> None:
        """Open very many connections, and send nothing."""
        port = self._chance.choice((self._ports.websocket, self._ports.mqtt))
        pause = self._chance.uniform(0, _ANSWER_SECONDS)

        async def hold() -> None:
            async with self._dialled(port):
                await asyncio.sleep(pause)

        await asyncio.gather(*(hold() for _ in range(_FLOOD)), return_exceptions=True)

    async def _exchange(self, port: int, request: bytes) -> None:
        async with self._dialled(port) as (reader, writer), asyncio.timeout(_ANSWER_SECONDS):
            writer.write(request)
            await writer.drain()
            await reader.read(1 << 16)

    @asynccontextmanager
    async def _dialled(self, port: int) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        own = (self._chance.choice(_ADDRESSES), 0) if sys.platform == "linux" else None
        reader, writer = await asyncio.open_connection(_HOST, port, local_addr=own)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    def _mutated(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._chance.randrange(1, 8)):
            at = self._chance.randrange(len(changed))
            changed[at : at + self._chance.randrange(4)] = self._chance.randbytes(self._chance.randrange(6))
        return bytes(changed)


def _check_in(mac: str, body: bytes = _BODY) -> bytes:
    return _post("ota/", mac, body)


def _post(path: str, mac: str, body: bytes, **headers: str) -> bytes:
    own = {"Device-Id": mac, "Client-Id": "attacker", "Content-Length": str(len(body)), "Connection": "close"}
    return _head(f"POST /api/xiaozhi/{path}", own | headers) + body


def _upgrade(mac: str, **headers: str) -> bytes:
    own = {
        "Authorization": "Bearer guessed",
        "Client-Id": "attacker",
        "Device-Id": mac,
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Protocol-Version": "1",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
    }
    return _head("GET /xiaozhi/v1/", own | headers)


def _head(request: str, headers: dict[str, str]) -> bytes:
    lines = [f"{request} HTTP/1.1", f"Host: {_HOST}:8123", *map(": ".join, headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def _connect(mac: str) -> bytes:
    texts = (f"GID@@@{mac.replace(':', '_')}@@@attacker", mac, "guessed")
    body = b"\x00\x04MQTT\x04\xc2\x00\x3c" + b"".join(len(text).to_bytes(2) + text.encode() for text in texts)
    return bytes((0x10, len(body))) + body
