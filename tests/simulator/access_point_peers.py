"""The other sides of the double: a tool side of a few lines, and the official SDK as a client."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
import json
from typing import Any

import anyio
from mcp.client.session import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

type Json = dict[str, Any]

TOOLS = [
    {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {}}}
    for name in ("intent__HassTurnOn", "intent__HassTurnOff")
]


@dataclass
class Peer:
    """Answers like a minimal MCP server; a call answers so many `letters` after so many `seconds`."""

    connection: ClientConnection
    tools: list[Json] = field(default_factory=lambda: [*TOOLS])
    deaf_to: set[str] = field(default_factory=set)
    """Methods that get no answer."""
    asked: list[Json] = field(default_factory=list)

    async def serve(self) -> None:
        async with asyncio.TaskGroup() as answers:
            with suppress(ConnectionClosed):
                async for text in self.connection:
                    message = json.loads(text)
                    self.asked.append(message)
                    if "id" in message and message["method"] not in self.deaf_to:
                        answers.create_task(self.answer(message))

    async def answer(self, message: Json) -> None:
        result = await self.result(message)
        with suppress(ConnectionClosed):
            await self.connection.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))

    async def result(self, message: Json) -> Json:
        match message["method"]:
            case "initialize":
                info = {"name": "peer", "version": "1"}
                return {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list":
                return {"tools": self.tools}
            case "tools/call":
                arguments = message["params"]["arguments"]
                await asyncio.sleep(arguments.get("seconds", 0))
                return {"content": [{"type": "text", "text": "ä" * arguments.get("letters", 0)}]}
        return {}


@asynccontextmanager
async def peer(url: str, **fields: Any) -> AsyncIterator[Peer]:
    """Dial and answer."""
    async with connect(url) as connection:
        dialled = Peer(connection, **fields)
        task = asyncio.create_task(dialled.serve())
        try:
            yield dialled
        finally:
            task.cancel()


@asynccontextmanager
async def sdk_streams(url: str) -> AsyncIterator[tuple[Any, Any]]:
    """Carry the SDK's messages over a WebSocket."""
    to_sdk, read = anyio.create_memory_object_stream[SessionMessage | Exception](100)
    write, from_sdk = anyio.create_memory_object_stream[SessionMessage](100)
    async with connect(url) as connection:

        async def receive() -> None:
            with suppress(ConnectionClosed):
                async for text in connection:
                    await to_sdk.send(
                        SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
                    )
            await to_sdk.aclose()

        async def send() -> None:
            async for message in from_sdk:
                await connection.send(message.message.model_dump_json(by_alias=True, exclude_unset=True))

        tasks = [asyncio.create_task(work) for work in (receive(), send())]
        try:
            yield read, write
        finally:
            for task in tasks:
                task.cancel()


@asynccontextmanager
async def sdk_client(url: str) -> AsyncIterator[ClientSession]:
    """Ask with the SDK."""
    async with sdk_streams(url) as (read, write), ClientSession(read, write) as session:
        yield session
