"""What a device offers, asks and reports is bounded and checked, and stock firmware is never asked for it."""

import asyncio
from collections.abc import Coroutine
import contextlib
import json
from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol import messages
from custom_components.xiaozhi.protocol.mcp.client import (
    Capabilities,
    ClientOffer,
    IncomingRequests,
    McpCallError,
    McpClient,
    McpDisconnectedError,
    McpError,
    McpProtocolError,
    McpTimeoutError,
    RequestError,
    VisionEndpoint,
)
from custom_components.xiaozhi.protocol.mcp.prompt import (
    Prompt,
    PromptArgumentError,
    PromptResult,
    check_prompt_arguments,
)
from custom_components.xiaozhi.protocol.mcp.resource import (
    Resource,
    ResourceContents,
    ResourceTemplate,
    parse_contents,
)
from custom_components.xiaozhi.protocol.mcp.rpc import Progress
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.mcp.device import DONE, JSON_VALUES, Device, advance

VISION = VisionEndpoint(url="http://192.0.2.1:8123/api/xiaozhi/vision", token="secret")
STOCK_ANSWER: JsonObject = {
    "protocolVersion": "2024-11-05",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "bread-compact-wifi", "version": "2.4.2"},
}
# What this project has always sent to stock firmware, byte for byte.
STOCK_REQUEST = (
    '{"type":"mcp","payload":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
    '"2024-11-05","capabilities":{"vision":{"url":"http://192.0.2.1:8123/api/xiaozhi/vision","token":"secret"'
    '}},"clientInfo":{"name":"Home Assistant","version":"2026.10.4"}}}}'
)
EVERYTHING: JsonObject = {
    "protocolVersion": "2025-11-25",
    "capabilities": {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True},
        "prompts": {},
        "completions": {},
        "logging": {},
        "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}},
    },
}


async def shake_hands(device: Device, **options: Any) -> None:
    offer = ClientOffer(vision=VISION, **options)
    await device.client.initialize(client_name="Home Assistant", client_version="2026.10.4", offer=offer)


async def test_stock_firmware_gets_the_same_bytes_as_ever_and_nothing_more() -> None:
    """One request and one notification, also when the device is cancelled or does not answer in time."""
    device = Device(initialize=lambda _: {"result": STOCK_ANSWER})
    await shake_hands(device)
    assert messages.encode(messages.mcp(device.sent[0])) == STOCK_REQUEST
    assert device.sent[1:] == [{"jsonrpc": "2.0", "method": "notifications/initialized"}]
    assert device.client.capabilities == Capabilities()
    silent, cancelled = await device.begin(), await device.begin()
    cancelled.cancel()
    with pytest.raises(McpTimeoutError):
        await silent
    assert [message["method"] for message in device.sent[2:]] == ["tools/call", "tools/call"]


@pytest.mark.parametrize("capabilities", [{}, {"tools": {}}, None, [], "all"])
@pytest.mark.parametrize("version", ["2024-11-05", None, 7, "2099-01-01"])
async def test_a_device_that_announces_no_more_is_asked_for_no_more(capabilities: Any, version: Any) -> None:
    result = {"protocolVersion": version, "capabilities": capabilities}
    device = Device(initialize=lambda _: {"result": result})
    await shake_hands(device)
    assert len(device.sent) == 2
    assert not device.client.capabilities.extended


async def test_a_device_that_takes_only_one_handshake_keeps_its_first() -> None:
    """It refuses the second one, or never answers it."""
    for second in ({"error": {"code": -32600, "message": "again?"}}, None):
        answers: list[JsonObject | None] = [{"result": EVERYTHING}, second]
        device = Device(initialize=lambda _, answers=answers: answers.pop(0))
        await shake_hands(device)
        versions = [
            message["params"]["protocolVersion"]
            for message in device.sent
            if message["method"] == "initialize"
        ]
        assert versions == ["2024-11-05", "2025-11-25"]
        assert device.client.capabilities.resources
    answers = [{"result": EVERYTHING}, None]
    device = Device(initialize=lambda _: answers.pop(0))
    task = asyncio.create_task(shake_hands(device))
    await advance(0)
    assert len(device.sent) == 3
    device.client.close("gone")
    with pytest.raises(McpDisconnectedError):
        await task


@pytest.mark.parametrize("kind", ["resources", "templates", "prompts"])
async def test_lists_without_end_and_in_circles_are_cut(kind: str) -> None:
    member = {"templates": "resourceTemplates"}.get(kind, kind)
    method = {"templates": "resources_templates_list"}.get(kind, f"{kind}_list")
    limit = 128 if kind == "prompts" else 256

    def item(number: int) -> JsonObject:
        uri = f"a://{number}"
        return {"name": f"n{number}", "uri": uri, "uriTemplate": uri}

    def pages(params: JsonObject) -> JsonObject:
        start = int(params.get("cursor", 0))
        items = [item(number) for number in range(start, start + 100)]
        return {"result": {member: items, "nextCursor": str(start + 100)}}

    def circle(params: JsonObject) -> JsonObject:
        return {"result": {member: [item(1), {"name": ""}, 7, None], "nextCursor": "again"}}

    for script, count, requests in ((pages, limit, limit // 100 + 1), (circle, 1, 2)):
        device = Device(**{method: script})
        listed: tuple[Any, ...] = await getattr(device.client, f"list_{kind}")()
        assert (len(listed), len(device.sent)) == (count, requests)


@pytest.mark.parametrize("uri", ["", "a\nb", "x" * 1025, "\ud800", "a\u202eb", None, 7, ["a"], {"a": 1}])
def test_what_cannot_be_a_uri_is_none(uri: Any) -> None:
    assert Resource.from_dict({"name": "a", "uri": uri}) is None
    assert ResourceTemplate.from_dict({"name": "a", "uriTemplate": uri}) is None


def test_any_scheme_is_a_name() -> None:
    """Nothing is opened, so nothing is wrong with it."""
    for uri in ("file:///etc/passwd", "http://192.0.2.1/", "javascript:alert(1)", "media-source://x", "C:\\"):
        resource = Resource.from_dict({"name": "a", "uri": uri, "size": 4, "mimeType": "Text/Plain; a=b"})
        assert resource is not None
        assert (resource.uri, resource.size, resource.mime_type) == (uri, 4, "text/plain")
        assert Resource.from_dict(resource.as_dict()) == resource


@pytest.mark.parametrize(
    "contents",
    [
        None,
        {},
        [{}],
        [{"uri": "a:b"}],
        [{"uri": "a:b", "text": 7}],
        [{"uri": "a:b", "blob": "no base64"}],
        [{"uri": "a:b", "blob": "A" * 70_000}],
        [{"uri": "", "text": "a"}],
        [{"uri": "a:b", "text": "a"}] * 33,
    ],
)
def test_contents_that_are_none_are_refused(contents: Any) -> None:
    with pytest.raises(McpProtocolError):
        parse_contents({"contents": contents})


def test_texts_of_contents_are_cleaned() -> None:
    (content,) = parse_contents(
        {"contents": [{"uri": "a:b", "text": "1\u202e2\x003\n4", "mimeType": "../x"}]}
    )
    assert content == ResourceContents(uri="a:b", text="12 3\n4")


@pytest.mark.parametrize(
    "prompt",
    [
        {"name": ""},
        {"name": "x" * 129},
        {"name": "a", "arguments": {}},
        {"name": "a", "arguments": [{"name": ""}]},
        {"name": "a", "arguments": [{"name": f"a{number}"} for number in range(33)]},
    ],
)
def test_malformed_prompts_are_skipped(prompt: JsonObject) -> None:
    """Half of the arguments would make a prompt that cannot be got."""
    assert Prompt.from_dict(prompt) is None


@pytest.mark.parametrize(
    "given_messages",
    [
        None,
        [{"role": "system", "content": {"type": "text", "text": "a"}}],
        [{"role": "user", "content": {"type": "text", "text": 7}}],
        [{"role": "user", "content": {"type": "video"}}],
        [{"role": "user"}],
        [{"role": "user", "content": {"type": "text", "text": "a"}}] * 65,
        [{"role": "user", "content": {"type": "text", "text": "a" * 70_000}}],
    ],
)
def test_malformed_messages_of_prompts_are_refused(given_messages: Any) -> None:
    with pytest.raises(McpProtocolError):
        PromptResult.from_dict({"messages": given_messages})


def test_other_content_of_a_prompt_is_kept() -> None:
    item = {"type": "resource", "resource": {"uri": "a:b", "text": "c"}}
    result = PromptResult.from_dict({"messages": [{"role": "user", "content": item}], "description": "d"})
    assert (result.description, result.messages[0].item) == ("d", item)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({}, ("name", "missing")),
        ({"name": "a", "x": "b"}, ("x", "unknown")),
        ({"name": "a" * 2049}, ("name", "too_long")),
        ({"name": "\ud800"}, ("name", "too_long")),
    ],
)
def test_arguments_of_a_prompt_are_checked(arguments: dict[str, str], fault: tuple[str, str]) -> None:
    prompt = Prompt.from_dict({"name": "p", "arguments": [{"name": "name", "required": True}, {"name": "b"}]})
    assert prompt is not None
    assert Prompt.from_dict(prompt.as_dict()) == prompt
    check_prompt_arguments(prompt, {"name": "a"})
    with pytest.raises(PromptArgumentError) as raised:
        check_prompt_arguments(prompt, arguments)
    assert (raised.value.name, raised.value.reason) == fault


async def test_completions_are_bounded() -> None:
    values = ["a\nb", 7, *(f"v{number}" for number in range(500))]
    device = Device(completion_complete=lambda _: {"result": {"completion": {"values": values}}})
    found = await device.client.complete({"type": "ref/prompt", "name": "p"}, "a", "")
    assert found[:2] == ("a b", "v0")
    assert len(found) == 99
    device = Device(completion_complete=lambda _: {"result": {"completion": {"values": "all"}}})
    with pytest.raises(McpProtocolError):
        await device.client.complete({"type": "ref/prompt", "name": "p"}, "a", "")


@pytest.mark.parametrize("progress", [None, "1", True, float("inf"), float("nan"), [1]])
def test_progress_without_a_number_is_none(progress: Any) -> None:
    assert Progress.from_dict({"progress": progress}) is None


async def test_a_task_that_never_ends_is_given_up_and_a_malformed_one_fails() -> None:
    working = {"taskId": "1", "status": "working", "pollInterval": 10**9}
    device = Device(
        initialize=lambda _: {"result": EVERYTHING},
        tools_call=lambda _: {"result": {"task": working}},
        tasks_get=lambda _: {"result": working},
    )
    await shake_hands(device)
    sent = len(device.sent)
    with pytest.raises(McpTimeoutError):
        await device.client.call_tool("a", as_task=True)
    # At most one look in half a minute in these ten.
    methods = [message["method"] for message in device.sent[sent:]]
    assert methods[0] == "tools/call"
    assert methods[-2:] == ["tasks/cancel", "notifications/cancelled"]
    assert 15 <= methods.count("tasks/get") <= 20
    for task in ({}, {"taskId": "", "status": "working"}, {"taskId": "1", "status": "sleeping"}):
        device = Device(tools_call=lambda _, task=task: {"result": {"task": task}})
        with pytest.raises(McpProtocolError):
            await device.client.call_tool("a")


async def test_tasks_that_take_the_place_of_others_fail_and_reports_of_them_cost_few_looks() -> None:
    """Two calls get one task; the state is that of another task; a change is reported without end."""
    working = {"taskId": "1", "status": "working", "pollInterval": 30_000}
    answers = [working] * 5 + [{"taskId": "2", "status": "working"}]
    device = Device(
        initialize=lambda _: {"result": EVERYTHING},
        tools_call=lambda _: {"result": {"task": working}},
        tasks_get=lambda _: {"result": answers.pop(0)},
    )
    await shake_hands(device)
    first = await device.begin(as_task=True)
    await advance(0)
    with pytest.raises(McpProtocolError, match="id of another"):
        await device.client.call_tool("b", as_task=True)
    sent = len(device.sent)
    for _ in range(20):
        for task_id in ("1", "3", None, 7, ["1"]):
            params = {"taskId": task_id, "status": "working"}
            device.client.receive({"method": "notifications/tasks/status", "params": params})
        await advance(0.1)
    assert len(device.sent) - sent <= 3
    with pytest.raises(McpProtocolError, match="another task"):
        await first


@pytest.mark.parametrize(
    ("status", "result", "error"),
    [
        ("completed", DONE, None),
        ("input_required", DONE, None),
        ("cancelled", None, "cancelled the task"),
        ("failed", {"error": {"message": "no paper"}}, "no paper"),
        ("failed", {"result": {}}, "gave up"),
    ],
)
async def test_the_end_of_a_task(status: str, result: JsonObject | None, error: str | None) -> None:
    device = Device(
        tools_call=lambda _: {"result": {"task": {"taskId": "1", "status": "working"}}},
        tasks_get=lambda _: {"result": {"taskId": "1", "status": status, "statusMessage": "gave up"}},
        tasks_result=lambda _: result,
    )
    if error is None:
        assert (await device.client.call_tool("a")).text == "true"
        return
    with pytest.raises(McpCallError, match=error):
        await device.client.call_tool("a")


class Asked:
    """Requests of a device, answered by a handler that a test lets go on."""

    def __init__(self) -> None:
        self.sent: list[JsonObject] = []
        self.going = asyncio.Event()
        self.gone = False
        self.failure: Exception | None = None
        self.client = McpClient(
            self._send, incoming=IncomingRequests({"ask": self._serve}, self._start, self._send)
        )

    async def _send(self, message: JsonObject) -> None:
        if self.gone:
            raise ConnectionResetError("gone")
        self.sent.append(message)

    async def _serve(self, params: JsonObject) -> JsonObject:
        await self.going.wait()
        if self.failure is not None:
            raise self.failure
        return {"got": params}

    @staticmethod
    def _start(work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        return asyncio.create_task(work, name=what)

    def ask(self, request_id: Any = 1, **message: Any) -> JsonObject | None:
        return self.client.receive({"method": "ask", "id": request_id, **message})


async def test_a_storm_of_requests_is_refused_beyond_a_few() -> None:
    asked = Asked()
    replies = [asked.ask(number) for number in range(50)]
    assert replies[:4] == [None] * 4
    assert all(reply and reply["error"]["code"] == -32000 for reply in replies[4:])
    assert (again := asked.ask(0))
    assert again["error"]["code"] == -32600
    asked.going.set()
    await advance(0)
    assert [message["id"] for message in asked.sent] == [0, 1, 2, 3]
    assert asked.ask(0) is None


async def test_a_request_that_its_device_has_cancelled_gets_no_answer() -> None:
    asked = Asked()
    asked.ask("a")
    await advance(0)
    for request_id in ("b", ["a"], None, True, "a"):
        asked.client.receive({"method": "notifications/cancelled", "params": {"requestId": request_id}})
    asked.going.set()
    await advance(0)
    assert asked.sent == []


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
    for params in ([1], "x", {"a": "x" * 70_000}):
        reply = asked.ask(params=params)
        assert reply is not None
        assert reply["error"]["code"] == -32602


@given(result=st.dictionaries(st.sampled_from(["capabilities", "protocolVersion", "task"]), JSON_VALUES))
def test_any_answer_to_initialize_is_survived(result: JsonObject) -> None:
    assert Capabilities.from_storage(Capabilities.from_dict(result).as_dict()) == Capabilities.from_dict(
        result
    )
    Capabilities.from_storage(result)


@given(
    item=st.dictionaries(
        st.sampled_from(
            [
                "name",
                "uri",
                "uriTemplate",
                "title",
                "description",
                "mimeType",
                "size",
                "annotations",
                "arguments",
            ]
        ),
        JSON_VALUES,
    )
)
def test_whatever_is_listed_is_safe_to_store(item: JsonObject) -> None:
    for kind in (Resource, ResourceTemplate, Prompt):
        if (parsed := kind.from_dict(item)) is not None:
            assert kind.from_dict(json.loads(json.dumps(parsed.as_dict()))) == parsed


@given(results=st.lists(st.dictionaries(st.text(max_size=8), JSON_VALUES), min_size=1, max_size=3))
async def test_any_result_is_a_clear_outcome(results: list[JsonObject]) -> None:
    def script(_: JsonObject) -> JsonObject:
        return {"result": results[0]}

    names = ("resources_read", "prompts_get", "completion_complete", "tools_call", "resources_list")
    device = Device(**dict.fromkeys(names, script))
    for call in (
        device.client.read_resource("a:b"),
        device.client.get_prompt("p", {}),
        device.client.complete({}, "a", ""),
        device.client.call_tool("t"),
        device.client.list_resources(),
    ):
        with contextlib.suppress(McpError):
            await call
