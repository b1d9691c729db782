"""Converts answers of tools to values of entities."""

from collections.abc import Mapping
import math
from typing import Any, Final

from homeassistant.components.sensor import SensorEntityCapabilityAttribute, SensorEntityStateAttribute
from homeassistant.const import ATTR_ENTITY_ID, EntityCapabilityAttribute, EntityStateAttribute

from ..protocol.mcp.client import ToolResult
from ..protocol.mcp.model import is_bounded
from ..protocol.text import clean_data, one_line

__all__ = ["as_attributes", "as_flag", "as_number", "as_text", "main_value", "member", "parse_answer"]

_MAX_ANSWER: Final = 2048
_MAX_DEPTH: Final = 6
# The longest state that Home Assistant stores.
_MAX_STATE: Final = 255
_MAIN: Final = ("value", "state", "status", "level", "mode", "message", "result")
# Attributes with a meaning to Home Assistant or its frontend: a picture to load, an icon, a unit, a position.
_RESERVED: Final = frozenset(
    {
        *EntityStateAttribute,
        *EntityCapabilityAttribute,
        *SensorEntityStateAttribute,
        *SensorEntityCapabilityAttribute,
        ATTR_ENTITY_ID,
        "entity_picture_local",
    }
)
_FLAGS: Final = ("power", "on", "state", "enable", "enabled", "active", "value")
_TRUE: Final = frozenset({"on", "true", "yes", "1", "enabled"})
_FALSE: Final = frozenset({"off", "false", "no", "0", "disabled"})


def parse_answer(result: ToolResult) -> Any:
    """Return a tool's answer: JSON of bounded size, else the beginning of its text, else None."""
    value = result.structured if result.text is None else result.json()
    if value is not None and is_bounded(value, size=_MAX_ANSWER, depth=_MAX_DEPTH):
        return clean_data(value)
    return None if result.text is None else one_line(result.text, _MAX_STATE)


def member(answer: Any, name: str | None) -> Any:
    """Return a member of an answer, or the whole answer without a name."""
    if name is None:
        return answer
    return answer.get(name) if isinstance(answer, Mapping) else None


def main_value(answer: Any) -> Any:
    """Return the main value of an answer: of an object, the member with a usual name or the only one."""
    if not isinstance(answer, Mapping):
        return answer
    names = [name for name in _MAIN if name in answer] or ([*answer] if len(answer) == 1 else [])
    return answer[names[0]] if names else answer


def as_number(answer: Any) -> int | float | None:
    """Return an answer as a number, or None. Booleans are not numbers."""
    value = main_value(answer)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return value if type(value) in {int, float} and math.isfinite(value) else None


def as_flag(answer: Any, on_off: tuple[str, str] | None = None) -> bool | None:
    """Return whether an answer means on or off; None if neither.

    `on_off` are the parts of a text for on and for off, if known.
    """
    if on_off is not None and isinstance(answer, str):
        on, off = (part in answer for part in on_off)
        return None if on is off else on
    if isinstance(answer, Mapping):
        names = [name for name in _FLAGS if name in answer] or ([*answer] if len(answer) == 1 else [])
        return as_flag(answer[names[0]]) if names else None
    if isinstance(answer, bool):
        return answer
    if not isinstance(answer, str | int):
        return None
    # The last word decides, as in "Pump on".
    word = (str(answer).lower().split() or [""])[-1]
    return True if word in _TRUE else False if word in _FALSE else None


def as_text(answer: Any) -> str | int | float | None:
    """Return an answer as the state of a sensor."""
    match main_value(answer):
        case None:
            return None
        case bool(value):
            return "on" if value else "off"
        case int(value) | float(value):
            return value
        case {**members}:
            text = ", ".join(f"{name}: {value}" for name, value in members.items())
        case [*items]:
            text = ", ".join(str(item) for item in items)
        case value:
            text = str(value)
    return one_line(text, _MAX_STATE)


def as_attributes(answer: Any) -> dict[str, Any]:
    """Return an answer's members as attributes, except those with reserved names."""
    if not isinstance(answer, Mapping):
        return {}
    return {name: value for name, value in answer.items() if name not in _RESERVED}
