"""A device that listens while it speaks hears itself."""

import pytest

from custom_components.xiaozhi.voice.interruption_by_speaking import is_echo

ANSWER = (
    "It is 21 °C in the living room, and the window is open. Shall I close it, or the one in the kitchen?"
)


@pytest.mark.parametrize(
    ("transcript", "answer"),
    [
        ("in the living room", ANSWER),
        ("In the living room and the window is open.", ANSWER),
        ("in the living room and the window is hoping", ANSWER),
        ("客厅里的温度是二十一度", "现在客厅里的温度是二十一度。"),
    ],
)
def test_words_of_the_answer_in_its_order_are_its_echo(transcript: str, answer: str) -> None:
    assert is_echo(transcript, answer)


@pytest.mark.parametrize(
    ("transcript", "answer"),
    [
        ("", ANSWER),
        ("?!", ANSWER),
        ("stop", ANSWER),
        ("the kitchen", ANSWER),
        ("close the window in the kitchen", ANSWER),
        ("turn off the kitchen light", "I turned on the kitchen light"),
        ("what is the time", ""),
        ("关灯", "要不要我关灯?"),
        ("把卧室的灯关掉", "现在客厅里的温度是二十一度。"),
    ],
)
def test_other_words_and_a_short_choice_among_them_are_commands(transcript: str, answer: str) -> None:
    assert not is_echo(transcript, answer)
