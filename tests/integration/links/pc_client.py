"""A client on a computer, as other people write them. It shares no code with integration or simulator.

It differs from a device in what it leaves out (the transport in its hello), in what it adds (pings, a close
handshake) and in the length of its packets.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
import json
from typing import Any

from aiohttp.test_utils import TestClient
import av
from websockets.asyncio.client import ClientConnection, connect

MAC = "3c:52:82:10:00:07"
CLIENT_ID = "b0f7c9e2a4d14c6f8e1a5d3c7b9f0a12"
"""Without hyphens, unlike a device's."""
PACKET_MS = 20
_RATE = 16000
# Real clients ping every 20 s; a test has only seconds.
_PING_SECONDS = 0.5


class PcClient:
    """A conversation over a WebSocket, with the standard's pings and close handshake."""

    def __init__(self, connection: ClientConnection) -> None:
        self.close_code: int | None = None
        self.messages: list[dict[str, Any]] = []
        self.packets: list[bytes] = []
        self.ended = asyncio.Event()
        """The server has ended the conversation."""
        self._connection = connection
        self._session_id = ""
        self._news = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def connected(cls, settings: dict[str, Any]) -> AsyncIterator[PcClient]:
        """Connect with the `websocket` section of a check-in's reply."""
        headers = {
            "Authorization": f"Bearer {settings['token']}",
            "Protocol-Version": "1",
            "Device-Id": MAC,
            "Client-Id": CLIENT_ID,
        }
        async with connect(
            settings["url"],
            additional_headers=headers,
            ping_interval=_PING_SECONDS,
            ping_timeout=20,
            proxy=None,
        ) as connection:
            client = cls(connection)
            reading = asyncio.create_task(client._read())
            yield client
            await connection.close()
            await reading
            client.close_code = connection.close_code

    async def _read(self) -> None:
        async for frame in self._connection:
            if isinstance(frame, bytes):
                self.packets.append(frame)
            else:
                await self.received(json.loads(frame))
        self.ended.set()

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        await self._connection.send(json.dumps(message))

    async def received(self, message: dict[str, Any]) -> None:
        """Keep a message, and answer it as an MCP server."""
        self.messages.append(message)
        self._news.set()
        request = message.get("payload", {})
        match request.get("method"):
            case "initialize":
                await self._reply(request["id"], {"serverInfo": {"name": "pc", "version": "2.0.3"}})
            case "tools/list":
                await self._reply(request["id"], {"tools": []})
            case str() if "id" in request:
                error = {"code": -32601, "message": "no such tool"}
                await self.send(self._mcp({"id": request["id"], "error": error}))

    async def wait_for(self, kind: str, **fields: str) -> dict[str, Any]:
        """Wait for a message."""
        async with asyncio.timeout(30):
            while True:
                for message in self.messages:
                    if message["type"] == kind and fields.items() <= message.items():
                        return message
                self._news.clear()
                await self._news.wait()

    @property
    def methods(self) -> list[str]:
        """The MCP methods that the server has called."""
        return [message["payload"]["method"] for message in self.messages if message["type"] == "mcp"]

    async def wait_for_method(self, method: str) -> None:
        """Wait until the server has called an MCP method."""
        async with asyncio.timeout(30):
            while method not in self.methods:
                self._news.clear()
                await self._news.wait()

    async def hello(self) -> None:
        """Open the channel."""
        await self.send(
            {
                "type": "hello",
                "version": 1,
                "features": {"mcp": True},
                "audio_params": {
                    "format": "opus",
                    "sample_rate": _RATE,
                    "channels": 1,
                    "frame_duration": PACKET_MS,
                },
            }
        )
        self._session_id = (await self.wait_for("hello"))["session_id"]

    async def converse(self, pcm: bytes) -> None:
        """Say hello and a sentence, and hear the answer until the server ends the conversation."""
        await self.hello()
        await self._say("listen", state="detect", text="hello computer")
        await self._say("listen", state="start", mode="auto")
        talking = asyncio.create_task(self._talk(pcm))
        try:
            await self.wait_for("tts", state="start")
        finally:
            talking.cancel()
        async with asyncio.timeout(30):
            await self.ended.wait()

    async def ask(self, text: str) -> None:
        """Open the microphone, type a question, and hear the answer to its end."""
        await self.hello()
        await self._say("listen", state="start", mode="auto")
        talking = asyncio.create_task(self._talk(b""))
        try:
            await asyncio.sleep(0.1)
            await self._say("listen", state="detect", text=text)
            await self.wait_for("tts", state="start")
        finally:
            talking.cancel()
        async with asyncio.timeout(30):
            await self.ended.wait()

    async def give_up(self) -> None:
        """Open the microphone, and stop it again without having said anything."""
        await self.hello()
        await self._say("listen", state="start", mode="auto")
        talking = asyncio.create_task(self._talk(b""))
        await asyncio.sleep(1)
        await self._say("listen", state="stop")
        talking.cancel()
        async with asyncio.timeout(30):
            await self.ended.wait()

    async def _talk(self, pcm: bytes) -> None:
        """Stream the sentence, with silence before and after it, at the pace of a microphone."""
        loop = asyncio.get_running_loop()
        encoder = _Encoder()
        begun, sent = loop.time(), 0
        silence = bytes(_RATE * 2)
        while True:
            for packet in encoder.encode(silence + pcm if not sent else silence):
                await self._connection.send(packet)
                sent += 1
                await asyncio.sleep(begun + sent * PACKET_MS / 1000 - loop.time())

    async def _say(self, kind: str, **fields: str) -> None:
        await self.send({"session_id": self._session_id, "type": kind, **fields})

    async def _reply(self, request_id: int, result: dict[str, Any]) -> None:
        await self.send(self._mcp({"id": request_id, "result": result}))

    def _mcp(self, payload: dict[str, Any]) -> dict[str, Any]:
        return {"session_id": self._session_id, "type": "mcp", "payload": {"jsonrpc": "2.0", **payload}}


class _Encoder:
    """Opus packets of 20 ms."""

    def __init__(self) -> None:
        context = av.CodecContext.create("libopus", "w")
        assert isinstance(context, av.AudioCodecContext)
        context.sample_rate, context.format, context.layout = _RATE, "s16", "mono"
        context.options = {"frame_duration": str(PACKET_MS), "application": "voip"}
        self._context = context
        self._position = 0

    def encode(self, pcm: bytes) -> list[bytes]:
        samples = _RATE * PACKET_MS // 1000
        packets: list[bytes] = []
        for start in range(0, len(pcm) - 2 * samples + 1, 2 * samples):
            frame = av.AudioFrame(format="s16", layout="mono", samples=samples)
            frame.sample_rate, frame.pts = _RATE, self._position
            frame.planes[0].update(pcm[start : start + 2 * samples])
            self._position += samples
            packets += [bytes(packet) for packet in self._context.encode(frame)]
        return packets


async def check_in(http: TestClient[Any, Any], path: str) -> dict[str, Any]:
    """Check in as such clients do, with a body of their own."""
    headers = {"Device-Id": MAC, "Client-Id": CLIENT_ID, "User-Agent": "pc-client/2.0.3"}
    body = {"application": {"name": "pc-client", "version": "2.0.3"}, "board": {"type": "pc", "name": "pc"}}
    answer = await http.post(path, headers=headers, json=body)
    assert answer.status == 200
    reply: dict[str, Any] = await answer.json()
    return reply
