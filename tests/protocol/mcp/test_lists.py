"""Tool lists: pages, bounds, and devices that list without end."""

from collections.abc import Callable
import logging

import pytest

from custom_components.xiaozhi.protocol.mcp.client import MAX_TOOLS
from custom_components.xiaozhi.protocol.mcp.model import McpCallError, McpProtocolError
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.mcp.device import Device, a_tool, firmware_pages


async def test_all_pages_are_listed_in_order_with_and_without_user_tools() -> None:
    """`withUserTools` is on every page; the tools keep the device's order."""
    tools = [a_tool(f"self.tool_{number:03}", description="描述" * 50) for number in range(60)]
    tools.append(a_tool("self.reboot", annotations={"audience": ["user"]}))
    device = Device(tools_list=firmware_pages(tools))
    listed = await device.client.list_tools(with_user_tools=True)
    assert [tool.name for tool in listed] == [tool["name"] for tool in tools]
    assert listed[-1].user_only
    assert not listed[0].user_only
    assert len(device.sent) > 2
    assert all(request["params"]["withUserTools"] is True for request in device.sent)
    visible = await device.client.list_tools(with_user_tools=False)
    assert visible == listed[:-1]


async def test_an_error_on_a_later_page_ends_the_list_and_keeps_it() -> None:
    """The firmware answers so when a tool is larger than a page."""
    tools = [a_tool(f"self.tool_{number}", description="x" * 500) for number in range(20)]
    tools.append(a_tool("self.huge", description="x" * 9000))
    device = Device(tools_list=firmware_pages(tools))
    listed = await device.client.list_tools(with_user_tools=True)
    assert [tool.name for tool in listed] == [f"self.tool_{number}" for number in range(20)]
    assert device.sent[-1]["params"]["cursor"] == "self.huge"


async def test_an_error_on_the_first_page_is_raised() -> None:
    device = Device(tools_list=firmware_pages([]))
    with pytest.raises(McpCallError, match="Failed to add tool"):
        await device.client.list_tools(with_user_tools=True)
    device = Device(tools_list=lambda _: {"result": {"tools": "none"}})
    with pytest.raises(McpProtocolError):
        await device.client.list_tools(with_user_tools=True)


@pytest.mark.parametrize(
    ("next_cursor", "pages"),
    [(lambda _: "same", 64), (lambda cursor: f"{cursor}x", 64), (lambda _: "x" * 2000, 1)],
    ids=["circle", "endless", "too long to be sent back"],
)
async def test_a_list_without_end_ends_and_what_came_is_kept(
    next_cursor: Callable[[str], str], pages: int, caplog: pytest.LogCaptureFixture
) -> None:
    def page(params: JsonObject) -> JsonObject:
        return {"result": {"tools": [a_tool("self.a")], "nextCursor": next_cursor(params.get("cursor", ""))}}

    device = Device(tools_list=page)
    tools = await device.client.list_tools(with_user_tools=False)
    assert [tool.name for tool in tools] == ["self.a"]
    assert len(device.sent) == pages
    assert ("too long" in caplog.text) is (pages == 64)


@pytest.mark.parametrize("paged", [True, False])
async def test_of_1000_tools_the_first_512_are_kept(paged: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The list is cut, said once, whether it comes in pages or at once."""
    tools = [a_tool(f"self.tool_{number}") for number in range(1000)]
    script = firmware_pages(tools) if paged else lambda _: {"result": {"tools": tools}}
    device = Device(tools_list=script)
    listed = await device.client.list_tools(with_user_tools=False)
    assert [tool.name for tool in listed] == [f"self.tool_{number}" for number in range(MAX_TOOLS)]
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "512" in warnings[0].getMessage()


async def test_malformed_and_repeated_tools_are_skipped() -> None:
    """One bad tool does not cost the others; of two with one name the first counts."""
    tools = [7, a_tool("self.a"), {"name": 1}, a_tool("self.a", description="second"), a_tool("self.b")]
    device = Device(tools_list=lambda _: {"result": {"tools": tools, "nextCursor": 5}})
    first, second = await device.client.list_tools(with_user_tools=False)
    assert (first.name, first.description, second.name) == ("self.a", "tool", "self.b")
