"""The official SDK's server as the MCP server of a simulated device, on any link."""

import asyncio
from collections.abc import Callable
import json
from typing import Any

from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
import mcp_types as types

from tests.protocol.mcp.full_server import FullServer

type Send = Callable[[dict[str, Any]], None]


class SdkProgram:
    """Runs a server of the SDK in the place of the firmware's own."""

    def __init__(self, full: FullServer, send: Send) -> None:
        self.tools: list[Any] = []
        self._full = full
        self._send = send
        self._inbox: asyncio.Queue[str] = asyncio.Queue()

    def handle(self, message: dict[str, Any]) -> bool:
        self._inbox.put_nowait(json.dumps(message))
        return True

    async def run(self) -> None:
        """Serve until the device is switched off."""
        async with create_client_server_memory_streams() as ((from_server, to_server), server_streams):

            async def pump() -> None:
                async for item in from_server:
                    assert isinstance(item, SessionMessage)
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._send(json.loads(text))

            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._full.server.run(*server_streams, self._full.options))
                tasks.create_task(pump())
                while True:
                    message = types.jsonrpc_message_adapter.validate_json(await self._inbox.get())
                    await to_server.send(SessionMessage(message))
