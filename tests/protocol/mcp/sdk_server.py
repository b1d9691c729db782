"""A server made with the official SDK of MCP, and our client connected to it."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage
import mcp_types as types

from custom_components.xiaozhi.protocol.mcp.client import McpClient
from custom_components.xiaozhi.protocol.mcp.incoming import IncomingRequests
from custom_components.xiaozhi.protocol.messages import JsonObject, McpMessage, encode, parse_message

type Context = ServerRequestContext[Any]

JPEG = b"\xff\xd8\xff\xe0 picture"
VOLUME_SCHEMA = {
    "type": "object",
    "properties": {"volume": {"type": "integer", "minimum": 0, "maximum": 100}},
    "required": ["volume"],
}
TOOLS = [
    types.Tool(name="set_volume", description="Set the volume", input_schema=VOLUME_SCHEMA),
    *(types.Tool(name=f"tool_{number}", input_schema={"type": "object"}) for number in range(24)),
]
PAGE = 10


class Bench:
    """What the server saw, and a client connected to it."""

    def __init__(self, client: McpClient, notified: list[tuple[str, JsonObject]]) -> None:
        """Keep the client."""
        self.client = client
        self.notified = notified


async def list_tools(ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """Give ten tools a page."""
    start = int(params.cursor) if params and params.cursor else 0
    end = start + PAGE
    return types.ListToolsResult(tools=TOOLS[start:end], next_cursor=str(end) if end < len(TOOLS) else None)


async def call_tool(ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Act by the tool's name."""
    match params.name:
        case "set_volume":
            text = f"volume {(params.arguments or {})['volume']}"
            return types.CallToolResult(content=[types.TextContent(text=text)])
        case "picture":
            data = base64.b64encode(JPEG).decode()
            image = types.ImageContent(data=data, mime_type="image/jpeg")
            return types.CallToolResult(content=[types.TextContent(text="see"), image])
        case "jammed":
            return types.CallToolResult(content=[types.TextContent(text="paper jam")], is_error=True)
        case "slow":
            await ctx.session.report_progress(1, 2, "half way")
            await ctx.session.send_tool_list_changed()
            await ctx.session.send_ping()
            return types.CallToolResult(content=[types.TextContent(text='{"pinged": true}')])
    raise MCPError(code=types.INVALID_PARAMS, message=f"no tool {params.name}")


@asynccontextmanager
async def connected() -> AsyncIterator[Bench]:
    """Run the SDK's server and our client at the two ends of a stream of JSON texts."""
    server: Server[Any] = Server("bench", version="9.9", on_list_tools=list_tools, on_call_tool=call_tool)
    options = server.create_initialization_options()
    async with create_client_server_memory_streams() as ((from_server, to_server), server_streams):

        async def send(payload: JsonObject) -> None:
            message = types.jsonrpc_message_adapter.validate_json(encode(payload))
            await to_server.send(SessionMessage(message))

        async def pump() -> None:
            async for item in from_server:
                assert isinstance(item, SessionMessage)
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                if reply := client.receive(_parse(text)):
                    await send(reply)

        notified: list[tuple[str, JsonObject]] = []
        async with asyncio.TaskGroup() as tasks:
            client = McpClient(
                send,
                on_notification=lambda *event: notified.append(event),
                incoming=IncomingRequests({}, lambda work, _: tasks.create_task(work), send),
            )
            serving = tasks.create_task(server.run(*server_streams, options))
            pumping = tasks.create_task(pump())
            yield Bench(client, notified)
            await to_server.aclose()
            await serving
            pumping.cancel()


def _parse(text: str) -> JsonObject:
    message = parse_message('{"type":"mcp","payload":' + text + "}")
    assert isinstance(message, McpMessage)
    return message.payload
