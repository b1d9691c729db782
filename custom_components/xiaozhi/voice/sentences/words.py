"""Text as the search for longer sentences compares it: without spaces, case and punctuation at words."""

from collections.abc import Iterator
import re
from typing import Final

from hassil.util import PUNCTUATION_STR, normalize_text

__all__ = ["Squashed"]

# As hassil, which breaks words at these when they do not match otherwise.
_BREAKS: Final = str.maketrans("-_", "  ")
# Soft hyphens stand between the parts of German numbers.
_SOFT_HYPHEN: Final = "\u00ad"
# Scripts that put no spaces between words: Han, Kana, Thai, Lao, Burmese and Khmer. Korean does.
_SPACELESS: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
)


class Squashed:
    """A text without its spaces, and where its words end."""

    __slots__ = ("breaks", "spaceless", "text")

    def __init__(self, text: str) -> None:
        words = [*_words(text)]
        self.text: Final = "".join(words)
        self.breaks: Final = frozenset(_breaks(words))
        self.spaceless: Final = bool(_SPACELESS.search(self.text))
        """Whether it is in a script without spaces, so that the next word may follow without one."""


def _words(text: str) -> Iterator[str]:
    text = normalize_text(text).replace(_SOFT_HYPHEN, "").translate(_BREAKS).casefold()
    for word in text.split():
        if stripped := word.strip(PUNCTUATION_STR):
            yield stripped


def _breaks(words: list[str]) -> Iterator[int]:
    """Yield the positions after words; each character of a script without spaces counts as one."""
    position = 0
    for word in words:
        for character in _SPACELESS.finditer(word):
            yield position + character.start()
            yield position + character.end()
        position += len(word)
        yield position
