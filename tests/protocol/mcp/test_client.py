"""The MCP client against a scripted device."""

import asyncio
from collections.abc import Callable
import contextlib
import json
import logging
from typing import Any, override

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.model import (
    McpAnswerTooLongError,
    McpCallError,
    McpDisconnectedError,
    McpError,
    McpNoReasonError,
    McpProtocolError,
    McpTimeoutError,
)
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.messages import JsonObject
from tests.protocol.mcp.device import DONE, JSON_VALUES, Device, advance


async def test_initialize_without_a_camera_and_with_a_silent_server() -> None:
    """Without vision the capability is left out; a server without name or version is accepted."""
    device = Device(initialize=lambda _: {"result": {"serverInfo": {"name": 7, "version": ""}}})
    assert await device.client.initialize(client_name="us", client_version="1") is None
    assert not device.client.extended
    assert device.sent[0]["params"]["capabilities"] == {}


async def test_a_call_sends_an_object_and_returns_the_result() -> None:
    """Arguments are always an object, and the progress token is the id."""
    device = Device(tools_call=lambda _: DONE)
    result = await device.client.call_tool("self.audio_speaker.set_volume", {"volume": 40})
    assert result.text == "true"
    assert result.json() is True
    assert await device.client.call_tool("self.lamp.turn_on") == result
    first, second = device.sent
    assert first["params"] == {
        "name": "self.audio_speaker.set_volume",
        "arguments": {"volume": 40},
        "_meta": {"progressToken": first["id"]},
    }
    assert second["params"]["arguments"] == {}


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({"error": {"message": "Unknown tool: x"}}, "Unknown tool: x"),
        ({"error": {"message": "no", "code": -32602}, "result": None}, "no"),
        ({"error": {"message": "no", "code": True}}, "no"),
        ({"error": "plain words"}, "plain words"),
        ({"error": {"message": ""}}, "the device gave no reason"),
        ({"error": {"message": "x" * 9000}}, "x" * 500),
        ({"error": {"message": "\ud800"}}, "?"),
        ({"result": {"content": [{"type": "text", "text": "jammed"}], "isError": True}}, "jammed"),
        ({"result": {"content": [], "isError": True}}, "the device gave no reason"),
    ],
)
async def test_a_refusal_carries_the_devices_words(reply: JsonObject, text: str) -> None:
    """With code or without, as an error or as a result marked as one."""
    device = Device(tools_call=lambda _: reply)
    with pytest.raises(McpCallError) as raised:
        await device.client.call_tool("self.x")
    assert str(raised.value) == text
    assert isinstance(raised.value, McpNoReasonError) is (text == "the device gave no reason")


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"result": None},
        {"result": "true"},
        {"result": {}},
        {"result": {}, "error": {"message": "no"}},
        {"error": {"code": 1}},
        {"error": {"message": 5}},
    ],
)
async def test_a_malformed_answer_fails_its_call_only(reply: JsonObject) -> None:
    answers = iter([reply, DONE])
    device = Device(tools_call=lambda _: next(answers))
    with pytest.raises(McpProtocolError):
        await device.client.call_tool("self.x")
    assert (await device.client.call_tool("self.x")).text == "true"


@pytest.mark.parametrize(("allowed", "patience"), [(None, 10), (90, 90), (1, 1)])
async def test_a_device_that_never_answers_is_given_up_in_time(
    allowed: float | None, patience: float
) -> None:
    """A call takes as long as its caller allows; a late answer is only counted."""
    device = Device()
    task = await device.begin(timeout=allowed)
    await advance(patience - 0.5)
    assert not task.done()
    await advance(1)
    with pytest.raises(McpTimeoutError) as raised:
        await task
    assert raised.value.sent
    device.client.receive({"id": device.sent[0]["id"], **DONE})
    assert device.client.dropped == 1
    assert len(device.sent) == 1


async def test_only_a_device_beyond_stock_firmware_is_told_of_cancelled_calls() -> None:
    device = Device()
    device.client.extended = True
    task = await device.begin()
    await advance(11)
    with pytest.raises(McpTimeoutError):
        await task
    await advance(1)
    call, cancelled = device.sent
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == call["id"]


async def test_an_answer_that_is_too_long_fails_the_call_that_waits_for_it() -> None:
    """Of several, it is not known which."""
    device = Device()
    tasks = [await device.begin(), await device.begin()]
    device.client.message_too_long()
    device.client.receive({"id": device.sent[0]["id"], **DONE})
    await tasks[0]
    device.client.message_too_long()
    with pytest.raises(McpAnswerTooLongError):
        await tasks[1]


async def test_progress_extends_only_its_call_and_not_for_ever() -> None:
    """Ten minutes of progress are the most; the notification is handed on."""
    device = Device()
    slow = await device.begin("self.slow")
    other = await device.begin("self.other")
    progress = {
        "method": "notifications/progress",
        "params": {"progressToken": device.sent[0]["id"], "progress": 1},
    }
    for seconds in range(5, 605, 5):
        device.client.receive(progress)
        await advance(5)
        assert other.done() is (seconds >= 10)
        assert slow.done() is (seconds == 600)
    for task in (slow, other):
        with pytest.raises(McpTimeoutError):
            await task
    assert device.notifications[0] == ("notifications/progress", progress["params"])
    assert device.client.receive(progress) is None


async def test_no_answer_is_the_success_of_a_restarting_tool() -> None:
    """Whether the device goes silent or goes away; its words still count when it has any."""
    device = Device()
    silent, leaving, refused, answered = [
        await device.begin("self.reboot", timeout=3, restarts=True) for _ in range(4)
    ]
    device.answer(device.sent[2]["id"], {"error": {"message": "no"}})
    device.answer(device.sent[3]["id"], DONE)
    with pytest.raises(McpCallError, match="no"):
        await refused
    assert (await answered).text == "true"
    await advance(2.5)
    assert not silent.done()
    await advance(1)
    assert await silent == await leaving == ToolResult()
    leaving = await device.begin("self.reboot", restarts=True)
    device.client.close("gone")
    assert await leaving == ToolResult()


async def test_a_restarting_tool_that_could_not_be_sent_has_failed() -> None:
    """Nothing restarts when the device was gone before."""
    device = Device()
    device.gone = True
    with pytest.raises(McpDisconnectedError, match="hung up") as raised:
        await device.client.call_tool("self.reboot", restarts=True)
    assert not raised.value.sent
    device.client.close("gone")
    with pytest.raises(McpDisconnectedError, match="gone"):
        await device.client.call_tool("self.reboot", restarts=True)
    assert device.sent == []


async def test_closing_fails_all_calls_now_and_later() -> None:
    """The first reason stays; an answer that came just before the close still counts."""
    device = Device()
    answered, *tasks = [await device.begin() for _ in range(3)]
    device.client.receive({"id": device.sent[0]["id"], **DONE})
    device.client.close("the Wi-Fi is gone")
    device.client.close("again")
    assert (await answered).text == "true"
    for task in tasks:
        with pytest.raises(McpDisconnectedError, match="Wi-Fi"):
            await task
    with pytest.raises(McpDisconnectedError, match="Wi-Fi"):
        await device.client.call_tool("self.x")


async def test_a_cancelled_call_leaves_nothing_behind() -> None:
    device = Device()
    task = await device.begin()
    task.cancel()
    device.client.receive({"id": device.sent[0]["id"], **DONE})
    with pytest.raises(asyncio.CancelledError):
        await task
    assert device.client._calls == {}
    assert device.client.dropped == 1


@pytest.mark.parametrize(
    "changed",
    [lambda sent: sent + 1, lambda sent: -sent, float, str, lambda sent: [sent], lambda sent: {str(sent): 1}],
)
async def test_answers_to_other_ids_are_ignored(changed: Callable[[int], Any]) -> None:
    """Nothing but the integer that was sent ends the call."""
    device = Device()
    task = await device.begin()
    sent = device.sent[0]["id"]
    # The last ones are of a web page that a robot serves, which counts from 1.
    others = (changed(sent), None, True, *range(100))
    for reply_id in others:
        device.client.receive({"id": reply_id, **DONE})
    device.client.receive(DONE)
    assert device.client.dropped == len(others) + 1
    device.answer(sent, DONE)
    assert (await task).text == "true"


def test_requests_of_the_device_are_answered() -> None:
    """A ping gets an empty result, everything else the standard's error."""
    client = Device().client
    assert client.receive({"method": "ping", "id": 5}) == {"jsonrpc": "2.0", "id": 5, "result": {}}
    for request_id, method in (("a", "roots/list"), (6, "house/open")):
        assert client.receive({"method": method, "id": request_id, "params": {}}) == {
            "jsonrpc": "2.0",
            "id": request_id,
            "error": {"code": -32601, "message": "Method not found"},
        }
    for bad_id in (None, True, 1.5, [1], "x" * 1000):
        assert client.receive({"method": "ping", "id": bad_id}) is None
    assert client.dropped == 5


def test_notifications_are_handed_on_within_bounds(caplog: pytest.LogCaptureFixture) -> None:
    """What is too large or of the wrong type is dropped, and logged once."""
    caplog.set_level(logging.DEBUG)
    device = Device()
    good = [("notifications/tools/list_changed", {}), ("notifications/state_changed", {"newState": "idle"})]
    for method, params in good:
        assert device.client.receive({"method": method, "params": params}) is None
    device.client.receive({"method": "notifications/message", "params": None})
    device.client.receive({"method": "notifications/message"})
    assert device.notifications == [*good, ("notifications/message", {}), ("notifications/message", {})]
    deep: Any = {}
    for _ in range(50_000):
        deep = {"a": deep}
    bad: list[JsonObject] = [
        {"method": 7},
        {"method": "x" * 129},
        {"method": "a\nb"},
        {"method": "m", "params": [1]},
        {"method": "m", "params": {"a": "x" * 20_000}},
        {"method": "m", "params": {"a": float("nan")}},
        {"method": "m", "params": {"a": 2**64}},
        {"method": "m", "params": {"a": "\ud800"}},
        {"method": "m", "params": deep},
    ]
    for payload in bad:
        assert device.client.receive(payload) is None
    assert len(device.notifications) == 4
    assert device.client.dropped == len(bad)
    assert caplog.text.count("Dropped") == 1


def test_a_fault_of_the_listener_does_not_reach_the_link(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(Device):
        @override
        def notified(self, method: str, params: JsonObject) -> None:
            raise KeyError(method)

    assert Faulty().client.receive({"method": "notifications/message"}) is None
    assert "could not be handled" in caplog.text


PAYLOADS = st.dictionaries(st.text(max_size=8), JSON_VALUES, max_size=4) | st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON_VALUES,
        "id": st.just("ours") | st.integers(0, 2) | JSON_VALUES,
        "method": st.sampled_from(["ping", "notifications/progress"]) | JSON_VALUES,
        "params": st.fixed_dictionaries({"progressToken": st.just("ours") | JSON_VALUES}) | JSON_VALUES,
        "result": st.fixed_dictionaries({"content": JSON_VALUES}) | JSON_VALUES,
        "error": st.fixed_dictionaries({"message": JSON_VALUES}) | JSON_VALUES,
    },
)


@given(payloads=st.lists(PAYLOADS, max_size=3))
async def test_whatever_a_device_sends_is_survived(payloads: list[JsonObject]) -> None:
    device = Device()
    task = await device.begin()
    ours = device.sent[0]["id"]
    for payload in json.loads(json.dumps(payloads).replace('"ours"', str(ours))):
        reply = device.client.receive(payload)
        assert reply is None or json.loads(json.dumps(reply, allow_nan=False)) == reply
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    if not task.done():
        device.answer(ours, DONE)
        assert (await task).text == "true"
    else:
        with contextlib.suppress(McpError):
            assert isinstance(await task, ToolResult)
    assert device.client._calls == {}
