"""JSON from outside: from devices, clouds and web servers."""

from typing import Any, Final

import orjson

# A tool with its schema is nested ten levels deep; far deeper JSON exhausts the stack of later code.
_MAX_DEPTH: Final = 32
# A union of types would be made again for each of the thousands of values in a message.
_CONTAINERS: Final = (dict, list)


def parse_json(data: str | bytes) -> Any:
    """Parse JSON in UTF-8 of at most 32 levels. Raises `ValueError`.

    Python's own reader also takes `NaN`, `Infinity` and 1e999, and half of a surrogate pair. Such a number
    passes comparisons that should refuse it, and as a delay stops the event loop's timers; such a text cannot
    be encoded. A whole number of more than 64 bits becomes a float here.
    """
    value = orjson.loads(data)
    if is_deep(value, _MAX_DEPTH):
        raise ValueError("the JSON is nested too deep")
    return value


def is_deep(value: object, depth: int) -> bool:
    """Whether JSON has lists and objects in more than `depth` levels. Does not recurse."""
    level = [value] if isinstance(value, _CONTAINERS) else []
    for _ in range(depth):
        groups = (node.values() if isinstance(node, dict) else node for node in level)
        level = [child for group in groups for child in group if isinstance(child, _CONTAINERS)]
    return bool(level)


def is_bounded(value: object, size: int) -> bool:
    """Whether JSON, of bounded depth, has at most `size` characters, and can be encoded and read again.

    Numbers must be finite, and whole numbers fit 64 bits; texts must be valid Unicode.
    """
    try:
        encoded = orjson.dumps(value)
    except TypeError:
        return False
    return len(encoded.decode()) <= size and bool(orjson.loads(encoded) == value)
