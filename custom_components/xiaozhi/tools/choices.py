"""The texts allowed for an argument, from its schema or from an enumeration in a description."""

import re
from typing import Final

from ..protocol.mcp.client import ToolProperty

__all__ = ["enumerated_texts", "listed_texts"]

_MAX_OPTIONS: Final = 32
# An enumeration in words: `a`, 'b' or "c".
_CHOICE: Final = r"[`'\"“‘]([\w-]{1,40})[`'\"”’]"
_CHOICES: Final = re.compile(rf"{_CHOICE}(?:\s*(?:,|/|\||、|，|or|and|或|和)\s*(?:or\s+)?{_CHOICE})+")
# After these, an enumeration is only examples.
_BEFORE_EXAMPLES: Final = re.compile(
    r"(?:\b(?:e\.\s?g\.?|eg\.?|for (?:example|instance)|examples?|such as|like|including|say)"
    r"|例如|比如|譬如|诸如|示例|例|如)[\s:：,，(（]*$",
    re.IGNORECASE,
)
_AFTER_EXAMPLES: Final = re.compile(
    r"[\s,，、;)）]*(?:(?:and|or)\s+)?(?:etc\b|so on|others?\b|similar|more\b|the like|\.\.\.|…|等|之类)",
    re.IGNORECASE,
)


def listed_texts(kind: ToolProperty) -> tuple[str, ...] | None:
    """Return the texts that a schema allows."""
    texts = tuple(choice for choice in kind.choices if isinstance(choice, str))
    return texts if texts == kind.choices and 1 < len(texts) <= _MAX_OPTIONS else None


def enumerated_texts(description: str) -> tuple[str, ...] | None:
    """Return the texts that a description enumerates, if it has just one enumeration."""
    found = list(_CHOICES.finditer(description))
    if len(found) != 1:
        return None
    start, end = found[0].span()
    if _BEFORE_EXAMPLES.search(description[:start]) or _AFTER_EXAMPLES.match(description[end:]):
        return None
    choices = tuple(dict.fromkeys(re.findall(_CHOICE, found[0].group())))
    return choices if 1 < len(choices) <= _MAX_OPTIONS else None
