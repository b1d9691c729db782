"""A device that listens while it speaks hears itself."""

import pytest

from custom_components.xiaozhi.voice.interruption_by_speaking import is_echo, says

ANSWER = (
    "It is 21 °C in the living room, and the window is open. Shall I close it, or the one in the kitchen?"
)


@pytest.mark.parametrize(
    ("transcript", "answer", "echo"),
    [
        ("in the living room", ANSWER, True),
        ("in the living room and the window is hoping", ANSWER, True),
        ("客厅里的温度是二十一度", "现在客厅里的温度是二十一度。", True),
        ("", ANSWER, False),
        ("?!", ANSWER, False),
        ("stop", ANSWER, False),
        ("the kitchen", ANSWER, False),
        ("close the window in the kitchen", ANSWER, False),
        ("turn off the kitchen light", "I turned on the kitchen light", False),
        ("what is the time", "", False),
        ("关灯", "要不要我关灯?", False),
        ("客厅灯", "客厅灯还是厨房灯？", False),
        ("リビングの電気", "リビングの電気ですか、キッチンの電気ですか？", False),
        ("把卧室的灯关掉", "现在客厅里的温度是二十一度。", False),
    ],
)
def test_words_of_the_answer_in_order_are_its_echo_unless_a_short_choice(
    transcript: str, answer: str, echo: bool
) -> None:
    assert is_echo(transcript, answer) is echo


@pytest.mark.parametrize(
    ("wake_word", "said"),
    [
        ("Hi, ESP", True),
        ("你好小智", True),
        ("hi", True),
        ("ESP dinner", True),
        ("din", False),
        ("", False),
    ],
)
def test_a_wake_word_is_in_a_text(wake_word: str, said: bool) -> None:
    """A device may report one without a word."""
    assert says("你好小智! Say hi esp: dinner is ready.", wake_word) is said
