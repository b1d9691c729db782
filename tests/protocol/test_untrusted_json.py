"""Numbers that are none, or endless, and other faulty JSON, in every message that comes from outside."""

import base64
from collections.abc import Callable
import json
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress
from custom_components.xiaozhi.protocol.access_point.rpc import Fault, parse
from custom_components.xiaozhi.protocol.checkin import parse_checkin
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.messages import MessageError, parse_message
from custom_components.xiaozhi.protocol.untrusted_json import is_bounded, is_deep, parse_json
from tests.protocol.test_checkin import BODY, HEADERS

BAD_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999")


@pytest.mark.parametrize("number", BAD_NUMBERS)
def test_no_reader_takes_them(number: str) -> None:
    """All messages of a device are read in one place, and so are an access point's."""
    for text in (number, f"[{number}]", f'{{"a":{{"b":[0,{number}]}}}}'):
        with pytest.raises(ValueError):  # noqa: PT011 - which of them does not matter
            parse_json(text)
    message = f'{{"type":"mcp","payload":{{"id":1,"result":{{"a":{number}}}}}}}'
    for data in (message, message.encode()):
        with pytest.raises(MessageError, match="not JSON"):
            parse_message(data)
    assert ToolResult(text=f'{{"battery":{{"level":{number}}}}}').json() is None
    checkin = json.dumps(BODY).replace("4063232", number).encode()
    assert parse_checkin(HEADERS, checkin) == parse_checkin(HEADERS, b"")
    fault = parse(f'{{"id":1,"method":"tools/call","params":{{"a":{number}}}}}'.encode())
    assert isinstance(fault, Fault)
    assert fault.code == -32700
    claims = base64.urlsafe_b64encode(f'{{"agentId":2,"exp":{number}}}'.encode()).decode().rstrip("=")
    address = AccessPointAddress.parse(f"wss://cloud.example/mcp/?token=a.{claims}.c")
    assert (address.agent, address.expires) == (None, None)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1.5e3", -1500.0),
        ("1e-999", 0.0),
        ("9" * 20, 1e20),
        ("-" + "9" * 20, -1e20),
        ("0.0000012345678901234567", 0.0000012345678901234567),
        ('"NaN"', "NaN"),
    ],
)
@pytest.mark.parametrize("read", [str, str.encode])
def test_other_numbers_are_read(text: str, value: Any, read: Callable[[str], str | bytes]) -> None:
    """JavaScript writes small numbers with many digits after the point."""
    assert parse_json(read(text)) == value


@pytest.mark.parametrize("data", [b"\xff", b"[" * 100_000, b"[" * 33 + b"]" * 33, b"{", b"", "\ufeff1"])
def test_what_is_no_json_has_one_error(data: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - which of them does not matter
        parse_json(data)


@pytest.mark.parametrize(
    ("value", "bounded"),
    [
        ({"a": [1, 2.5, None, True, "说"]}, True),
        ("x" * 98, True),
        ("x" * 99, False),
        ([0] * 50, False),
        (float("nan"), False),
        (2**64, False),
        ("\ud800", False),
    ],
)
def test_bounds_are_on_characters_and_on_what_can_be_encoded(value: Any, bounded: bool) -> None:
    assert is_bounded(value, 100) == bounded


def test_depth_counts_lists_and_objects() -> None:
    assert not is_deep({"a": [1]}, 2)
    assert is_deep({"a": [1]}, 1)
    assert not is_deep("x", 0)
