"""The faces that a device can draw."""

from enum import StrEnum
from typing import Final, Self


class Face(StrEnum):
    """Faces by the firmware's names, the same on all screens (`lcd_display.cc`, `oled_display.cc`)."""

    emoji: str
    """Emoji of the firmware's tables, and others that language models write for them."""

    def __new__(cls, name: str, emoji: str) -> Self:
        """Return a face, whose value is its name."""
        face = str.__new__(cls, name)
        face._value_ = name
        face.emoji = emoji
        return face

    NEUTRAL = "neutral", "😶😐"
    HAPPY = "happy", "🙂😊☺😄😀🎉👍"
    LAUGHING = "laughing", "😆😁"
    FUNNY = "funny", "😂🤣"
    SAD = "sad", "😔🙁☹😞😟"
    ANGRY = "angry", "😠😡🤬"
    CRYING = "crying", "😭😢"
    LOVING = "loving", "😍🥰❤"
    EMBARRASSED = "embarrassed", "😳"
    SURPRISED = "surprised", "😯😮"
    SHOCKED = "shocked", "😱🤯"
    THINKING = "thinking", "🤔"
    WINKING = "winking", "😉"
    COOL = "cool", "😎"
    RELAXED = "relaxed", "😌"
    DELICIOUS = "delicious", "🤤😋"
    KISSY = "kissy", "😘💋"
    CONFIDENT = "confident", "😏"
    SLEEPY = "sleepy", "😴🥱"
    SILLY = "silly", "😜🤪"
    CONFUSED = "confused", "🙄😕🤷"


_FACE_OF_EMOJI: Final = {emoji: face for face in Face for emoji in face.emoji}


def face_of(text: str) -> Face | None:
    """Return the face for the first known emoji in a text, or None."""
    return next((face for letter in text if (face := _FACE_OF_EMOJI.get(letter))), None)


def emoji_of(face: str) -> str:
    """Return the emoji for a face; a neutral one for an unknown face."""
    return next((known for known in Face if known == face), Face.NEUTRAL).emoji[0]
