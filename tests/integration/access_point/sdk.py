"""The official SDK as a caller of an access point's tools."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from mcp.client.session import ClientSession
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed


@asynccontextmanager
async def sdk_client(url: str) -> AsyncIterator[ClientSession]:
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
            async with ClientSession(read, write) as session:
                yield session
        finally:
            for task in tasks:
                task.cancel()
