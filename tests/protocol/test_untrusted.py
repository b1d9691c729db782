"""Numbers that are none, or endless, other faulty JSON, and texts in what comes from outside."""

from collections.abc import Callable
import json
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.checkin import parse_checkin
from custom_components.xiaozhi.protocol.json_rpc import Fault, read_request
from custom_components.xiaozhi.protocol.messages import MessageError, parse_message
from custom_components.xiaozhi.util.text import clean_data, clean_text, one_line
from custom_components.xiaozhi.util.untrusted_json import is_bounded, is_deep, parse_json
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
    checkin = json.dumps(BODY).replace("4063232", number).encode()
    assert parse_checkin(HEADERS, checkin) == parse_checkin(HEADERS, b"")
    fault = read_request(f'{{"id":1,"method":"tools/call","params":{{"a":{number}}}}}'.encode())
    assert isinstance(fault, Fault)
    assert fault.code == -32700


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-1.5e3", -1500.0),
        ("1e-999", 0.0),
        ("9" * 20, 1e20),
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


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("plain", "plain"),
        ("  two \t words ", "two words"),
        ("first\r\nERROR second\x85third\u2028fourth", "first ERROR second third fourth"),
        ("\x1b[31mred\x1b[0m\x00\x07", "[31mred [0m"),
        ("left\u202egnp.exe\u2066\u200f", "leftgnp.exe"),
        ("soft\u00adhyphen\u200b\ufeff", "softhyphen"),
        ("half \ud83d a pair", "half ? a pair"),
        ("👩‍🚀 و می‌خواهم", "👩‍🚀 و می‌خواهم"),
        ("\n\u202e\x00", ""),
    ],
)
def test_a_text_becomes_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_line_is_cut() -> None:
    assert one_line("abc", 2) == "ab"
    assert len(one_line("\n" * 5 + "x" * 1000)) == 500
    assert one_line("a\n" * 1000, 3) == "a a"


def test_a_text_of_several_lines_keeps_them() -> None:
    assert clean_text("a\n b\x1b\r\n\u202ec\ud800", 99) == "a\n b  \nc?"
    assert clean_text("abc", 2) == "ab"


def test_all_texts_of_parsed_json_are_cleaned() -> None:
    data = {"a\nb": ["x\x1by", 1, None, {"\u202ename": True}], "long": "x" * 2000}
    assert clean_data(data) == {"a b": ["x y", 1, None, {"name": True}], "long": "x" * 2000}
