"""What a file must look like, as data, and the check of a value against it."""

from collections.abc import Callable, Iterator
import re
import string
from typing import Any, Final
from urllib.parse import urlsplit

type Leaf = Callable[[Any], str | None]
"""Says what is wrong with a value, or nothing."""
type Shape = Leaf | list[Shape] | dict[str, Shape]
"""An object names its keys; `key!` must be there, `*` is any slug. A list holds the shape of its items."""

_SLUG: Final = re.compile(r"(?!.+[_-]{2})[a-z0-9](?:[a-z0-9_-]*[a-z0-9])?|_")
_HTML: Final = re.compile(r"<[a-z].*?>", re.IGNORECASE)
_URL: Final = re.compile(r"(?:ftps?|scp|https?|wss?|mqtts?|socket|socks5)://\w|\bwww\.\w", re.IGNORECASE)
_QUOTED_PLACEHOLDER: Final = re.compile(r"'{\w+}'")
_VERSION: Final = re.compile(r"\d+\.\d+(?:\.\d+)?(?:\.?(?:a|b|rc|dev)\d+)?")


def faults(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """Yield what is wrong with a value, each with its place in the file."""
    match shape:
        case dict():
            if isinstance(value, dict):
                yield from _object_faults(value, shape, path)
            else:
                yield f"{path or 'file'}: must be an object"
        case [items]:
            if isinstance(value, list):
                for index, item in enumerate(value):
                    yield from faults(item, items, f"{path}[{index}]")
            else:
                yield f"{path}: must be a list"
        case leaf if callable(leaf) and (fault := leaf(value)):
            yield f"{path}: {fault}"


def _object_faults(value: dict[str, Any], shape: dict[str, Shape], path: str) -> Iterator[str]:
    named = {key.removesuffix("!"): inner for key, inner in shape.items() if key != "*"}
    for key in shape:
        if key.endswith("!") and key[:-1] not in value:
            yield f"{path or 'file'}: has no {key[:-1]!r}"
    for key, item in value.items():
        inner = f"{path}.{key}" if path else key
        if key in named:
            yield from faults(item, named[key], inner)
        elif "*" not in shape:
            yield f"{inner}: is not a key that belongs here"
        elif not _SLUG.fullmatch(key):
            yield f"{inner}: a key is made of a-z, 0-9, - and _ and does not begin or end with - or _"
        else:
            yield from faults(item, shape["*"], inner)


def fitting(value: Any, shape: Shape) -> Any:
    """Return what of a value has the right form, so that it can be read without asking at every step."""
    match shape:
        case dict():
            inner = {key: _shape_of(shape, key) for key in value} if isinstance(value, dict) else {}
            items = ((key, value[key], form) for key, form in inner.items() if form is not None)
            return {key: fitting(item, form) for key, item, form in items if _is_like(item, form)}
        case [items]:
            return [fitting(item, items) for item in value if _is_like(item, items)]
    return value


def _shape_of(shape: dict[str, Shape], key: str) -> Shape | None:
    return next((shape[name] for name in (key, f"{key}!", "*") if name in shape), None)


def _is_like(value: Any, shape: Shape) -> bool:
    if isinstance(shape, dict | list):
        return isinstance(value, type(shape))
    return not isinstance(value, dict | list) or not shape(value)


def placeholders(text: str) -> frozenset[str]:
    """Return the names that a text wants filled in.

    Raises:
        ValueError: the braces do not match.
    """
    return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def anything(_value: Any) -> str | None:
    """Accept every value."""
    return None


def boolean(value: Any) -> str | None:
    """Accept true and false."""
    return None if isinstance(value, bool) else "must be true or false"


def words(value: Any) -> str | None:
    """Accept a string that is not empty."""
    return None if isinstance(value, str) and value.strip() else "must be a text"


def text(value: Any) -> str | None:
    """Accept a text as Home Assistant shows it, placeholders included."""
    if not isinstance(value, str) or not value:
        return "must be a text"
    try:
        names = placeholders(value)
    except ValueError as err:
        return f"has braces that are no placeholder: {err}"
    complaints = {
        "begins or ends with a space": value != value.strip(),
        "contains HTML": _HTML.search(value),
        "contains an address; make it a placeholder": _URL.search(value),
        "has a placeholder in single quotes": _QUOTED_PLACEHOLDER.search(value),
        "refers to another text, which custom integrations cannot": "[%key:" in value,
        "has a placeholder that is not a name": any(not name.isidentifier() for name in names),
    }
    return next((complaint for complaint, found in complaints.items() if found), None)


def plain(value: Any) -> str | None:
    """Accept a text that takes no placeholders."""
    return text(value) or ("takes no placeholders" if placeholders(value) else None)


def https_address(value: Any) -> str | None:
    """Accept an address that begins with https."""
    good = isinstance(value, str) and urlsplit(value).scheme == "https" and urlsplit(value).netloc
    return None if good else "must be an address that begins with https"


def version(value: Any) -> str | None:
    """Accept a version number."""
    return None if isinstance(value, str) and _VERSION.fullmatch(value) else "must be a version like 1.2.3"


def one_of(*values: str) -> Leaf:
    """Accept these values."""
    return lambda value: None if value in values else f"{value!r} is none of {', '.join(values)}"


def matching(pattern: str, wanted: str) -> Leaf:
    """Accept strings that match as a whole; `wanted` says what they are."""

    def check(value: Any) -> str | None:
        good = isinstance(value, str) and re.fullmatch(pattern, value)
        return None if good else f"{value!r} is not {wanted}"

    return check
