"""The MCP client against a server of the official SDK that offers everything, in every version."""

import asyncio
import importlib
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.mcp.incoming import RequestError
from custom_components.xiaozhi.protocol.mcp.rpc import Progress
from custom_components.xiaozhi.protocol.messages import JsonObject

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


@pytest.fixture(scope="module")
def sdk() -> Any:
    """The module `sdk_server`: the SDK takes a second to import, which only the tests need that use it."""
    return importlib.import_module("tests.protocol.mcp.sdk_server")


@pytest.fixture
def full() -> Any:
    """A server that offers everything, and tells what it has seen."""
    return importlib.import_module("tests.protocol.mcp.full_server").FullServer()


async def shake_hands(bench: Any, **options: Any) -> None:
    """Initialize as the product does."""
    await bench.client.initialize(
        client_name="Home Assistant",
        client_version="1",
        vision={"url": "http://192.0.2.1/vision", "token": "secret"},
        **options,
    )


async def test_progress_keeps_a_call_alive_and_is_reported(sdk: Any, full: Any) -> None:
    """The tool takes 24 s, and 10 s without a sign of life are the most."""
    reports: list[Progress] = []
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        result = await bench.client.call_tool("count", on_progress=reports.append)
    assert result.json() == "counted"
    assert reports == [Progress(progress=done, total=3, message=f"{done} of 3") for done in (1, 2, 3)]


async def test_requests_of_the_device_are_answered_in_the_middle_of_a_call(sdk: Any, full: Any) -> None:
    """A call waits as long as a person or a language model takes, beyond its own 10 s."""
    asked: list[JsonObject] = []

    async def sample(params: JsonObject) -> JsonObject:
        asked.append(params)
        await asyncio.sleep(60)
        content = {"type": "text", "text": "Yes."}
        return {"role": "assistant", "content": content, "model": "house", "stopReason": "endTurn"}

    async def decline(params: JsonObject) -> JsonObject:
        return {"action": "decline"}

    async def refuse(params: JsonObject) -> JsonObject:
        raise RequestError("not now", -1)

    handlers = {"sampling/createMessage": sample, "elicitation/create": decline}
    async with sdk.connected(full, handlers=handlers) as bench:
        await shake_hands(bench, capabilities={"sampling": {}, "elicitation": {}})
        answer = (await bench.client.call_tool("ask_ai")).json()
        assert (await bench.client.call_tool("ask_person")).json() == {"action": "decline"}
        handlers["elicitation/create"] = refuse
        assert (await bench.client.call_tool("ask_person")).json() == {"code": -1, "message": "not now"}
    assert answer["content"] == {"type": "text", "text": "Yes."}
    assert (asked[0]["maxTokens"], len(asked[0]["messages"])) == (50, 3)


@pytest.mark.parametrize("tool", ["ask_ai", "ask_person", "list_roots"])
async def test_what_is_not_served_is_refused_properly(sdk: Any, full: Any, tool: str) -> None:
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        answer = (await bench.client.call_tool(tool)).json()
        assert answer == {"code": -32601, "message": "Method not found"}
