"""A client of the WebSocket link that shares no code with integration or simulator."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
import json
from typing import Any

from aiohttp.test_utils import TestClient
from websockets.asyncio.client import ClientConnection, connect

from tests.integration.http_device import HttpDevice
from tests.protocol.transport.udp.device import until

RATE, PACKET_MS = 16000, 20

type Answer = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Gives the result or the error of an MCP request by its method and parameters."""


class WebSocketClient:
    """Keeps what it is sent, and answers MCP requests."""

    def __init__(self, connection: ClientConnection, answer: Answer) -> None:
        self.connection = connection
        self.messages: list[dict[str, Any]] = []
        self.packets: list[bytes] = []
        self._answer = answer
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for frame in self.connection:
            if isinstance(frame, bytes):
                self.packets.append(frame)
                continue
            message = json.loads(frame)
            self.messages.append(message)
            if "id" in (request := message.get("payload", {})):
                answer = self._answer(request["method"], request["params"])
                await self.say("mcp", payload={"jsonrpc": "2.0", "id": request["id"], **answer})

    async def say(self, kind: str, **fields: Any) -> None:
        await self.connection.send(json.dumps({"type": kind, **fields}))

    async def hello(self) -> None:
        audio = {"format": "opus", "sample_rate": RATE, "channels": 1, "frame_duration": PACKET_MS}
        await self.say("hello", version=1, features={"mcp": True}, audio_params=audio)
        await self.wait_for("hello")

    async def wait_for(self, kind: str, **fields: str) -> dict[str, Any]:
        wanted = {"type": kind, **fields}.items()
        await until(lambda: any(wanted <= message.items() for message in self.messages))
        return next(message for message in self.messages if wanted <= message.items())


@asynccontextmanager
async def connected(
    http: TestClient[Any, Any], answer: Answer, *, ping_interval: float | None = 0.5, **about: Any
) -> AsyncGenerator[WebSocketClient]:
    """Check in as an `HttpDevice`, connect to the address in the reply, and hang up in the end."""
    device = HttpDevice(client=http, **about)
    settings = (await device.check_in())["websocket"]
    headers = {**device.headers, "Authorization": f"Bearer {settings['token']}"}
    # Real clients ping every 20 s; a test has only seconds.
    async with connect(
        settings["url"], additional_headers=headers, ping_interval=ping_interval, ping_timeout=20, proxy=None
    ) as connection:
        client = WebSocketClient(connection, answer)
        yield client
        await connection.close()
        await client.reading
