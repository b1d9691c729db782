"""How far something is open: a cover or a valve."""

from typing import Any, Final

from .entities import OpenableTool, Setter
from .state import ToolState
from .values import as_flag, as_number

__all__ = ["has_position", "is_closed", "percentage_of", "position_of", "value_of"]

_FULL: Final = 100


def has_position(tool: OpenableTool) -> bool:
    """Whether a position is known, and not only open or closed."""
    return tool.position is not None or tool.position_state is not None


def position_of(tool: OpenableTool, tools: ToolState) -> int | None:
    """Return the position as a percentage, 100 for open: as last read, or else as last set."""
    if tool.position_state is not None:
        return percentage_of(tools.last_value(tool.position_state), tool.position)
    calls = (tool.open, tool.close, tool.stop, tool.position)
    last = tools.last_call(each.tool for each in calls if each is not None)
    if last is None or tool.position is None:
        return None
    if last.tool == tool.position.tool:
        return percentage_of(last.arguments.get(tool.position.argument), tool.position)
    return _FULL if last == tool.open else 0 if last == tool.close else None


def is_closed(tool: OpenableTool, tools: ToolState) -> bool | None:
    """Return whether it is closed: as last read, or else as last called."""
    if tool.state is not None and (told := as_flag(tools.last_value(tool.state))) is not None:
        return told is tool.state.negated
    if (position := position_of(tool, tools)) is not None:
        return position == 0
    if tool.state is not None or tool.position_state is not None:
        return None
    last = tools.last_call(each.tool for each in (tool.open, tool.close, tool.stop) if each is not None)
    return True if last == tool.close else False if last == tool.open else None


def percentage_of(value: Any, setter: Setter | None) -> int | None:
    """Return a value in per cent of the range of its setter; without one, of 0 to 100."""
    if (number := as_number(value)) is None:
        return None
    low, high = (0, _FULL) if setter is None else (setter.minimum, setter.maximum)
    return max(0, min(_FULL, round((number - low) * _FULL / (high - low))))


def value_of(percentage: float, setter: Setter) -> int:
    """Return the value that a setter takes for a percentage."""
    return setter.minimum + round(percentage * (setter.maximum - setter.minimum) / _FULL)
