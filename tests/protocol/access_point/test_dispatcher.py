"""Requests and their answers, without a connection: messages, names, calls and results."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
import json
from math import inf
from typing import Any
from unittest.mock import AsyncMock

from hypothesis import example, given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.access_point.dispatcher import CallOutcome, CallRecord, Dispatcher
from custom_components.xiaozhi.protocol.access_point.tools import (
    MAX_RESULT,
    OfferedTool,
    ToolError,
    ToolList,
    by_shown_name,
    error_text,
    result_text,
)
from custom_components.xiaozhi.protocol.json_rpc import (
    Fault,
    Request,
    error_reply,
    read_request,
    result_reply,
)
from custom_components.xiaozhi.protocol.messages import encode
from tests.protocol.access_point.site import House, scripted_tool, text_of
from tests.protocol.any_json import any_json


class Desk:
    """A dispatcher with a house."""

    def __init__(self) -> None:
        self.house = House()
        self.records = self.house.records
        self.dispatcher = Dispatcher(self.house, version="1.2.3")

    async def ask(self, method: str, request_id: Any = 1, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        text = await self.dispatcher.answer(json.dumps(message).encode())
        return None if text is None else json.loads(text)

    async def call(self, name: str = "light__turn_on", /, **arguments: Any) -> Any:
        """Return the answer of a tool."""
        return text_of(await self.ask("tools/call", name=name, arguments=arguments))

    def add(self, name: str, act: Any, *, changes_nothing: bool = False) -> None:
        self.house.made.append(scripted_tool(name, act, changes_nothing=changes_nothing))


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    desk = Desk()
    yield desk
    await desk.dispatcher.close()


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2024-11-05"),
        (5, "2024-11-05"),
        (None, "2024-11-05"),
        ([], "2024-11-05"),
    ],
)
async def test_initialize_agrees_on_a_version(desk: Desk, asked: Any, answered: str) -> None:
    reply = await desk.ask("initialize", 0, protocolVersion=asked, clientInfo={"name": "xz-mcp-broker"})
    assert reply["id"] == 0
    assert reply["result"] == {
        "protocolVersion": answered,
        "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "Home Assistant", "version": "1.2.3"},
    }
    assert desk.dispatcher.client_name == "xz-mcp-broker"
    assert desk.dispatcher.protocol_version == answered


@pytest.mark.parametrize("arguments", [None, "", {}, []])
async def test_a_call_without_arguments(desk: Desk, arguments: Any) -> None:
    """Models leave them out in several ways."""
    reply = await desk.ask("tools/call", name="light__turn_on", arguments=arguments, serialNumber="SN1")
    assert text_of(reply) == {"success": True}
    assert desk.house.calls == [{}]


async def test_every_call_is_recorded_without_its_arguments(desk: Desk) -> None:
    desk.add("failing", AsyncMock(side_effect=ToolError("No lamp has this name.")))
    desk.add("crashing", AsyncMock(side_effect=ValueError("secret detail")))
    assert await desk.call("failing") == {"error": "No lamp has this name."}
    assert "log of Home Assistant" in (await desk.call("crashing"))["error"]
    await desk.call(name="x")
    await desk.ask("tools/call", name="no such\ntool")
    assert desk.records == [
        CallRecord("failing", CallOutcome.FAILED, 0),
        CallRecord("crashing", CallOutcome.FAILED, 0),
        CallRecord("light__turn_on", CallOutcome.DONE, 0),
        CallRecord("no such tool", CallOutcome.REFUSED, 0),
    ]


async def test_a_name_that_was_changed_calls_its_tool(desk: Desk) -> None:
    desk.add("晚安", AsyncMock(return_value={"called": True}))
    listed = (await desk.ask("tools/list"))["result"]["tools"][-1]["name"]
    assert listed.isascii()
    assert await desk.call(listed) == {"called": True}
    assert desk.records[-1].tool == "晚安"


async def test_a_slow_action_is_left_to_finish(desk: Desk) -> None:
    """The model is told before the other side gives up, and pings are answered meanwhile."""
    clock = asyncio.get_running_loop().time
    began = clock()
    call = asyncio.create_task(desk.ask("tools/call", name="slow"))
    await asyncio.sleep(1)
    assert (await desk.ask("ping", 2))["result"] == {}
    assert "still running" in text_of(await call)["error"]
    assert 24.9 <= clock() - began < 26
    assert desk.dispatcher.running == 1
    assert desk.records[-1].outcome is CallOutcome.RUNNING
    desk.house.release.set()
    await asyncio.sleep(0.1)
    assert desk.dispatcher.running == 0


async def test_an_action_that_takes_too_long_or_says_so_itself_has_failed(desk: Desk) -> None:
    """Or eight of them would block the access point until the restart."""
    await desk.call("slow")
    await asyncio.sleep(280)
    assert desk.dispatcher.running == 0
    desk.add("impatient", AsyncMock(side_effect=TimeoutError))
    assert "took too long" in (await desk.call("impatient"))["error"]


async def test_eight_calls_at_once_and_no_more(desk: Desk) -> None:
    calls = [asyncio.create_task(desk.ask("tools/call", number, name="slow")) for number in range(12)]
    await asyncio.sleep(1)
    assert desk.dispatcher.running == 8
    desk.house.release.set()
    answers = [text_of(await call) for call in calls]
    assert [answer for answer in answers if answer == {"success": True}] == [{"success": True}] * 8
    assert ["at once" in answer["error"] for answer in answers if "error" in answer] == [True] * 4
    assert len(desk.house.calls) == 8


async def test_sixty_calls_a_minute_and_no_more(desk: Desk) -> None:
    for _ in range(60):
        assert await desk.call() == {"success": True}
    for _ in range(100):
        assert "a minute" in (await desk.call())["error"]
    assert len(desk.records) == 60
    await asyncio.sleep(1.1)
    assert await desk.call() == {"success": True}
    assert len(desk.house.calls) == 61


async def test_what_only_reads_is_bounded(desk: Desk) -> None:
    """Without a look at its name. In a large house each reading stops Home Assistant for a moment."""
    desk.add("any__name", AsyncMock(return_value={"number": 1}), changes_nothing=True)
    answers = [await desk.call("any__name") for _ in range(25)]
    assert answers[:20] == [{"number": 1}] * 20
    assert "questions a minute" in answers[-1]["error"]
    await asyncio.sleep(4)
    assert await desk.call("any__name") == {"number": 1}


@pytest.mark.parametrize("seconds", [1, 2.1], ids=["while it is made", "after it"])
async def test_what_was_made_before_a_change_is_not_kept(desk: Desk, seconds: float) -> None:
    """What is not exposed any more cannot be used by the next call."""

    async def made_slowly() -> list[OfferedTool]:
        found = list(desk.house.made)
        await asyncio.sleep(2)
        return found

    desk.house.tools = made_slowly  # type: ignore[method-assign]
    asking = asyncio.create_task(desk.ask("tools/list"))
    await asyncio.sleep(seconds)
    desk.house.made.clear()
    desk.dispatcher.forget()
    await asking
    assert "error" in await desk.ask("tools/call", name="light__turn_on")
    assert desk.house.calls == []


@pytest.mark.parametrize(
    "arguments", [{"message": "." * 30_000}, {"a": [{"b": "x" * 2001}]}, {"x" * 2001: 1}]
)
async def test_long_texts_reach_no_tool(desk: Desk, arguments: dict[str, Any]) -> None:
    """A broadcast would be spoken for an hour."""
    assert "2000 characters" in (await desk.call(**arguments))["error"]
    assert desk.house.calls == []
    assert await desk.call(message="x" * 2000) == {"success": True}


async def test_a_list_that_cannot_be_made_is_an_error_in_time(desk: Desk) -> None:
    desk.house.error = ValueError("secret detail")
    reply = await desk.ask("tools/list")
    assert reply["error"]["code"] == -32603
    assert "secret" not in json.dumps(reply)
    assert "secret" not in (await desk.call())["error"]
    # The cloud closes the connection after ten seconds without an answer.
    desk.house.error, desk.house.delay = None, 3600
    began = asyncio.get_running_loop().time()
    assert (await desk.ask("tools/list"))["error"]["code"] == -32603
    assert asyncio.get_running_loop().time() - began < 9


async def test_what_a_tool_says_that_is_no_json_costs_no_other_tool(desk: Desk) -> None:
    odd = {"type": "object", "properties": {"at": {"default": timedelta(hours=1), "maximum": inf}}}
    desk.house.made.append(replace(scripted_tool("odd", AsyncMock()), parameters=odd))
    listed = (await desk.ask("tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in listed] == ["light__turn_on", "slow", "odd"]
    assert listed[2]["inputSchema"]["properties"] == {"at": {"default": "1:00:00", "maximum": None}}


@pytest.mark.parametrize("key", [("a", "b"), object(), b"a", frozenset({"a"})])
async def test_a_tool_that_cannot_be_described_is_left_out_and_named_once(
    desk: Desk, caplog: pytest.LogCaptureFixture, key: Any
) -> None:
    name = f"odd_{type(key).__name__}"
    desk.house.made.append(replace(scripted_tool(name, AsyncMock()), parameters={"properties": {key: {}}}))
    for _ in range(2):
        listed = (await desk.ask("tools/list"))["result"]["tools"]
        assert [tool["name"] for tool in listed] == ["light__turn_on", "slow"]
        desk.house.made[:] = [*desk.house.made]
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert errors == [f"The tool {name} is left out, since it cannot be described"]


JSON = any_json()


def tools(*names: str) -> list[OfferedTool]:
    return [scripted_tool(name, AsyncMock()) for name in names]


@given(
    st.binary(max_size=300)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries(
        {}, optional={"id": JSON, "method": st.text() | st.just("ping"), "params": JSON}
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_are_read(data: bytes) -> None:
    match read_request(data):
        case Request(request_id, _, params):
            encode(result_reply(request_id, params)).encode()
        case Fault() as fault:
            encode(error_reply(fault)).encode()


def in_message(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode())


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]
UNREADABLE = error_text("The tool's answer cannot be shown.")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({"state": "温度 21 °C", "on": True}, '{"state":"温度 21 °C","on":true}'),
        ({"at": datetime(2026, 1, 1, tzinfo=UTC)}, '{"at":"2026-01-01 00:00:00+00:00"}'),
        # xiaozhi-esp32-server would take it for its own.
        ({"action": "open", "x": 1}, '{"result":{"action":"open","x":1}}'),
        ({"data": {"action": "open"}}, '{"data":{"action":"open"}}'),
        (CIRCLE, UNREADABLE),
        (DEEP, UNREADABLE),
        ({(1, 2): 3}, UNREADABLE),
    ],
    ids=range(7),
)
def test_a_result_is_compact_and_readable(data: Any, text: str) -> None:
    assert result_text(data) == text


@pytest.mark.parametrize("letter", ["a", "ä", "家", "😀", '"', "\n", "\\"])
def test_a_long_result_is_cut_at_a_character(letter: str) -> None:
    """As long as possible, in the form that goes into the message; with a sentence what to do."""
    text = result_text({"result": letter * 9000})
    assert text.endswith("(cut: ask for an area, a domain or a name)")
    assert MAX_RESULT - 10 <= in_message(text) <= MAX_RESULT


def test_a_huge_result_takes_little_time_to_shape() -> None:
    """It is not encoded beyond what is sent."""
    endless = {"result": [Counting() for _ in range(100_000)]}
    Counting.shown = 0
    assert in_message(result_text(endless)) <= MAX_RESULT
    assert Counting.shown < 3000


class Counting:
    """Something that is not JSON, and counts how often it is shown."""

    shown = 0

    def __str__(self) -> str:
        """Count."""
        Counting.shown += 1
        return "counting"


def test_an_error_is_one_short_line() -> None:
    assert json.loads(error_text("No\nsuch\u202e lamp " + "x" * 900))["error"] == (
        "No such lamp " + "x" * 487
    )


@given(JSON)
def test_any_result_fits(value: Any) -> None:
    text = result_text(value)
    assert in_message(text) <= MAX_RESULT
    text.encode()


@given(st.lists(st.text(max_size=90), max_size=12, unique=True))
@example(["script__a.b", "script__a b", "晚安", "x" * 70, "x" * 71])
def test_any_names_become_valid_and_distinct_and_lead_back(names: list[str]) -> None:
    shown = by_shown_name(tools(*names))
    assert [tool.name for tool in shown.values()] == names
    for name in shown:
        assert 1 <= len(name) <= 64
        assert all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)


def test_a_list_has_three_members_for_each_tool_and_knows_its_size() -> None:
    listed = ToolList.of(tools("one", "two"))
    assert [set(tool) for tool in listed.tools] == [{"name", "description", "inputSchema"}] * 2
    assert listed.size == len(json.dumps(listed.tools, separators=(",", ":")))
    assert listed == ToolList.of(tools("one", "two"))
    assert listed != ToolList.of(tools("two", "one"))
