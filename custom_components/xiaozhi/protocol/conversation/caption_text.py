"""Captions of an answer: its sentences, without Markdown and control characters."""

from collections.abc import Iterator
from dataclasses import dataclass
import re
from typing import Final

from ...util.text import one_line

MAX_TEXT: Final = 16_000
"""Characters of a text that is spoken, of which captions are made: a quarter of an hour."""
MAX_CAPTION: Final = 300
"""Characters of one caption, which must fit a small screen and a small RAM."""

_IDEOGRAPH: Final = "⺀"
# Speech engines say 12 to 20 letters a second, and 4 to 5 ideographs.
_LETTER_SECONDS: Final = 1 / 15.5
_IDEOGRAPH_SECONDS: Final = 1 / 4.5

# Texts come from language models, clouds and guests. No pattern may read a character more than a few times,
# whatever the text: runs are read as a whole (`++`, `*+`), and only from where they begin.
_END: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_`]*+(\s++)|[。！？]++[”’」』）]*+|\n++")
_CLAUSE_END: Final = re.compile(r"[,;:] | [–—-] |[，；：、]")
# Of English, German, French, Spanish and Italian.
_ABBREVIATIONS: Final = frozenset(
    re.findall(
        r"\w+",
        "dr mr mrs ms prof st vs etc approx no fig jr sr inc min max temp "
        "ca bzw usw nr str hr fr bspw evtl ggf sog tel mme mlle sra dra sig dott av",
    )
)
_LAST_WORD: Final = re.compile(r"(\w++)\.$")
# No abbreviation is longer.
_LAST_WORD_LENGTH: Final = 20

_MARKS: Final = (
    # A link, whose address may hold one pair of brackets.
    (re.compile(r"!?\[([^\[\]]*+)\]\([^()]*+(?:\([^()]*+\)[^()]*+)?\)"), r"\1"),
    (re.compile(r"^[^\S\n]*+(?:#{1,6}\s++|>\s*+|[-*+•]\s++|```\w*+|-{3,}+[^\S\n]*+$|\|)", re.MULTILINE), ""),
    (re.compile(r"`++|~~|\*\*++"), ""),
    (re.compile(r"(?<![\w*])[*_]++(?=\S)|(?<=[^\s*_])[*_]++(?!\w)"), ""),
    (re.compile(r"\|"), " "),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of an answer after which the voice may pause."""

    seconds: float
    """Its length at a usual pace."""
    caption: str | None = None
    """Text to show when the voice comes to it."""


def sentence_ends(text: str, *, complete: bool) -> Iterator[int]:
    """Yield where the sentences of a text end; unless it is `complete`, its last one may still grow.

    A full stop ends none after an abbreviation, or before a small letter.
    """
    last = 0
    for match in _END.finditer(text):
        if _ends(text, match, complete=complete):
            last = match.end()
            yield last
    if complete and last < len(text):
        yield len(text)


def _ends(text: str, match: re.Match[str], *, complete: bool) -> bool:
    at_end = match.end() == len(text)
    if match[1] is None or "\n" in match[1] or (at_end and complete):
        return True
    if not match[0].startswith(".") or match[0].startswith(".."):
        return True
    stop = match.start() + 1
    word = _LAST_WORD.search(text[max(0, stop - _LAST_WORD_LENGTH) : stop])
    last = word[1].casefold() if word else ""
    if last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha()):
        return False
    # Waiting for the next letter would take as long as the model pauses.
    return at_end or not text[match.end()].islower()


def has_words(text: str) -> bool:
    """Whether there is anything to say: a letter or a digit, and not only marks and emoji."""
    return any(map(str.isalnum, text))


def plain_text(text: str) -> str:
    """Return a text as one line, without Markdown, control and direction characters."""
    for mark, instead in _MARKS:
        text = mark.sub(instead, text)
    return one_line(text, len(text))


def clauses(sentence: str) -> list[Clause]:
    """Return the parts of a sentence; it has several captions if it is too long for one."""
    parts: list[Clause] = []
    for caption in captions(plain_text(sentence)):
        ends = [match.end() for match in _CLAUSE_END.finditer(caption)]
        for start, end in zip([0, *ends], [*ends, len(caption)], strict=True):
            if start < end:
                parts.append(
                    Clause(seconds=speaking_time(caption[start:end]), caption=None if start else caption)
                )
    return parts


def captions(text: str, longest: int = MAX_CAPTION) -> list[str]:
    """Return a plain text as captions, as few as possible; each ends with a word if that is possible."""
    parts: list[str] = []
    while len(text) > longest:
        end = max(text.rfind(" ", 0, longest + 1), 0) or longest
        parts.append(text[:end])
        text = text[end:].removeprefix(" ")
    return [*parts, text] if text else parts


def speaking_time(text: str) -> float:
    """Return how many seconds it takes to say a text at a usual pace."""
    ideographs = sum(letter >= _IDEOGRAPH for letter in text)
    return ideographs * _IDEOGRAPH_SECONDS + (len(text) - ideographs) * _LETTER_SECONDS
