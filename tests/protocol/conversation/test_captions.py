"""Captions come sentence by sentence, in step with the voice."""

from hypothesis import given, strategies as st

from custom_components.xiaozhi.protocol.conversation.captions import Captions


def _run(captions: Captions, seconds: float, step: float = 0.06) -> list[tuple[float, str]]:
    return [
        (round(index * step, 2), caption)
        for index in range(int(seconds / step))
        if (caption := captions.due(index * step, complete=True))
    ]


def test_the_first_sentence_shows_at_once_and_the_next_when_the_voice_has_come_to_it() -> None:
    captions = Captions()
    captions.replace("Turned on the light. It is now twenty degrees. Anything else?")
    shown = _run(captions, 5)
    assert [text for _, text in shown] == [
        "Turned on the light.",
        "It is now twenty degrees.",
        "Anything else?",
    ]
    assert shown[0][0] == 0
    assert 1.2 < shown[1][0] < 2
    assert 2.8 < shown[2][0] < 3.8


def test_chinese_sentences_end_without_a_space_and_take_longer_by_the_letter() -> None:
    captions = Captions()
    captions.replace("已打开厨房的灯。现在二十度。")
    assert [text for _, text in _run(captions, 4)] == ["已打开厨房的灯。", "现在二十度。"]


def test_a_sentence_that_may_still_grow_is_kept_back() -> None:
    captions = Captions()
    captions.add("It is ten ")
    assert captions.due(0, complete=False) is None
    captions.add("o'clock. And")
    assert captions.due(0.06, complete=False) == "It is ten o'clock."
    assert captions.due(5, complete=False) is None
    captions.add(" raining.")
    assert captions.due(6, complete=True) == "And raining."


def test_what_the_voice_did_not_come_to_is_shown_at_the_end() -> None:
    captions = Captions()
    captions.replace("One. Two. Three.")
    assert captions.due(0, complete=True) == "One."
    assert captions.rest() == "Two. Three."
    assert captions.rest() is None


def test_the_final_answer_replaces_what_was_streamed_unless_that_is_on_the_screen() -> None:
    captions = Captions()
    captions.add("Hello. ")
    assert captions.due(0, complete=False) == "Hello."
    captions.replace("Something else.")
    assert captions.rest() is None
    captions = Captions()
    captions.add("draft")
    captions.replace("Final.")
    assert captions.due(0, complete=True) == "Final."


@given(st.text(max_size=1000), st.floats(0, 60))
def test_no_text_is_lost_or_shown_twice(text: str, step: float) -> None:
    captions = Captions()
    captions.replace(text)
    shown = [captions.due(index * step, complete=True) for index in range(50)] + [captions.rest()]
    joined = "".join("".join(part.split()) for part in shown if part)
    assert "".join(text.split()).startswith(joined)
    assert all(part is None or len(part) <= 300 for part in shown)
