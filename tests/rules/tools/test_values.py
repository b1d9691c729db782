"""What the answer of a tool says: a state, and attributes that Home Assistant itself does not use."""

from typing import Any

from homeassistant.const import EntityStateAttribute
from hypothesis import given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.tools.answer_values import (
    as_attributes,
    as_flag,
    as_number,
    as_text,
    parse_answer,
)

OTHERS = ["entity_id", "entity_picture_local", "group_entities", "last_reset", "options", "state_class"]


def test_no_member_of_an_answer_is_taken_for_home_assistants_own() -> None:
    theirs = {str(name): "http://192.168.1.66/x.png" for name in (*EntityStateAttribute, *OTHERS)}
    assert as_attributes({**theirs, "mode": "auto", "temperature": 21}) == {"mode": "auto", "temperature": 21}


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("AEC对话打断模式处于关闭状态", False),
        ("AEC对话打断模式处于开启状态", True),
        ("AEC on", None),
        ("开启或关闭", None),
        (True, True),
        (None, None),
    ],
)
def test_a_sentence_is_on_or_off_by_its_part(text: Any, flag: bool | None) -> None:
    assert as_flag(text, ("开启", "关闭")) is flag


@pytest.mark.parametrize(
    ("text", "flag", "value", "state"),
    [
        ("true", True, None, "on"),
        ("false", False, None, "off"),
        ("null", None, None, "null"),
        ("1", True, 1, 1),
        ("2.5", None, 2.5, 2.5),
        ("moving", None, None, "moving"),
        ('{"power": true}', True, None, "on"),
        ('{"enable": 0}', False, 0, 0),
        ('{"level": 82, "charging": false}', None, 82, 82),
        ('{"success": true, "message": "AEC on"}', None, None, "AEC on"),
        ('{"a": 1, "b": [2]}', None, None, "a: 1, b: [2]"),
        ('["a", 1]', None, None, "a, 1"),
        ("{", None, None, "{"),
        ("NaN", None, None, "NaN"),
        ("", None, None, ""),
        (None, None, None, None),
    ],
)
def test_answers_are_read_as_what_they_say(
    text: str | None, flag: bool | None, value: float | None, state: str | float | None
) -> None:
    answer = parse_answer(ToolResult(text=text))
    assert as_flag(answer) is flag
    assert as_number(answer) == value
    assert as_text(answer) == state


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ("25.3 °C", 25.3),
        ("Temperature: 25.3°C", 25.3),
        ("当前温度-3度", -3.0),
        ("sensor error 5", None),
        ("读取失败 3", None),
        ("1 of 2", None),
        ({"value": "42 %"}, 42.0),
    ],
)
def test_a_number_among_words_is_a_number(told: Any, value: float | None) -> None:
    assert as_number(told) == value


def test_a_huge_answer_is_cut() -> None:
    assert len(str(as_text(parse_answer(ToolResult(text="x" * 60000))))) == 255
    assert len(str(as_text(parse_answer(ToolResult(text=str(["on"] * 9000)))))) == 255
    assert len(str(as_text(parse_answer(ToolResult(text='{"a": "' + "x" * 2000 + '"}'))))) == 255


@given(
    st.text(max_size=50)
    | st.recursive(st.none() | st.booleans() | st.integers() | st.floats(), st.lists).map(str)
)
def test_no_answer_is_too_strange(text: str) -> None:
    answer = parse_answer(ToolResult(text=text))
    as_flag(answer)
    as_number(answer)
    as_attributes(answer)
    assert len(str(as_text(answer))) <= 255
