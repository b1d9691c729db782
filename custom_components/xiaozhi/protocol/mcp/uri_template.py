"""Expansion of URI templates (RFC 6570) with text values, as resource templates need it."""

from collections.abc import Mapping
from dataclasses import dataclass
import re
from typing import Final
from urllib.parse import quote

__all__ = ["expand", "variables_of"]

_EXPRESSION: Final = re.compile(r"\{([+#./;?&]?)([A-Za-z0-9_.,*:%-]+)\}")
_MODIFIER: Final = re.compile(r"\*$|:\d+$")
_RESERVED: Final = ":/?#[]@!$&'()*+,;="


@dataclass(frozen=True, slots=True)
class _Operator:
    """How the values of an expression are written."""

    first: str
    separator: str
    named: bool = False
    safe: str = ""


_OPERATORS: Final = {
    "": _Operator("", ","),
    "+": _Operator("", ",", safe=_RESERVED),
    "#": _Operator("#", ",", safe=_RESERVED),
    ".": _Operator(".", "."),
    "/": _Operator("/", "/"),
    ";": _Operator(";", ";", named=True),
    "?": _Operator("?", "&", named=True),
    "&": _Operator("&", "&", named=True),
}


def variables_of(template: str) -> tuple[str, ...]:
    """Return the names of the variables of a template, in order."""
    names = (name for _, group in _EXPRESSION.findall(template) for name in _names(group))
    return tuple(dict.fromkeys(names))


def expand(template: str, values: Mapping[str, str]) -> str:
    """Return the URI for a template; a variable without a value is left out."""

    def fill(match: re.Match[str]) -> str:
        operator = _OPERATORS[match[1]]
        given = [(name, values[name]) for name in _names(match[2]) if name in values]
        written = (
            f"{name}={quote(value, safe=operator.safe)}"
            if operator.named
            else quote(value, safe=operator.safe)
            for name, value in given
        )
        return operator.first + operator.separator.join(written) if given else ""

    return _EXPRESSION.sub(fill, template)


def _names(group: str) -> list[str]:
    """Return the names in an expression; modifiers matter for lists and prefixes only."""
    return [_MODIFIER.sub("", name) for name in group.split(",")]
