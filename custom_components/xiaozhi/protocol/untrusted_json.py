"""JSON from outside: from devices, clouds and web servers."""

from typing import Any

import orjson


def parse_json(data: str | bytes) -> Any:
    """Parse JSON in UTF-8. Raises `ValueError`.

    Python's own reader also takes `NaN`, `Infinity` and 1e999, and half of a surrogate pair. Such a number
    passes comparisons that are meant to refuse it, and stops the event loop's timers when it becomes a delay;
    such a text cannot be encoded. A whole number of more than 64 bits becomes a float here.
    """
    return orjson.loads(data)
