"""Texts of devices are cut and cleaned before anybody sees them."""

import pytest

from custom_components.xiaozhi.protocol.untrusted_text import clean_data, clean_text, one_line


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
        ("你好，世界", "你好，世界"),
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
