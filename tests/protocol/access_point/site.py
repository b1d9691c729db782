"""A plain WebSocket server as an access point, tools that are scripted, and a client between them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
import json
import ssl
from typing import Any, override

from websockets.asyncio.server import ServerConnection, serve

from custom_components.xiaozhi.protocol.access_point.access_point_client import AccessPointClient
from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress
from custom_components.xiaozhi.protocol.access_point.dispatcher import CallRecord
from custom_components.xiaozhi.protocol.access_point.tools import OfferedTool
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.transport.udp.device import until as wait_until

TLS = ssl.create_default_context()
LAMP_SCHEMA: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

type Handler = Callable[[ServerConnection], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTool(OfferedTool):
    """A tool that does what its function does."""

    parameters: Any
    act: Callable[[JsonObject], Awaitable[Any]]

    @override
    def schema(self) -> JsonObject:
        parameters: JsonObject = self.parameters
        return parameters

    @override
    async def call(self, arguments: JsonObject) -> Any:
        return await self.act(arguments)


def scripted_tool(
    name: str, act: Callable[[JsonObject], Awaitable[Any]], *, changes_nothing: bool = False
) -> ScriptedTool:
    """Return a tool that does what its function does."""
    return ScriptedTool(
        name=name,
        description=f"Does {name}.",
        changes_nothing=changes_nothing,
        parameters=LAMP_SCHEMA,
        act=act,
    )


class House:
    """The tools of a house, and what was called."""

    def __init__(self) -> None:
        self.calls: list[JsonObject] = []
        self.records: list[CallRecord] = []
        self.release = asyncio.Event()
        self.made: list[OfferedTool] = [
            scripted_tool("light__turn_on", self._turn_on),
            scripted_tool("slow", self._slow),
        ]
        self.error: Exception | None = None
        self.delay = 0.0

    async def tools(self) -> list[OfferedTool]:
        await asyncio.sleep(self.delay)
        if self.error is not None:
            raise self.error
        return list(self.made)

    def changed(self) -> None:
        """Nobody looks at it."""

    def called(self, record: CallRecord) -> None:
        self.records.append(record)

    async def _turn_on(self, arguments: JsonObject) -> Any:
        self.calls.append(arguments)
        return {"success": True}

    async def _slow(self, arguments: JsonObject) -> Any:
        self.calls.append(arguments)
        await self.release.wait()
        return {"success": True}


@dataclass
class Site:
    """A client and its house."""

    client: AccessPointClient
    house: House


class Server:
    """An access point that does with every connection what it is told to."""

    def __init__(self) -> None:
        """Hold every connection, until it is told otherwise."""
        self.handler: Handler = hold
        self.opened: list[float] = []
        self.connections: list[ServerConnection] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/mcp/?token=secret"

    async def handle(self, connection: ServerConnection) -> None:
        self.opened.append(asyncio.get_running_loop().time())
        self.connections.append(connection)
        await self.handler(connection)


async def hold(connection: ServerConnection) -> None:
    """Stay on the line and ask nothing."""
    await connection.wait_closed()


async def ask(connection: ServerConnection, method: str, request_id: Any = 1, **params: Any) -> JsonObject:
    """Send a request and wait for a reply."""
    await connection.send(
        json.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
    )
    return await reply(connection)


async def reply(connection: ServerConnection) -> JsonObject:
    """Wait for a message."""
    async with asyncio.timeout(60):
        data = await connection.recv()
    assert isinstance(data, str), "text frames only"
    message: JsonObject = json.loads(data)
    return message


def text_of(message: JsonObject) -> Any:
    (part,) = message["result"]["content"]
    assert part["type"] == "text"
    return json.loads(part["text"])


@asynccontextmanager
async def serving(**options: Any) -> AsyncGenerator[Server]:
    """Run a server that a test can change."""
    server = Server()
    async with serve(server.handle, "127.0.0.1", 0, **options) as listener:
        server.port = next(iter(listener.sockets)).getsockname()[1]
        yield server


@asynccontextmanager
async def running(url: str, *, tls: ssl.SSLContext = TLS) -> AsyncGenerator[Site]:
    house = House()
    client = AccessPointClient(
        AccessPointAddress.parse(url),
        house,
        version="1.2.3",
        tls=tls,
    )
    client.start()
    try:
        yield Site(client, house)
    finally:
        await client.close()


# Time costs nothing here.
until = partial(wait_until, seconds=3600)
