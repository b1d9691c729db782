"""Messages, names and results: everything that is parsed or shaped."""

from datetime import UTC, datetime
import json
from typing import Any

from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.access_point.results import MAX_RESULT, error_text, result_text
from custom_components.xiaozhi.protocol.access_point.rpc import (
    Fault,
    Request,
    encode,
    error_reply,
    parse,
    result_reply,
)
from custom_components.xiaozhi.protocol.access_point.tools import OfferedTool, ToolList, by_shown_name
from tests.protocol.access_point.site import scripted_tool
from tests.protocol.any_json import any_json

JSON = any_json()


async def nothing(arguments: Any) -> Any:
    return None


def tools(*names: str) -> list[OfferedTool]:
    return [scripted_tool(name, nothing) for name in names]


@given(
    st.binary(max_size=300)
    | JSON.map(lambda value: json.dumps(value).encode())
    | st.fixed_dictionaries(
        {}, optional={"id": JSON, "method": st.text() | st.just("ping"), "params": JSON}
    ).map(lambda value: json.dumps(value).encode())
)
def test_any_bytes_are_read(data: bytes) -> None:
    match parse(data):
        case Request(request_id, _, params):
            encode(result_reply(request_id, params)).encode()
        case Fault() as fault:
            encode(error_reply(fault)).encode()


def in_message(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode())


def test_a_result_is_compact_and_readable() -> None:
    assert result_text({"state": "温度 21 °C", "on": True}) == '{"state":"温度 21 °C","on":true}'
    assert result_text({"at": datetime(2026, 1, 1, tzinfo=UTC)}) == '{"at":"2026-01-01 00:00:00+00:00"}'


def test_a_result_with_an_action_is_wrapped() -> None:
    """xiaozhi-esp32-server would take it for its own."""
    assert json.loads(result_text({"action": "open", "x": 1})) == {"result": {"action": "open", "x": 1}}
    assert json.loads(result_text({"data": {"action": "open"}})) == {"data": {"action": "open"}}


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


def test_what_cannot_be_encoded_is_an_error() -> None:
    circle: list[Any] = []
    circle.append(circle)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    for data in (circle, deep, {(1, 2): 3}):
        assert json.loads(result_text(data)) == {"error": "The tool's answer cannot be shown."}


def test_an_error_is_one_short_line() -> None:
    assert json.loads(error_text("No\nsuch\u202e lamp " + "x" * 900))["error"] == (
        "No such lamp " + "x" * 487
    )


@given(JSON)
def test_any_result_fits(value: Any) -> None:
    text = result_text(value)
    assert in_message(text) <= MAX_RESULT
    text.encode()


def test_other_names_are_changed_and_lead_back() -> None:
    """Two that would become the same get a hash, as do long ones."""
    given_names = ["script__a.b", "script__a b", "晚安", "x" * 70, "x" * 71, "media player"]
    shown = by_shown_name(tools(*given_names))
    assert [tool.name for tool in shown.values()] == given_names
    assert len(shown) == 6
    assert "media_player" in shown
    assert all(len(name) <= 64 and name.isascii() for name in shown)


@given(st.lists(st.text(max_size=90), max_size=12, unique=True))
def test_any_names_become_valid_and_distinct(names: list[str]) -> None:
    shown = by_shown_name(tools(*names))
    assert len(shown) == len(names)
    for name in shown:
        assert 1 <= len(name) <= 64
        assert all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)


def test_a_list_has_three_members_for_each_tool_and_knows_its_size() -> None:
    listed = ToolList.of(tools("one", "two"))
    assert [set(tool) for tool in listed.tools] == [{"name", "description", "inputSchema"}] * 2
    assert listed.size == len(json.dumps(listed.tools, separators=(",", ":")))
    assert listed == ToolList.of(tools("one", "two"))
    assert listed != ToolList.of(tools("two", "one"))
