"""The MCP client against the official SDK's server: it speaks the standard too."""

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
import pytest

from custom_components.xiaozhi.protocol.mcp.client import (
    ImageContent,
    McpCallError,
    McpClient,
    ServerInfo,
    VisionEndpoint,
    check_arguments,
)
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
        client = McpClient(send, on_notification=lambda *event: notified.append(event))
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(server.run(*server_streams, server.create_initialization_options()))
            pumping = tasks.create_task(pump())
            yield Bench(client, notified)
            await to_server.aclose()
            await serving
            pumping.cancel()


def _parse(text: str) -> JsonObject:
    message = parse_message('{"type":"mcp","payload":' + text + "}")
    assert isinstance(message, McpMessage)
    return message.payload


async def handshake(bench: Bench) -> ServerInfo:
    """Initialize as the product does, with the firmware's own capability."""
    vision = VisionEndpoint(url="http://192.0.2.1/vision", token="secret")
    return await bench.client.initialize(client_name="Home Assistant", client_version="1", vision=vision)


async def test_the_handshake_opens_the_session() -> None:
    """The server names itself, and is not disturbed by the capability that only the firmware knows."""
    async with connected() as bench:
        assert await handshake(bench) == ServerInfo(name="bench", version="9.9")


@pytest.mark.parametrize("with_user_tools", [True, False])
async def test_all_pages_are_listed(with_user_tools: bool) -> None:
    """The firmware's extra parameter does not disturb a standard server."""
    async with connected() as bench:
        await handshake(bench)
        tools = await bench.client.list_tools(with_user_tools=with_user_tools)
    assert [tool.name for tool in tools] == [tool.name for tool in TOOLS]
    assert tools[0].schema == VOLUME_SCHEMA
    assert check_arguments(tools[0], {"volume": 5.0}) == {"volume": 5}


async def test_a_call_returns_text_and_an_image() -> None:
    """As the standard carries them."""
    async with connected() as bench:
        await handshake(bench)
        text = await bench.client.call_tool("set_volume", {"volume": 40})
        picture = await bench.client.call_tool("picture")
    assert (text.text, text.image) == ("volume 40", None)
    assert (picture.text, picture.image) == ("see", ImageContent(data=JPEG, mime_type="image/jpeg"))


async def test_a_failed_tool_and_an_unknown_one_are_errors() -> None:
    """The standard has two ways to refuse."""
    async with connected() as bench:
        await handshake(bench)
        with pytest.raises(McpCallError, match="paper jam") as jammed:
            await bench.client.call_tool("jammed")
        with pytest.raises(McpCallError, match="no tool dance") as unknown:
            await bench.client.call_tool("dance")
    assert (jammed.value.code, unknown.value.code) == (None, types.INVALID_PARAMS)


async def test_progress_and_pings_in_the_middle_of_a_call() -> None:
    """The server reports to our token, tells that its tools changed, and gets its ping answered."""
    async with connected() as bench:
        await handshake(bench)
        result = await bench.client.call_tool("slow")
    assert result.json() == {"pinged": True}
    methods = [method for method, _ in bench.notified]
    assert methods == ["notifications/progress", "notifications/tools/list_changed"]
    assert bench.notified[0][1] == {
        "progressToken": 2,
        "progress": 1,
        "total": 2,
        "message": "half way",
    }
    assert bench.client.dropped == 0
