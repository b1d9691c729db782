"""Texts and names that are safe to show, log, store and pass to a language model."""

from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
import re
from typing import Any, Final
import unicodedata

_MAX_LINE: Final = 500
_MAX_LABEL: Final = 64
# Of a tool, for the language models of all providers.
MAX_NAME: Final = 64
_HASH_LENGTH: Final = 8
# Where Markdown begins a link, a picture or an element, or makes a link of an address by itself.
_LINKS: Final = re.compile(r"(?<=\])(?=[(\[:])|(?<=<)|(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+.!|<>~&$:-])")
# These join letters of some scripts, and parts of an emoji.
_JOINERS: Final = "\u200c\u200d"


def one_line(text: str, limit: int = _MAX_LINE) -> str:
    """Return a text as one line of at most `limit` characters, with single spaces.

    Control characters become spaces. Characters that are invisible or change the writing direction are
    removed; half a surrogate pair becomes a question mark.
    """
    # Longer than the limit, because some characters are removed.
    return " ".join(_printable(text[: 2 * limit]).split())[:limit]


def label(value: object, limit: int = _MAX_LABEL) -> str | None:
    """Return a device's name for something as one line; None if it is empty or not a text."""
    return one_line(value, limit) or None if isinstance(value, str) else None


def plain_name(name: str) -> str:
    """Return a name that is no link, picture or element in Markdown, and looks the same in a plain title."""
    # A space without width.
    return _LINKS.sub("\u200b", name)


def plain_markdown(text: str) -> str:
    """Return a text for Markdown, which shows it as it is."""
    return _MARKDOWN.sub(r"\\\1", plain_name(text))


def clean_text(text: str, limit: int) -> str:
    """Return the first `limit` characters of a text, cleaned as by `one_line`, with its line breaks."""
    return _printable(text[:limit], kept="\n")


def shortened(text: str, limit: int) -> str:
    """Return a text, or its beginning with an ellipsis, in at most `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def clean_data(value: object) -> Any:
    """Return parsed JSON with `one_line` applied to every text and name in it.

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


# By Unicode category; all others that are not printable become spaces.
_REPLACEMENTS: Final = {"Cf": "", "Cs": "?"}


def distinct_names(plain: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return a name for each tool: the prefix, and its plain name.

    A hash of the tool is added where the plain name is empty or that of several tools, and where the whole is
    too long.
    """
    count = Counter(plain.values())
    return {
        tool: prefix + name
        if name and len(prefix + name) <= MAX_NAME and count[name] == 1
        else _with_hash(prefix + name, tool)
        for tool, name in plain.items()
    }


def _with_hash(name: str, tool: str) -> str:
    digest = sha256(tool.encode(errors="replace")).hexdigest()[:_HASH_LENGTH]
    return f"{name[: MAX_NAME - _HASH_LENGTH - 1].rstrip('_')}__{digest}"[:MAX_NAME]
