"""Subtitles of an announcement, which are sent before it is heard."""

import json

from hypothesis import given, strategies as st

from custom_components.xiaozhi.protocol.conversation.subtitles import subtitles


def test_each_sentence_is_due_when_a_voice_of_a_usual_pace_says_it() -> None:
    text = "Dinner is ready. Please wash your hands, and come to the table! Now."
    lines = subtitles(text, start=1.5)
    assert [line["text"] for line in lines] == [
        "Dinner is ready.",
        "Please wash your hands, and come to the table!",
        "Now.",
    ]
    first, second, third = (line["start_ms"] / 1000 for line in lines)
    assert first == 1.5
    # Fifteen letters a second.
    assert 0.7 < second - first < 1.5
    assert 2 < third - second < 4


def test_what_is_shown_has_no_markdown() -> None:
    assert [line["text"] for line in subtitles("**Dinner** is `ready`.\n\n- Soup\n- Fish")] == [
        "Dinner is ready.",
        "Soup",
        "Fish",
    ]


@given(st.text(max_size=30_000))
def test_any_text_fits_into_a_message_in_order(text: str) -> None:
    lines = subtitles(text)
    assert len(json.dumps(lines, ensure_ascii=False, separators=(",", ":")).encode()) < 9_000
    starts = [line["start_ms"] for line in lines]
    assert starts == sorted(starts)
    assert all(line["text"] for line in lines)


def test_a_text_that_is_too_long_is_cut() -> None:
    lines = subtitles("This is a sentence that is said again and again. " * 1000)
    assert 80 < len(lines) < 200
