"""Numbers that are none, or endless: in each number of every message that comes from outside."""

import base64
from collections.abc import Callable, Iterator
import json
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress
from custom_components.xiaozhi.protocol.access_point.rpc import Fault, parse
from custom_components.xiaozhi.protocol.checkin import parse_checkin
from custom_components.xiaozhi.protocol.device_status import StatusError, parse_status
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.messages import McpMessage, MessageError, parse_message
from custom_components.xiaozhi.protocol.untrusted_json import parse_json
from tests.protocol.test_checkin import BODY, HEADERS

BAD_NUMBERS = (
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e999",
    "1e20",
    "9" * 21,
    "-" + "9" * 21,
)


def _mcp(payload: dict[str, Any]) -> dict[str, Any]:
    return {"session_id": "", "type": "mcp", "payload": {"jsonrpc": "2.0", **payload}}


SCHEMA = {
    "type": "object",
    "properties": {"volume": {"type": "integer", "minimum": 1, "maximum": 2, "default": 3, "enum": [4, 5.5]}},
}
NOTIFIED = {"progressToken": 2, "progress": 3, "total": 4.5, "data": {"value": 6}}
ASKED = {
    "maxTokens": 5,
    "temperature": 0.5,
    "modelPreferences": {"costPriority": 0.25, "speedPriority": 1, "intelligencePriority": 0},
    "requestedSchema": SCHEMA,
    "_meta": {"progressToken": 3},
}
FROM_DEVICES = [
    {
        "type": "hello",
        "version": 1,
        "audio_params": {"sample_rate": 16000, "channels": 1, "frame_duration": 60},
    },
    _mcp(
        {"id": 1, "result": {"tools": [{"name": "a", "inputSchema": SCHEMA, "annotations": {"priority": 1}}]}}
    ),
    _mcp(
        {"id": 1, "result": {"content": [{"type": "text", "text": "1"}], "structuredContent": {"value": 7.5}}}
    ),
    _mcp({"id": 1, "result": {"resources": [{"uri": "a:b", "name": "a", "size": 5}]}}),
    _mcp({"id": 1, "result": {"task": {"taskId": "1", "ttl": 60_000, "pollInterval": 1000}}}),
    _mcp({"id": 1, "error": {"code": -32601, "message": "no", "data": {"retryAfter": 5}}}),
    _mcp({"method": "notifications/progress", "params": NOTIFIED}),
    _mcp({"method": "notifications/state_changed", "params": {"a": [1, {"b": 2.5}]}}),
    _mcp({"id": 4, "method": "sampling/createMessage", "params": ASKED}),
]
STATUS = {
    "audio_speaker": {"volume": 50},
    "screen": {"brightness": 60},
    "battery": {"level": 70},
    "chip": {"temperature": 40.5},
}
CALL = {
    "jsonrpc": "2.0",
    "id": 7,
    "method": "tools/call",
    "params": {"name": "a", "arguments": {"b": 1, "c": [2.5]}},
}
CLAIMS = {"endpointId": "agent_1", "userId": 1, "agentId": 2, "iat": 3, "exp": 1_786_000_000}


def with_bad_numbers(value: Any) -> Iterator[str]:
    """Yield JSON with each bad number in the place of each number."""
    marks: list[str] = []

    def marked(part: Any, changed: list[int]) -> Any:
        if isinstance(part, dict):
            return {key: marked(member, changed) for key, member in part.items()}
        if isinstance(part, list):
            return [marked(member, changed) for member in part]
        if isinstance(part, bool) or not isinstance(part, int | float):
            return part
        changed.append(1)
        return "\0" if len(changed) == len(marks) + 1 else part

    while "\0" in (text := json.dumps(marked(value, [])).replace(r'"\u0000"', "\0")):
        marks.append(text)
    assert marks
    for text in marks:
        for number in BAD_NUMBERS:
            yield text.replace("\0", number)


@pytest.mark.parametrize("message", FROM_DEVICES, ids=lambda message: str(message)[:60])
def test_a_device_cannot_send_them(message: dict[str, Any]) -> None:
    """On no link: all of them read messages here, those of its MCP server and its notifications included."""
    for text in with_bad_numbers(message):
        with pytest.raises(MessageError, match="not JSON"):
            parse_message(text)
        with pytest.raises(MessageError, match="not JSON"):
            parse_message(text.encode())


def test_the_text_of_a_result_cannot_hold_them() -> None:
    """Such a text is a text, and no status."""
    for text in with_bad_numbers(STATUS):
        assert ToolResult(text=text).json() is None
        with pytest.raises(StatusError):
            parse_status(text)


def test_a_check_in_with_them_says_nothing() -> None:
    """The headers identify the device all the same."""
    for text in with_bad_numbers(BODY):
        assert parse_checkin(HEADERS, text.encode()) == parse_checkin(HEADERS, b"")


def test_an_access_point_cannot_send_them() -> None:
    """Neither in requests nor in the token of its address."""
    for text in with_bad_numbers(CALL):
        fault = parse(text.encode())
        assert isinstance(fault, Fault)
        assert fault.code == -32700
    for text in with_bad_numbers(CLAIMS):
        claims = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        address = AccessPointAddress.parse(f"wss://cloud.example/mcp/?token=a.{claims}.c")
        assert (address.agent, address.expires) == (None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1.5e3", -1500.0),
        ("1e-999", 0.0),
        ("9" * 20, 10**20 - 1),
        ("-" + "9" * 20, 1 - 10**20),
        ("0.0000012345678901234567", 0.0000012345678901234567),
        ('"NaN"', "NaN"),
    ],
)
@pytest.mark.parametrize("read", [str, str.encode])
def test_other_numbers_are_read(text: str, value: Any, read: Callable[[str], str | bytes]) -> None:
    """JavaScript writes small numbers with many digits after the point."""
    assert parse_json(read(text)) == value


@pytest.mark.parametrize("data", [b"\xff", b"[" * 100_000, b"{", b"", "\ufeff1"])
def test_what_is_no_json_has_one_error(data: str | bytes) -> None:
    """Deep nesting and wrong bytes included."""
    with pytest.raises(ValueError):  # noqa: PT011 - which of them does not matter
        parse_json(data)


def test_a_message_with_a_good_number_is_read() -> None:
    """The templates above are good but for their numbers."""
    assert all(isinstance(parse_message(json.dumps(each)), McpMessage) for each in FROM_DEVICES[1:])
