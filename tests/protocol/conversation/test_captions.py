"""Captions come sentence by sentence, in step with the voice, and subtitles before it is heard."""

from collections.abc import Sequence
from itertools import pairwise
import json
import re

from hypothesis import example, given, strategies as st
import pytest

from custom_components.xiaozhi.protocol.conversation.caption_text import has_words, plain_text
from custom_components.xiaozhi.protocol.conversation.captions import Captions, subtitles
from tests.protocol.growth import assert_linear

PACKET = 0.06


def _run(captions: Captions, seconds: float, resumed: Sequence[float] = ()) -> list[tuple[float, str]]:
    """Say what was decoded long before it is heard, pauses included."""
    return [
        (round(now, 2), caption)
        for now in (index * PACKET for index in range(int(seconds / PACKET)))
        if (caption := captions.due(now, complete=True, resumed=resumed))
    ]


def sentences(text: str) -> list[str]:
    captions = Captions()
    captions.replace(text)
    return [caption for _, caption in _run(captions, 120)]


ENGLISH = (
    "It will be sunny in the morning, with a light wind from the north. After noon, clouds come up. "
    "By four o'clock it rains, first a little and then, until late in the evening, quite a lot. Take "
    "a coat! At night it falls to five. It is too early to be sure about Monday, as the models do not "
    "agree with each other at all. Some show a storm over the sea. Others show nothing. The train is on time."
)
CHINESE = (
    "今天上午天气晴朗，北风较小。中午以后，云会慢慢多起来。下午四点开始下雨，先小后大，一直下到深夜。记得带外套！"
    "夜里降到五度。明天会好一些。山谷里可能有雾，不过十点以前就会散去，之后整天都有太阳。周末不下雨。"
    "现在还说不准，因为各种预报完全不一样。有的说海上有风暴。有的说什么都没有。我知道以后再告诉你。火车准点。"
)


def speak(text: str, pace: float) -> tuple[list[tuple[float, str]], list[float], float]:
    """Say a text at so many characters a second: when its sentences begin, and all that follows a pause."""
    now, starts, resumed = 0.0, [], []
    for sentence in re.split(r"(?<=[.!?])\s|(?<=[。！？])", text):
        if not sentence:
            continue
        starts.append((now, sentence))
        for clause in re.split(r"(?<=[,，])\s?", sentence):
            now += len(clause) / pace + 0.2
            resumed.append(now)
        now += 0.2
        resumed[-1] = now
    return starts, resumed[:-1], now


@pytest.mark.parametrize(
    ("text", "pace"),
    [*((ENGLISH, pace) for pace in (12, 14, 17, 20)), *((CHINESE, pace) for pace in (4, 6, 9, 12))],
    ids=lambda value: str(value)[:2],
)
def test_captions_stay_within_a_second_of_the_voice(text: str, pace: float) -> None:
    long = (" " if text is ENGLISH else "").join([text] * (1 + int(60 / (len(text) / pace))))
    starts, resumed, end = speak(long, pace)
    assert end > 60
    captions = Captions()
    captions.replace(long)
    shown = _run(captions, end + 1, resumed)
    assert [caption for _, caption in shown] == [sentence for _, sentence in starts]
    late = [time - start for (time, _), (start, _) in zip(shown, starts, strict=True)]
    assert max(abs(seconds) for seconds in late) < 1, late


def test_without_pauses_the_usual_pace_has_to_do() -> None:
    captions = Captions()
    captions.replace("Turned on the light. It is now twenty degrees. Anything else?")
    shown = _run(captions, 6)
    assert [text for _, text in shown] == [
        "Turned on the light.",
        "It is now twenty degrees.",
        "Anything else?",
    ]
    assert shown[0][0] == 0
    assert 1.2 < shown[1][0] < 2
    assert 2.8 < shown[2][0] < 4


@pytest.mark.parametrize(
    "sentence",
    [
        "Dr. Who called at 3.5 past, e.g. to say hello.",
        "Mr. J. R. Smith lives in St. Ives.",
        "Das sind ca. 3 Grad, z. B. im Keller.",
        "It costs 3.50 at www.example.com today.",
    ],
)
def test_abbreviations_and_numbers_end_no_sentence(sentence: str) -> None:
    assert sentences(f"{sentence} Yes.") == [sentence, "Yes."]


def test_an_abbreviation_that_comes_in_pieces_ends_no_sentence() -> None:
    captions = Captions()
    shown = []
    for piece in ("Dr", ".", " ", "Who is here", ". ", "Let him in."):
        captions.add(piece)
        shown.append(captions.due(0, complete=False))
    assert [caption for caption in shown if caption] == ["Dr. Who is here."]


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("**The light** is *on*.", "The light is on."),
        ("# Result\n- `first` item\n* second item", "Result first item second item"),
        ("See [the manual](http://example.com/a_b).", "See the manual."),
        ("2*3 is 6, and snake_case stays.", "2*3 is 6, and snake_case stays."),
        ("| a | b |", "a b"),
        ("Turn\u202e left\x07 now\u200b.", "Turn left now."),
    ],
)
def test_what_is_meant_for_other_screens_is_not_shown(marked: str, plain: str) -> None:
    assert plain_text(marked) == plain
    assert " ".join(sentences(marked)) == plain


def test_a_long_sentence_is_shown_in_parts_that_end_with_a_word() -> None:
    text = "word " * 199 + "end."
    shown = sentences(text)
    assert len(shown) == 4
    assert all(len(caption) <= 300 for caption in shown)
    assert " ".join(shown) == text


def test_a_sentence_that_may_still_grow_is_kept_back() -> None:
    captions = Captions()
    captions.add("It is ten ")
    assert captions.due(0, complete=False) is None
    captions.add("o'clock. And")
    assert captions.due(0.06, complete=False) == "It is ten o'clock."
    assert captions.due(5, complete=False) is None
    captions.add(" raining.")
    assert captions.due(6, complete=True) == "And raining."


@pytest.mark.parametrize("end", [". ", "! ", "?  ", '." ', "… ", ".\n", "。"])
def test_a_sentence_that_has_ended_waits_for_no_other(end: str) -> None:
    captions = Captions()
    captions.add(f"Let me look that up{end}")
    assert captions.due(0, complete=False) == f"Let me look that up{end}".strip()


@pytest.mark.parametrize("text", ["It costs 3.", "Ask Dr. ", "Either e. ", "Wait"])
def test_what_may_go_on_is_shown_when_nothing_comes_any_more(text: str) -> None:
    captions = Captions()
    captions.add(text)
    assert captions.due(0, complete=False) is None
    assert captions.unfinished() == [text.strip()]
    captions.add(" On.")
    assert captions.unfinished() == ["On."]
    # What the voice has yet to come to is in its hands.
    captions.add("One. Two. Thr")
    assert captions.due(60, complete=False) == "One."
    assert captions.unfinished() == []


@pytest.mark.parametrize(
    ("text", "words"),
    [("👍", False), (".", False), ("…!? 🎉🎉", False), ("", False), ("好", True), ("5 👍", True)],
)
def test_what_has_words(text: str, words: bool) -> None:
    assert has_words(text) is words


def test_what_the_voice_did_not_come_to_is_shown_at_the_end() -> None:
    captions = Captions()
    captions.replace("One. Two. Three.")
    assert captions.due(0, complete=True) == "One."
    assert captions.rest() == ["Two. Three."]
    assert captions.rest() == []


def test_the_final_answer_replaces_the_streamed_one_unless_it_is_shown() -> None:
    captions = Captions()
    captions.add("Hello. ")
    captions.add("You")
    assert captions.due(0, complete=False) == "Hello."
    captions.replace("Something else.")
    assert captions.rest() == ["You"]
    captions = Captions()
    captions.add("draft")
    captions.replace("Final.")
    assert captions.due(0, complete=True) == "Final."


# What is no letter becomes a space, and the number sign no heading by that.
@example(text="#\x000", step=0.0, resumed=[])
@given(st.text(max_size=1000), st.floats(0, 60), st.lists(st.floats(0, 60), max_size=20).map(sorted))
def test_no_text_is_lost_or_shown_twice(text: str, step: float, resumed: list[float]) -> None:
    captions = Captions()
    captions.replace(text)
    shown = [captions.due(index * step, complete=True, resumed=resumed) for index in range(50)]
    parts = [part for part in shown if part] + captions.rest()
    once = Captions()
    once.replace(text)
    assert "".join("".join(parts).split()) == "".join("".join(once.rest()).split())
    assert all(0 < len(part) <= 300 for part in parts)
    assert all(earlier is not later for earlier, later in pairwise(parts))


# Whatever runs of these may be said: all that ends a sentence or a clause, and marks of Markdown.
UNITS = [
    *(".", "。", "\n", " ", "\t", "[", "](", "[a](", "![", "*", "_", "a_", "`", "|", "- ", "#", "> ", "a"),
    *('."', ". ", "! ", "a. ", "a, ", " - ", "[a](b) ", "dr. ", "...)", "x\n", "\n ", "。 ", "[[a]("),
]


@pytest.mark.parametrize("unit", UNITS)
def test_captions_take_time_linear_in_the_size_of_a_text(unit: str) -> None:
    """Whatever a language model says, and however much."""

    def show(captions: Captions) -> None:
        captions.due(0.0, complete=False)
        captions.due(60.0, complete=True)
        captions.rest()

    def endless(size: int) -> Captions:
        captions = Captions()
        captions.add(f"a{unit * (size // len(unit))}a")
        return captions

    assert_linear(show, endless, size=1000)


def test_each_subtitle_is_due_when_a_voice_of_a_usual_pace_says_it() -> None:
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


def test_subtitles_have_no_markdown() -> None:
    assert [line["text"] for line in subtitles("**Dinner** is `ready`.\n\n- Soup\n- Fish")] == [
        "Dinner is ready.",
        "Soup",
        "Fish",
    ]


@given(st.text(max_size=30_000))
def test_subtitles_of_any_text_fit_into_a_message_in_order(text: str) -> None:
    lines = subtitles(text)
    assert len(json.dumps(lines, ensure_ascii=False, separators=(",", ":")).encode()) < 9_000
    starts = [line["start_ms"] for line in lines]
    assert starts == sorted(starts)
    assert all(line["text"] for line in lines)


def test_subtitles_of_a_text_that_is_too_long_are_cut() -> None:
    lines = subtitles("This is a sentence that is said again and again. " * 1000)
    assert 80 < len(lines) < 200
