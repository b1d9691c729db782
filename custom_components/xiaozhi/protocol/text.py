"""Texts from the network, made safe to show, to log, to store and to give to a language model."""

from typing import Any, Final
import unicodedata

__all__ = ["clean_data", "clean_text", "is_encodable", "label", "one_line"]

_MAX_LINE: Final = 500
_MAX_LABEL: Final = 64
# Join letters of some scripts, and the parts of an emoji.
_JOINERS: Final = "\u200c\u200d"


def one_line(text: str, limit: int = _MAX_LINE) -> str:
    """Return a text as one line of at most `limit` characters, with single blanks.

    Control characters become blanks. Characters that change the direction of what follows, or that are not
    seen, are left out; half a surrogate pair becomes a question mark.
    """
    # Longer than the limit, because some characters are left out.
    return " ".join(_printable(text[: 2 * limit]).split())[:limit]


def label(value: Any, limit: int = _MAX_LABEL) -> str | None:
    """Return a device's name for something as one line; None when it is empty or no text."""
    return one_line(value, limit) or None if isinstance(value, str) else None


def clean_text(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text whose lines are kept; all else is as in `one_line`."""
    return _printable(text[:limit], kept="\n")


def clean_data(value: Any) -> Any:
    """Return parsed JSON with `one_line` of every text in it, names of members too.

    Its size and depth must be bounded.
    """
    match value:
        case str():
            return one_line(value, len(value))
        case list():
            return [clean_data(item) for item in value]
        case dict():
            return {clean_data(name): clean_data(member) for name, member in value.items()}
    return value


def is_encodable(text: str) -> bool:
    """Whether a text can be encoded: JSON may spell half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _printable(text: str, kept: str = "") -> str:
    if text.isprintable():
        return text
    return text.translate(
        {
            ord(character): _REPLACEMENTS.get(unicodedata.category(character), " ")
            for character in set(text)
            if not character.isprintable() and character not in kept + _JOINERS
        }
    )


# By Unicode category; all others that are not printed become blanks.
_REPLACEMENTS: Final = {"Cf": "", "Cs": "?"}
