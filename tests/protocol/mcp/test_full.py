"""The MCP client against a server of the official SDK that offers everything, in every version."""

import asyncio
import importlib
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.mcp.client import (
    Capabilities,
    ClientOffer,
    McpCallError,
    McpTimeoutError,
    Progress,
    RequestError,
    Tool,
    VisionEndpoint,
)
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
    vision = VisionEndpoint(url="http://192.0.2.1/vision")
    offer = ClientOffer(vision=vision, **options)
    await bench.client.initialize(client_name="Home Assistant", client_version="1", offer=offer)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_handshake_is_repeated_once_in_the_latest_version(
    sdk: Any, full: Any, version: str
) -> None:
    """The first is that of stock firmware; a known device gets the second one only."""
    async with sdk.connected(full, version) as bench:
        await shake_hands(bench)
        assert full.versions == ["2024-11-05", version]
        found = bench.client.capabilities
        await shake_hands(bench, extended=True)
        assert full.versions == ["2024-11-05", version, version]
    assert found == bench.client.capabilities == Capabilities.from_storage(found.as_dict())
    assert (found.version, found.extended, found.resources, found.prompts) == (version, True, True, True)
    assert (found.subscriptions, found.logging) == (True, True)


async def test_what_the_owner_allows_is_announced_and_no_more(sdk: Any, full: Any) -> None:
    """Neither roots nor tasks of ours are ever announced."""
    told = []
    for allowed in ({}, {"sampling": True}, {"elicitation": True}):
        async with sdk.connected(full) as bench:
            await shake_hands(bench, extended=True, **allowed)
        capabilities = full.offer.capabilities
        assert (capabilities.roots, capabilities.tasks) == (None, None)
        told.append((capabilities.sampling is not None, capabilities.elicitation is not None))
    assert told == [(False, False), (True, False), (False, True)]


@pytest.mark.parametrize("version", VERSIONS)
async def test_resources_are_listed_read_and_subscribed_to(sdk: Any, full: Any, version: str) -> None:
    """All pages; a URI is only a name, whatever its scheme."""
    async with sdk.connected(full, version) as bench:
        await shake_hands(bench)
        listed = {resource.name: resource for resource in await bench.client.list_resources()}
        (template,) = await bench.client.list_templates()
        (text,) = await bench.client.read_resource(listed["passwd"].uri)
        (picture,) = await bench.client.read_resource(listed["door"].uri)
        (filled,) = await bench.client.read_resource("history://monday")
        await bench.client.subscribe(listed["temperature"].uri)
        await bench.client.call_tool("warm_up")
        await bench.client.unsubscribe(listed["temperature"].uri)
        with pytest.raises(McpCallError, match="Resource not found") as missing:
            await bench.client.read_resource("nothing://")
    assert set(listed) == {"temperature", "window", "air", "passwd", "door"}
    assert [name for name, resource in listed.items() if resource.user_only] == ["passwd"]
    assert (listed["air"].mime_type, listed["door"].mime_type) == ("application/json", "image/png")
    assert (template.name, template.uri_template) == ("history", "history://{day}")
    assert (text.text, filled.text) == ("root:x:0:0", "warm on monday")
    assert picture.data == importlib.import_module("tests.protocol.mcp.full_server").PIXEL
    updated = ("notifications/resources/updated", {"uri": "sensor://room/temperature"})
    assert updated in bench.notified
    assert full.subscribed == full.unsubscribed == ["sensor://room/temperature"]
    assert missing.value.code == -32002
    assert listed["air"].shown == "Air"


@pytest.mark.parametrize("version", VERSIONS)
async def test_prompts_are_listed_got_and_completed(sdk: Any, full: Any, version: str) -> None:
    async with sdk.connected(full, version) as bench:
        await shake_hands(bench)
        (prompt,) = await bench.client.list_prompts()
        result = await bench.client.get_prompt("greeting", {"name": "Ann", "day": "monday"})
        reference = {"type": "ref/prompt", "name": "greeting"}
        days = await bench.client.complete(reference, "day", "s", {"name": "Ann"})
        reference = {"type": "ref/resource", "uri": "history://{day}"}
        assert await bench.client.complete(reference, "day", "fri") == ("friday",)
        with pytest.raises(McpCallError, match="no such prompt"):
            await bench.client.get_prompt("dance", {})
    assert [(argument.name, argument.required) for argument in prompt.arguments] == [
        ("name", True),
        ("day", False),
    ]
    assert [(message.role, message.text) for message in result.messages] == [
        ("user", "Greet Ann on monday."),
        ("assistant", "In which language?"),
        ("user", "In English."),
    ]
    assert days == ("saturday", "sunday")


async def test_the_log_level_is_set_and_messages_come(sdk: Any, full: Any) -> None:
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        await bench.client.set_log_level("warning")
        await full.log("error", {"valve": "stuck"}, "heating")
        await bench.client.list_prompts()
    assert full.levels == ["warning"]
    assert bench.notified == [
        (
            "notifications/message",
            {"level": "error", "logger": "heating", "data": {"valve": "stuck"}},
        )
    ]


async def test_progress_keeps_a_call_alive_and_is_reported(sdk: Any, full: Any) -> None:
    """The tool takes 24 s, and 10 s without a sign of life are the most."""
    reports: list[Progress] = []
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        result = await bench.client.call_tool("count", on_progress=reports.append)
    assert result.json() == "counted"
    assert reports == [Progress(progress=done, total=3, message=f"{done} of 3") for done in (1, 2, 3)]


@pytest.mark.parametrize("ends_by", ["cancellation", "time-out"])
async def test_a_call_that_is_not_awaited_any_more_is_cancelled(sdk: Any, full: Any, ends_by: str) -> None:
    """The device is told, and another call works after it."""
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        call = asyncio.create_task(bench.client.call_tool("hang"))
        await full.hangs.wait()
        if ends_by == "cancellation":
            call.cancel()
        with pytest.raises((asyncio.CancelledError, McpTimeoutError)):
            await call
        await bench.client.list_prompts()
        assert full.cancelled == 1
        assert (await bench.client.call_tool("warm_up")).json() is True


async def test_a_task_is_looked_at_until_it_has_ended(sdk: Any, full: Any) -> None:
    """A tool that runs as a task only is called as one; its messages are progress."""
    reports: list[Progress] = []
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        tools = {tool.name: tool for tool in await bench.client.list_tools(with_user_tools=True)}
        found = {name: tool.task_support for name, tool in tools.items() if tool.task_support != "forbidden"}
        assert found == {"long_job": "required", "bake": "optional"}
        assert all(Tool.from_dict(tool.as_dict()) == tool for tool in tools.values())
        result = await bench.client.call_tool("long_job", as_task=True, on_progress=reports.append)
        with pytest.raises(McpCallError, match="as a task only"):
            await bench.client.call_tool("long_job")
    assert result.json() == "built"
    assert full.tasks == {"long_job-1": 3}
    assert [report.message for report in reports] == [f"looked at {count} times" for count in (1, 2, 3)]
    assert full.cancelled_tasks == []


async def test_a_task_that_is_not_awaited_any_more_is_cancelled(sdk: Any, full: Any) -> None:
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        call = asyncio.create_task(bench.client.call_tool("long_job", as_task=True))
        await asyncio.sleep(3)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert full.cancelled_tasks == ["long_job-1"]


async def test_a_task_reports_progress_and_its_end(sdk: Any, full: Any) -> None:
    """By the token of the call, and sooner than it wants to be looked at, which is in half a minute."""
    reports: list[Progress] = []
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        began = asyncio.get_running_loop().time()
        result = await bench.client.call_tool("bake", as_task=True, on_progress=reports.append)
        assert asyncio.get_running_loop().time() - began < 20
        assert (await bench.client.call_tool("bake")).json() == "baked"
    assert result.json() == "built"
    assert reports[0] == Progress(progress=1, total=2, message="half way")
    assert full.tasks == {"bake-1": 1}
    assert full.calls == ["bake as a task", "bake"]


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
        await shake_hands(bench, sampling=True, elicitation=True)
        answer = (await bench.client.call_tool("ask_ai")).json()
        assert (await bench.client.call_tool("ask_person")).json() == {"action": "decline"}
        handlers["elicitation/create"] = refuse
        assert (await bench.client.call_tool("ask_person")).json() == {"code": -1, "message": "not now"}
    assert answer["content"] == {"type": "text", "text": "Yes."}
    assert (asked[0]["maxTokens"], len(asked[0]["messages"])) == (50, 3)


@pytest.mark.parametrize(
    ("tool", "message"),
    [
        ("ask_ai", "Sampling not supported"),
        ("ask_person", "Elicitation not supported"),
        ("list_roots", "Roots not supported"),
    ],
)
async def test_what_is_not_served_is_refused_properly(sdk: Any, full: Any, tool: str, message: str) -> None:
    async with sdk.connected(full) as bench:
        await shake_hands(bench)
        assert (await bench.client.call_tool(tool)).json() == {"code": -32601, "message": message}
