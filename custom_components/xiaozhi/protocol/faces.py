"""The faces that a device can draw."""

from enum import StrEnum
from typing import Final


class Face(StrEnum):
    """Faces by the firmware's names, the same on all screens (`lcd_display.cc`, `oled_display.cc`)."""

    NEUTRAL = "neutral"
    HAPPY = "happy"
    LAUGHING = "laughing"
    FUNNY = "funny"
    SAD = "sad"
    ANGRY = "angry"
    CRYING = "crying"
    LOVING = "loving"
    EMBARRASSED = "embarrassed"
    SURPRISED = "surprised"
    SHOCKED = "shocked"
    THINKING = "thinking"
    WINKING = "winking"
    COOL = "cool"
    RELAXED = "relaxed"
    DELICIOUS = "delicious"
    KISSY = "kissy"
    CONFIDENT = "confident"
    SLEEPY = "sleepy"
    SILLY = "silly"
    CONFUSED = "confused"


# The emoji of the firmware's tables, and others that language models write for them.
_EMOJI: Final = {
    Face.NEUTRAL: "😶😐",
    Face.HAPPY: "🙂😊☺😄😀🎉👍",
    Face.LAUGHING: "😆😁",
    Face.FUNNY: "😂🤣",
    Face.SAD: "😔🙁☹😞😟",
    Face.ANGRY: "😠😡🤬",
    Face.CRYING: "😭😢",
    Face.LOVING: "😍🥰❤",
    Face.EMBARRASSED: "😳",
    Face.SURPRISED: "😯😮",
    Face.SHOCKED: "😱🤯",
    Face.THINKING: "🤔",
    Face.WINKING: "😉",
    Face.COOL: "😎",
    Face.RELAXED: "😌",
    Face.DELICIOUS: "🤤😋",
    Face.KISSY: "😘💋",
    Face.CONFIDENT: "😏",
    Face.SLEEPY: "😴🥱",
    Face.SILLY: "😜🤪",
    Face.CONFUSED: "🙄😕🤷",
}
_FACE_OF_EMOJI: Final = {emoji: face for face, emojis in _EMOJI.items() for emoji in emojis}


def face_of(text: str) -> Face | None:
    """Return the face for the first known emoji in a text, or None."""
    return next((face for letter in text if (face := _FACE_OF_EMOJI.get(letter))), None)


def emoji_of(face: str) -> str:
    """Return the emoji for a face; a neutral one for an unknown face."""
    return _EMOJI[Face(face) if face in Face else Face.NEUTRAL][0]
