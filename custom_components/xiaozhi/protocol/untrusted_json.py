"""JSON from outside: from devices, clouds and web servers."""

import json
import math
from typing import Any, Final

_MAX_DIGITS: Final = 20


def parse_json(data: str | bytes) -> Any:
    """Parse JSON in UTF-8. Raises `ValueError`.

    Python reads `NaN` and `Infinity`, which are no JSON, and turns 1e999 into infinity. Such a number passes
    comparisons that are meant to refuse it, and stops the event loop's timers when it becomes a delay. They
    are refused, and so is every number of more than 20 digits before its decimal point.
    """
    try:
        return _DECODER.decode(data if isinstance(data, str) else data.decode())
    except RecursionError as err:
        raise ValueError("the JSON is nested too deep") from err


def _whole_number(text: str) -> int:
    if len(text.removeprefix("-")) > _MAX_DIGITS:
        raise ValueError("a number in the JSON has too many digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or abs(value) >= 10**_MAX_DIGITS:
        raise ValueError("a number in the JSON has too many digits")
    return value


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


_DECODER: Final = json.JSONDecoder(parse_int=_whole_number, parse_float=_number, parse_constant=_no_number)
