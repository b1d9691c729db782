"""A recording of a conversation stays within its bounds, and keeps nothing that says who is in the house."""

import json

import pytest

from custom_components.xiaozhi.protocol import trace as module
from custom_components.xiaozhi.protocol.messages import ListenDetect, McpMessage, UnknownMessage
from custom_components.xiaozhi.protocol.trace import Trace


@pytest.fixture
async def trace() -> Trace:
    return Trace({"link": "mqtt"}, with_sound=False)


def lines(trace: Trace) -> list[dict[str, object]]:
    return [json.loads(line) for line in trace.lines]


@pytest.mark.parametrize("what", ["packets", "bytes"])
async def test_it_ends_at_a_bound_and_says_so(trace: Trace, what: str) -> None:
    for _ in range(module._MAX_PACKETS + 10 if what == "packets" else 50):
        if what == "packets":
            trace.packet("up", b"")
        else:
            trace.note("state", state="x" * 100_000)
    assert trace.over.is_set()
    assert lines(trace)[-1]["kind"] == "full"
    size = len(trace.lines)
    trace.packet("down", b"")
    assert len(trace.lines) == size


async def test_of_messages_it_keeps_their_kind_and_of_texts_the_number_of_words(trace: Trace) -> None:
    trace.received(UnknownMessage("my house"))
    trace.received(ListenDetect("hi there"))
    trace.received(McpMessage({"id": 3, "result": {"ssid": "my house"}}))
    trace.received(McpMessage({"method": "tools/call", "params": {"name": "self.my house"}}))
    trace.sent({"type": "alert", "status": "my house", "message": "my house is on fire", "emotion": "sad"})
    assert "house" not in "\n".join(trace.lines)
    kinds = [line.get("message") for line in lines(trace)[1:4]]
    assert kinds == ["UnknownMessage", "ListenDetect", "McpMessage"]
    assert lines(trace)[2]["text_words"] == 2
    assert lines(trace)[-1]["message_words"] == 5


async def test_what_a_device_bends_is_recorded_and_changes_nothing(
    trace: Trace, caplog: pytest.LogCaptureFixture
) -> None:
    for params in ([1], "now", None, {"name": [1]}):
        trace.received(McpMessage({"method": "notifications/x", "params": params}))
    kinds = [line["method"] for line in lines(trace)[1:]]
    assert kinds == ["notifications/x"] * 4
    trace.text("pipeline", 5)  # type: ignore[arg-type]
    trace.note("speech", at=trace)
    assert len(trace.lines) == 5
    assert caplog.text.count("could not be recorded") == 2
