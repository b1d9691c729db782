"""JSON as the firmware's cJSON library reads and writes it."""

import json
from typing import Any, Final

type JsonObject = dict[str, Any]

_INT32: Final = (-(2**31), 2**31 - 1)


def loads_object(text: str | bytes) -> JsonObject | None:
    """Parse an object; None for other values and invalid JSON."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except ValueError, RecursionError:
        return None
    return value if isinstance(value, dict) else None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def dumps(value: Any) -> str:
    """Serialise without white space; non-ASCII characters are not escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def find(item: Any, key: str) -> Any:
    """Return the first member whose name equals `key`, ignoring case; None if there is none."""
    if not isinstance(item, dict):
        return None
    wanted = key.lower()
    return next((value for name, value in item.items() if name.lower() == wanted), None)


def is_number(value: Any) -> bool:
    """Whether it is a JSON number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def int_value(value: float) -> int:
    """Return the `valueint` of a number: truncated towards zero, clamped to 32 bits."""
    low, high = _INT32
    if value >= high:
        return high
    return low if value <= low else int(value)
