"""The MCP client against the official SDK's server: it speaks the standard too."""

import importlib
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.mcp.model import McpCallError, ServerInfo
from custom_components.xiaozhi.protocol.mcp.result import ImageContent
from custom_components.xiaozhi.protocol.mcp.rpc import Progress
from custom_components.xiaozhi.protocol.mcp.tool import check_arguments


@pytest.fixture(scope="module")
def sdk() -> Any:
    """The module `sdk_server`: the SDK takes a second to import, which only the tests need that use it."""
    return importlib.import_module("tests.protocol.mcp.sdk_server")


async def handshake(bench: Any) -> ServerInfo:
    """Initialize as the product does, with the firmware's own capability."""
    vision = {"url": "http://192.0.2.1/vision", "token": "secret"}
    return await bench.client.initialize(client_name="Home Assistant", client_version="1", vision=vision)


async def test_the_handshake_opens_the_session(sdk: Any) -> None:
    """The server names itself, and is not disturbed by the capability that only the firmware knows."""
    async with sdk.connected() as bench:
        assert await handshake(bench) == ServerInfo(version="9.9", extended=True)


@pytest.mark.parametrize("with_user_tools", [True, False])
async def test_all_pages_are_listed(sdk: Any, with_user_tools: bool) -> None:
    """The firmware's extra parameter does not disturb a standard server."""
    async with sdk.connected() as bench:
        await handshake(bench)
        tools = await bench.client.list_tools(with_user_tools=with_user_tools)
    assert [tool.name for tool in tools] == [tool.name for tool in sdk.TOOLS]
    assert tools[0].schema == sdk.VOLUME_SCHEMA
    assert check_arguments(tools[0], {"volume": 5.0}) == {"volume": 5}


async def test_a_call_returns_text_and_an_image(sdk: Any) -> None:
    """As the standard carries them."""
    async with sdk.connected() as bench:
        await handshake(bench)
        text = await bench.client.call_tool("set_volume", {"volume": 40})
        picture = await bench.client.call_tool("picture")
    assert (text.text, text.image) == ("volume 40", None)
    assert (picture.text, picture.image) == ("see", ImageContent(data=sdk.JPEG, mime_type="image/jpeg"))


async def test_a_failed_tool_and_an_unknown_one_are_errors(sdk: Any) -> None:
    """The standard has two ways to refuse."""
    async with sdk.connected() as bench:
        await handshake(bench)
        with pytest.raises(McpCallError, match="paper jam"):
            await bench.client.call_tool("jammed")
        with pytest.raises(McpCallError, match="no tool dance"):
            await bench.client.call_tool("dance")


async def test_progress_and_pings_in_the_middle_of_a_call(sdk: Any) -> None:
    """The server reports to our token, tells that its tools changed, and gets its ping answered."""
    reports: list[Progress] = []
    async with sdk.connected() as bench:
        await handshake(bench)
        result = await bench.client.call_tool("slow", on_progress=reports.append)
    assert reports == [Progress(progress=1, total=2, message="half way")]
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
