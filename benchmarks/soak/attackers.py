"""Attackers in the home network, in their own process, that use all open ports."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
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
            "malformed HTTP": self._malformed_http,
            "slow HTTP": self._slow_http,
            "check-in with a strange MAC": self._strange_check_in,
            "check-in as a paired device": self._false_check_in,
            "broken check-in": self._broken_check_in,
            "photo with a wrong token": self._photo,
            "address that was never offered": self._guess,
            "malformed WebSocket": self._malformed_websocket,
            "WebSocket with a wrong token": self._wrong_websocket,
            "WebSocket of a web page": self._page,
            "malformed MQTT": self._malformed_mqtt,
            "MQTT with a wrong password": self._wrong_mqtt,
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

    # HTTP

    async def _malformed_http(self) -> None:
        await self._exchange(
            self._ports.http, self._mutated(_post("/api/xiaozhi/ota/", self._headers(self._mac()), b"{}"))
        )

    async def _slow_http(self) -> None:
        request = _post("/api/xiaozhi/ota/", self._headers(self._mac()), b"{}" * 100)
        await self._dribble(self._ports.http, request)

    async def _strange_check_in(self) -> None:
        await self._exchange(
            self._ports.http, _post("/api/xiaozhi/ota/", self._headers(self._mac()), _body())
        )

    async def _false_check_in(self) -> None:
        headers = self._headers(self._chance.choice(self._ports.macs))
        await self._exchange(self._ports.http, _post("/api/xiaozhi/ota/", headers, _body()))
        await self._exchange(self._ports.http, _post("/api/xiaozhi/ota/activate", headers, b"{}"))

    async def _broken_check_in(self) -> None:
        body = self._mutated(_body()) if self._chance.random() < 0.8 else b"[" * 60_000
        await self._exchange(self._ports.http, _post("/api/xiaozhi/ota/", self._headers(self._mac()), body))

    async def _photo(self) -> None:
        headers = self._headers(self._chance.choice(self._ports.macs)) | {"Authorization": "Bearer guessed"}
        await self._exchange(self._ports.http, _post("/api/xiaozhi/vision", headers, bytes(100_000)))

    async def _guess(self) -> None:
        path = self._chance.choice(("/api/xiaozhi/file/", "/api/xiaozhi/upload/")) + "guessed"
        await self._exchange(self._ports.http, f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())

    # The ports of the gateway

    async def _malformed_websocket(self) -> None:
        await self._exchange(self._ports.websocket, self._mutated(_upgrade(self._mac(), "guessed")))

    async def _wrong_websocket(self) -> None:
        await self._exchange(
            self._ports.websocket, _upgrade(self._chance.choice(self._ports.macs), "guessed")
        )

    async def _page(self) -> None:
        request = _upgrade(
            self._chance.choice(self._ports.macs), "guessed", "Origin: http://evil.example\r\n"
        )
        await self._exchange(self._ports.websocket, request)

    async def _malformed_mqtt(self) -> None:
        await self._exchange(self._ports.mqtt, self._mutated(_connect(self._chance.choice(self._ports.macs))))

    async def _wrong_mqtt(self) -> None:
        await self._exchange(self._ports.mqtt, _connect(self._chance.choice(self._ports.macs)))

    async def _udp(self) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as opened:
            opened.setblocking(False)
            for _ in range(self._chance.randrange(1, 50)):
                kind = bytes((self._chance.choice((1, self._chance.randrange(256))),))
                data = kind + self._chance.randbytes(self._chance.randrange(300))
                with suppress(OSError):
                    opened.sendto(data, (_HOST, self._ports.udp))

    # All of them

    async def _slow(self) -> None:
        port = self._chance.choice((self._ports.http, self._ports.websocket, self._ports.mqtt))
        await self._dribble(
            port, _connect("x") if port == self._ports.mqtt else _upgrade(self._mac(), "guessed")
        )

    async def _flood(self) -> None:
        """Open very many connections, and send nothing."""
        port = self._chance.choice((self._ports.websocket, self._ports.mqtt))
        opened = await asyncio.gather(*(self._dial(port) for _ in range(_FLOOD)), return_exceptions=True)
        await asyncio.sleep(self._chance.uniform(0, _ANSWER_SECONDS))
        for connection in opened:
            if not isinstance(connection, BaseException):
                connection[1].transport.abort()

    # How

    async def _exchange(self, port: int, data: bytes) -> None:
        reader, writer = await self._dial(port)
        try:
            writer.write(data)
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
