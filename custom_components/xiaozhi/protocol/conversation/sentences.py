"""Captions of an answer: its sentences, without Markdown and control characters."""

from dataclasses import dataclass
import re
from typing import Final

from ..text import one_line

__all__ = ["MAX_CAPTION", "Clause", "captions", "clauses", "plain_text", "sentence_ends"]

MAX_CAPTION: Final = 300
"""Characters of one caption, which must fit a small screen and a small RAM."""

_IDEOGRAPH: Final = "⺀"
# Speech engines say 12 to 20 letters a second, and 4 to 5 ideographs.
_LETTER_SECONDS: Final = 1 / 15.5
_IDEOGRAPH_SECONDS: Final = 1 / 4.5

_END: Final = re.compile(r"[.!?…]+[\"'”’»)\]*_`]*(\s+)|[。！？]+[”’」』）]*|\n+")
_CLAUSE_END: Final = re.compile(r"[,;:]\s+|\s+[–—-]\s+|[，；：、]")
# Of English, German, French, Spanish and Italian.
_ABBREVIATIONS: Final = frozenset(
    re.findall(
        r"\w+",
        "dr mr mrs ms prof st vs etc approx no fig jr sr inc min max temp "
        "ca bzw usw nr str hr fr bspw evtl ggf sog tel mme mlle sra dra sig dott av",
    )
)
_LAST_WORD: Final = re.compile(r"(\w+)\.$")

_MARKS: Final = (
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    (re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•]\s+|```\w*|-{3,}\s*$|\|)", re.MULTILINE), ""),
    (re.compile(r"`+|~~|\*\*+"), ""),
    (re.compile(r"(?<!\w)[*_]+(?=\S)|(?<=\S)[*_]+(?!\w)"), ""),
    (re.compile(r"\|"), " "),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A part of an answer after which the voice may pause."""

    seconds: float
    """How long it takes at a usual pace."""
    caption: str | None = None
    """What is shown when the voice comes to it."""


def sentence_ends(text: str, *, complete: bool) -> list[int]:
    """Return where the sentences of a text end; unless it is `complete`, its last one may still grow.

    A full stop ends none after an abbreviation, or before a small letter.
    """
    ends = [match.end() for match in _END.finditer(text) if _ends(text, match, complete=complete)]
    if complete and text and (not ends or ends[-1] < len(text)):
        ends.append(len(text))
    return ends


def _ends(text: str, match: re.Match[str], *, complete: bool) -> bool:
    if match[1] is None:
        return True
    if match.end() == len(text):
        return complete
    if "\n" in match[1]:
        return True
    if not match[0].startswith(".") or match[0].startswith(".."):
        return True
    word = _LAST_WORD.search(text[: match.start() + 1])
    last = word[1].casefold() if word else ""
    return not (text[match.end()].islower() or last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha()))


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
                    Clause(seconds=_speaking_time(caption[start:end]), caption=None if start else caption)
                )
    return parts


def captions(text: str) -> list[str]:
    """Return a plain text as captions, as few as possible."""
    parts: list[str] = []
    while text:
        part, text = _cut(text)
        parts.append(part)
    return parts


def _cut(text: str) -> tuple[str, str]:
    """Return the first caption of a text, which ends with a word if that is possible, and the rest."""
    if len(text) <= MAX_CAPTION:
        return text, ""
    end = text.rfind(" ", 0, MAX_CAPTION + 1)
    end = end if end > 0 else MAX_CAPTION
    return text[:end], text[end:].lstrip()


def _speaking_time(text: str) -> float:
    ideographs = sum(letter >= _IDEOGRAPH for letter in text)
    return ideographs * _IDEOGRAPH_SECONDS + (len(text) - ideographs) * _LETTER_SECONDS
