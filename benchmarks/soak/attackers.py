"""Attackers in the home network, in their own process, that use all open ports."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
import json
import random
import socket
import sys
from time import monotonic
from typing import Any, Final

from benchmarks.commands import serve

_HOST: Final = "127.0.0.1"
# Addresses of their own; only Linux has all of them on loopback.
_ADDRESSES: Final = tuple(f"127.0.0.{number}" for number in range(66, 76))
_ANSWER_SECONDS: Final = 1.0
_SLOW_SECONDS: Final = 3.0
_FLOOD: Final = 100


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

    async def attack(self, ports: dict[str, Any], seconds: float, seed: int, number: int) -> dict[str, int]:
        """Attack for this many seconds, `number` attacks at a time; return the count of each kind."""
        counts = Counter[str]()
        end = monotonic() + seconds
        await asyncio.gather(
            *(
                _Attacker(Ports(**ports), random.Random(f"{seed} attacker {one}"), counts).run(end)
                for one in range(number)
            )
        )
        return dict(counts)

    async def power_off(self) -> None:
        """Do nothing: attacks end by themselves."""


class _Attacker:
    """One attacker, which makes one attack after another."""

    def __init__(self, ports: Ports, chance: random.Random, counts: Counter[str]) -> None:
        self._ports = ports
        self._chance = chance
        self._counts = counts
        self._attacks: dict[str, Callable[[], Awaitable[None]]] = {
            **{
                name: partial(self._exchange, port, make)
                for port, requests in (
                    (ports.http, self._http_requests()),
                    (ports.websocket, self._websocket_requests()),
                    (ports.mqtt, self._mqtt_requests()),
                )
                for name, make in requests.items()
            },
            "slow connections": self._slow,
            "flood of connections": self._flood,
            "malformed UDP": self._udp,
        }

    async def run(self, end: float) -> None:
        """Attack until the monotonic time `end`."""
        while monotonic() < end:
            name = self._chance.choice(list(self._attacks))
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                await self._attacks[name]()
            self._counts[name] += 1
            await asyncio.sleep(self._chance.uniform(0, 0.3))

    # What is sent in one piece

    def _http_requests(self) -> dict[str, Callable[[], bytes]]:
        return {
            "malformed HTTP": lambda: self._mutated(self._check_in(self._mac())),
            "check-in with a strange MAC": lambda: self._check_in(self._mac()),
            "check-in as a paired device": lambda: self._check_in(self._paired()),
            "broken check-in": lambda: self._check_in(self._mac(), self._mutated(_body())),
            "deep check-in": lambda: self._check_in(self._mac(), b"[" * 60_000),
            "activation as a paired device": lambda: _post(
                "/api/xiaozhi/ota/activate", self._headers(self._paired()), b"{}"
            ),
            "photo with a wrong token": lambda: _post(
                "/api/xiaozhi/vision",
                self._headers(self._paired()) | {"Authorization": "Bearer guessed"},
                bytes(100_000),
            ),
            "address that was never offered": lambda: (
                b"GET /api/xiaozhi/file/guessed HTTP/1.1\r\nHost: a\r\n\r\n"
            ),
        }

    def _websocket_requests(self) -> dict[str, Callable[[], bytes]]:
        return {
            "malformed WebSocket": lambda: self._mutated(_upgrade(self._mac(), "guessed")),
            "WebSocket with a wrong token": lambda: _upgrade(self._paired(), "guessed"),
            "WebSocket of a web page": lambda: _upgrade(
                self._paired(), "guessed", "Origin: http://evil.example\r\n"
            ),
        }

    def _mqtt_requests(self) -> dict[str, Callable[[], bytes]]:
        return {
            "malformed MQTT": lambda: self._mutated(_connect(self._paired())),
            "MQTT with a wrong password": lambda: _connect(self._paired()),
        }

    # What is more than that

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
        requests = (
            (self._ports.http, self._check_in(self._mac(), b"{}" * 100)),
            (self._ports.websocket, _upgrade(self._mac(), "guessed")),
            (self._ports.mqtt, _connect("x")),
        )
        await self._dribble(*self._chance.choice(requests))

    async def _flood(self) -> None:
        """Open very many connections, and send nothing."""
        port = self._chance.choice((self._ports.websocket, self._ports.mqtt))
        opened = await asyncio.gather(*(self._dial(port) for _ in range(_FLOOD)), return_exceptions=True)
        await asyncio.sleep(self._chance.uniform(0, _ANSWER_SECONDS))
        for connection in opened:
            if not isinstance(connection, BaseException):
                connection[1].transport.abort()

    # How

    async def _exchange(self, port: int, make: Callable[[], bytes]) -> None:
        reader, writer = await self._dial(port)
        try:
            writer.write(make())
            await writer.drain()
            async with asyncio.timeout(_ANSWER_SECONDS):
                await reader.read(1 << 16)
        finally:
            writer.transport.abort()

    async def _dribble(self, port: int, data: bytes) -> None:
        _, writer = await self._dial(port)
        end = monotonic() + self._chance.uniform(0, _SLOW_SECONDS)
        try:
            for at in range(len(data)):
                writer.write(data[at : at + 1])
                await writer.drain()
                if monotonic() > end:
                    return
                await asyncio.sleep(0.05)
        finally:
            writer.transport.abort()

    async def _dial(self, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        own = (self._chance.choice(_ADDRESSES), 0) if sys.platform == "linux" else None
        return await asyncio.open_connection(_HOST, port, local_addr=own)

    def _mac(self) -> str:
        return "02:66:" + ":".join(f"{self._chance.randrange(256):02x}" for _ in range(4))

    def _paired(self) -> str:
        return self._chance.choice(self._ports.macs)

    def _check_in(self, mac: str, body: bytes | None = None) -> bytes:
        return _post("/api/xiaozhi/ota/", self._headers(mac), _body() if body is None else body)

    def _headers(self, mac: str) -> dict[str, str]:
        return {"Device-Id": mac, "Client-Id": f"attacker-{self._chance.randrange(10**6)}"}

    def _mutated(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._chance.randrange(1, 8)):
            at = self._chance.randrange(len(changed))
            changed[at : at + self._chance.randrange(4)] = self._chance.randbytes(self._chance.randrange(6))
        return bytes(changed)


def _post(path: str, headers: dict[str, str], body: bytes) -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        f"Host: {_HOST}:8123",
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + body


def _body() -> bytes:
    return json.dumps({"board": {"name": "attacker", "ip": "192.168.1.66"}}).encode()


def _upgrade(mac: str, token: str, more: str = "") -> bytes:
    return (
        f"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: {_HOST}\r\nAuthorization: Bearer {token}\r\n"
        f"Client-Id: attacker\r\nDevice-Id: {mac}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{more}"
        "Protocol-Version: 1\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        "Sec-WebSocket-Version: 13\r\n\r\n"
    ).encode()


def _connect(mac: str) -> bytes:
    texts = (f"GID@@@{mac.replace(':', '_')}@@@attacker", mac, "guessed")
    body = b"\x00\x04MQTT\x04\xc2\x00\x3c" + b"".join(len(text).to_bytes(2) + text.encode() for text in texts)
    return bytes((0x10, len(body))) + body


if __name__ == "__main__":
    asyncio.run(serve(Attackers()))
