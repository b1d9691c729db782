"""What the screen shows while the device speaks: sentences in step with the voice."""

import re
from typing import Final

__all__ = ["Captions"]

# Speech engines say about this many characters a second; wrong by a third, a caption is a second off.
_LETTERS_PER_SECOND: Final = 14.0
_IDEOGRAPHS_PER_SECOND: Final = 4.5
_FIRST_IDEOGRAPH: Final = "⺀"
# A sentence ends at a full stop before a space, or at an ideographic one anywhere.
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")
# One caption must fit a small screen and a small RAM.
_MAX_CAPTION: Final = 300


class Captions:
    """The sentences of an answer, each due when the voice is about to say it."""

    def __init__(self) -> None:
        """Begin with nothing to show."""
        self._text = ""
        self._shown = 0
        self._seconds = 0.0

    def add(self, text: str) -> None:
        """Append what the assistant goes on to say."""
        self._text += text

    def replace(self, text: str) -> None:
        """Take the whole answer in place of what was added, unless a part of it is on the screen already."""
        if self._shown == 0 or text.startswith(self._text[: self._shown]):
            self._text = text

    def due(self, seconds: float, *, complete: bool) -> str | None:
        """Return the next sentence if the voice, at `seconds`, has come to it.

        Unless the text is `complete`, a sentence that may still grow is kept back.
        """
        if self._shown and seconds < self._seconds:
            return None
        rest = self._text[self._shown :]
        end = _SENTENCE_END.search(rest)
        if end is None and not complete:
            return None
        sentence = rest[: end.end()] if end else rest
        sentence = sentence[:_MAX_CAPTION]
        self._shown += len(sentence)
        self._seconds = max(self._seconds, seconds) + _speaking_time(sentence)
        return sentence.strip() or None

    def rest(self) -> str | None:
        """Return what the voice has not come to by its end."""
        rest = self._text[self._shown :].strip()
        self._shown = len(self._text)
        return rest[:_MAX_CAPTION] or None


def _speaking_time(sentence: str) -> float:
    ideographs = sum(letter >= _FIRST_IDEOGRAPH for letter in sentence)
    return ideographs / _IDEOGRAPHS_PER_SECOND + (len(sentence) - ideographs) / _LETTERS_PER_SECOND
