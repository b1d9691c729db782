"""Stock firmware gets the same bytes as ever; lists and requests of a device are bounded."""

import asyncio
from collections.abc import Callable
from itertools import batched
import logging
from typing import Any
from unittest.mock import AsyncMock

import pytest

from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.mcp.client import MAX_TOOLS
from custom_components.xiaozhi.protocol.mcp.model import (
    McpCallError,
    McpProtocolError,
    McpTimeoutError,
    Progress,
    RequestError,
)
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.mcp.device import Device, a_tool, advance, pages

VISION = {"url": "http://192.0.2.1:8123/api/xiaozhi/vision", "token": "secret"}
TOO_LARGE = {"message": "Failed to add tool self.huge because of payload size limit"}
STOCK_ANSWER: JsonObject = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bread-compact-wifi", "version": "2.4.2"},
}
# What this project has always sent to stock firmware, byte for byte, but for the id.
STOCK_REQUEST = (
    '{"type":"mcp","payload":{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":'
    '"2024-11-05","capabilities":{"vision":{"url":"http://192.0.2.1:8123/api/xiaozhi/vision","token":"secret"'
    '}},"clientInfo":{"name":"Home Assistant","version":"2026.10.4"}}}}'
)


async def shake_hands(device: Device) -> None:
    await device.client.initialize(
        client_name="Home Assistant", client_version="2026.10.4", capabilities={"vision": VISION}
    )


async def test_stock_firmware_gets_the_same_bytes_as_ever_and_nothing_more() -> None:
    """One request and one notification, also when the device is cancelled or does not answer in time."""
    device = Device(initialize=lambda _: {"result": STOCK_ANSWER})
    await shake_hands(device)
    request = STOCK_REQUEST.replace("ID", str(device.sent[0]["id"]))
    assert messages.encode(messages.mcp(device.sent[0])) == request
    assert device.sent[1:] == [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    assert not device.client.extended
    silent, cancelled = await device.begin(), await device.begin()
    cancelled.cancel()
    with pytest.raises(McpTimeoutError):
        await silent
    assert [message["method"] for message in device.sent[2:]] == ["tools/call", "tools/call"]


@pytest.mark.parametrize(
    ("version", "capabilities", "extended"),
    [
        *((version, {"tools": {}}, False) for version in ("2024-11-05", None, 7, "2099-01-01")),
        *(("2024-11-05", capabilities, False) for capabilities in ({}, None, [], "all")),
        ("2024-11-05", {"tools": {"listChanged": True}}, True),
        ("2024-11-05", {"tools": {}, "prompts": {}}, True),
        ("2025-11-25", {"tools": {}}, True),
    ],
)
async def test_a_device_is_asked_for_no_more_than_it_announces(
    version: Any, capabilities: Any, extended: bool
) -> None:
    """What it may ask is announced to it, in the latest version."""
    result = {"protocolVersion": version, "capabilities": capabilities}
    device = Device(initialize=lambda _: {"result": result})
    device.request_handlers["sampling/createMessage"] = AsyncMock()
    await shake_hands(device)
    assert device.client.extended is extended
    assert len(device.sent) == 2
    assert device.sent[0]["params"]["protocolVersion"] == "2025-11-25"
    assert device.sent[0]["params"]["capabilities"].keys() == {"vision", "sampling"}


@pytest.mark.parametrize("progress", [None, "1", True, [1]])
def test_progress_without_a_number_is_none(progress: Any) -> None:
    assert Progress.from_dict({"progress": progress}) is None


class Asked(Device):
    """Requests of a device, answered by a handler that a test lets go on."""

    def __init__(self) -> None:
        super().__init__()
        self.going = asyncio.Event()
        self.failure: Exception | None = None
        self.request_handlers["ask"] = self._serve

    async def _serve(self, params: JsonObject) -> JsonObject:
        await self.going.wait()
        if self.failure is not None:
            raise self.failure
        return {"got": params}

    def ask(self, request_id: Any = 1, **message: Any) -> JsonObject | None:
        return self.client.receive({"method": "ask", "id": request_id, **message})


async def test_a_storm_of_requests_is_refused_beyond_a_few() -> None:
    asked = Asked()
    replies = [asked.ask(number) for number in range(50)]
    assert replies[:4] == [None] * 4
    assert all(reply and reply["error"]["code"] == -32000 for reply in replies[4:])
    asked.going.set()
    await advance(0)
    assert [message["id"] for message in asked.sent] == [0, 1, 2, 3]
    assert asked.ask(0) is None


async def test_faults_of_ours_and_lost_connections_end_a_request() -> None:
    asked = Asked()
    asked.going.set()
    for failure, code in ((RequestError("no", -1), -1), (KeyError("oops"), -32603)):
        asked.failure = failure
        asked.ask()
        await advance(0)
        assert asked.sent[-1]["error"]["code"] == code
    asked.gone = True
    asked.ask()
    await advance(0)
    assert len(asked.sent) == 2
    for params in ([1], "x"):
        reply = asked.ask(params=params)
        assert reply is not None
        assert reply["error"]["code"] == -32602


async def test_all_pages_are_listed_in_order_with_and_without_user_tools() -> None:
    """`withUserTools` is on every page; the tools keep the device's order."""
    tools = [a_tool(f"self.tool_{number}") for number in (3, 1, 2)]
    hidden = a_tool("self.reboot", annotations={"audience": ["user"]})
    device = Device(tools_list=pages(tools[:2], tools[2:], [hidden]))
    listed = await device.client.list_tools(with_user_tools=True)
    assert [tool.name for tool in listed] == [tool["name"] for tool in (*tools, hidden)]
    assert [tool.user_only for tool in listed] == [False, False, False, True]
    await device.client.list_tools(with_user_tools=False)
    asked = [request["params"].get("withUserTools") for request in device.sent]
    assert asked == [True] * 3 + [None] * 3


async def test_an_error_on_a_later_page_ends_the_list_and_keeps_it() -> None:
    """The firmware answers so when a tool is larger than a page."""
    device = Device(tools_list=pages([a_tool("self.a")], [a_tool("self.b")], TOO_LARGE))
    listed = await device.client.list_tools(with_user_tools=True)
    assert [tool.name for tool in listed] == ["self.a", "self.b"]
    assert device.sent[-1]["params"]["cursor"] == "2"


async def test_an_error_on_the_first_page_is_raised() -> None:
    device = Device(tools_list=pages(TOO_LARGE))
    with pytest.raises(McpCallError, match="Failed to add tool"):
        await device.client.list_tools(with_user_tools=True)
    device = Device(tools_list=lambda _: {"result": {"tools": "none"}})
    with pytest.raises(McpProtocolError):
        await device.client.list_tools(with_user_tools=True)


@pytest.mark.parametrize(
    ("next_cursor", "asked"),
    [(lambda _: "same", 64), (lambda cursor: f"{cursor}x", 64), (lambda _: "x" * 2000, 1)],
    ids=["circle", "endless", "too long to be sent back"],
)
async def test_a_list_without_end_ends_and_what_came_is_kept(
    next_cursor: Callable[[str], str], asked: int, caplog: pytest.LogCaptureFixture
) -> None:
    def page(params: JsonObject) -> JsonObject:
        return {"result": {"tools": [a_tool("self.a")], "nextCursor": next_cursor(params.get("cursor", ""))}}

    device = Device(tools_list=page)
    tools = await device.client.list_tools(with_user_tools=False)
    assert [tool.name for tool in tools] == ["self.a"]
    assert len(device.sent) == asked
    assert ("too long" in caplog.text) is (asked == 64)


@pytest.mark.parametrize("paged", [True, False])
async def test_of_1000_tools_the_first_512_are_kept(paged: bool, caplog: pytest.LogCaptureFixture) -> None:
    """The list is cut, said once, whether it comes in pages or at once."""
    tools = [a_tool(f"self.tool_{number}") for number in range(1000)]
    device = Device(tools_list=pages(*batched(tools, 100, strict=True)) if paged else pages(tools))
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
