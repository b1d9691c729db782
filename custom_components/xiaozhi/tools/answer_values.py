"""Converts answers of tools to values of entities."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
import math
import re
from typing import Any, Final, NamedTuple

from homeassistant.components.sensor import SensorEntityCapabilityAttribute, SensorEntityStateAttribute
from homeassistant.const import ATTR_ENTITY_ID, EntityCapabilityAttribute, EntityStateAttribute

from ..protocol.mcp.result import ToolResult
from ..util.text import clean_data, one_line
from ..util.untrusted_json import is_bounded
from .tool_names import word_set

_MAX_ANSWER: Final = 4096
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
# Members that describe the call or the message instead of the device's state.
_ENVELOPE: Final = word_set(
    "success ok code msg message error errors unit units timestamp time date ts id name type",
    "device version",
)
MAX_MEMBERS: Final = 24
"""Limit for one answer."""
# A number with words around it: "Temperature: 25.3 °C".
_NUMBER: Final = re.compile(r"[^\d]{0,40}?(?P<number>[-+]?\d{1,9}(?:\.\d{1,6})?)\s?[^\d]{0,12}")
_NOT_READ: Final = re.compile(r"err|fail|timeout|nan|错误|失败|无法|超时", re.IGNORECASE)
_FLAGS: Final = ("power", "on", "state", "enable", "enabled", "active", "value")
_ON: Final = word_set(
    "on true yes 1 enabled open opened locked active running detected occupied 开 开启 打开",
    "已打开 已开启 是 有 有人 上锁 已上锁 已锁 已锁定 锁定 运行中",
)
_OFF: Final = word_set(
    "off false no 0 disabled closed close unlocked inactive stopped idle clear 关 关闭 已关闭",
    "否 无 没有 无人 未上锁 未锁 未锁定 解锁 已解锁 已停止",
)
_WORDS: Final = dict.fromkeys(_ON, True) | dict.fromkeys(_OFF, False)


class MemberKind(StrEnum):
    """Kind of a member's value."""

    FLAG = "flag"
    NUMBER = "number"
    TEXT = "text"


class Member(NamedTuple):
    """A member of an object that a tool answers with."""

    path: str
    """Its name; with a dot, that of an object and that of a member within it."""
    kind: MemberKind


def parse_answer(result: ToolResult) -> Any:
    """Return a tool's answer: JSON of bounded size, else the beginning of its text, else None."""
    value = result.structured if result.text is None else result.json()
    if value is not None and is_bounded(value, _MAX_ANSWER):
        return clean_data(value)
    return None if result.text is None else one_line(result.text, _MAX_STATE)


def member(answer: object, name: str | None) -> Any:
    """Return a member of an answer, or the whole answer without a name."""
    if name is None or not isinstance(answer, Mapping):
        return answer if name is None else None
    if name in answer:
        return answer[name]
    # Names may have dots of their own.
    outer = (each for each in answer if name.startswith(f"{each}."))
    found = (member(answer[each], name.removeprefix(f"{each}.")) for each in outer)
    return next((value for value in found if value is not None), None)


def members(answer: object, outer: str = "") -> tuple[Member, ...]:
    """Return the members of an object that are values of their own, in its order.

    `outer` is the beginning of the path to an object within an object.
    """
    if not isinstance(answer, Mapping):
        return ()
    found: list[Member] = []
    for name, value in answer.items():
        if not name.strip() or name.lower() in _ENVELOPE or len(name) > 40:
            continue
        if isinstance(value, Mapping):
            found += () if outer else members(value, f"{name}.")
        elif (kind := _kind(value)) is not None:
            found.append(Member(outer + name, kind))
    return tuple(found[:MAX_MEMBERS])


def _kind(value: object) -> MemberKind | None:
    match value:
        case bool():
            return MemberKind.FLAG
        case int() | float():
            return MemberKind.NUMBER
        case str():
            return MemberKind.TEXT if as_number(value) is None else MemberKind.NUMBER
    return None


def main_value(answer: object, usual: Sequence[str] = _MAIN) -> Any:
    """Return the main value of an answer: of an object, the member with a usual name or the only one."""
    if not isinstance(answer, Mapping):
        return answer
    names = [name for name in usual if name in answer] or ([*answer] if len(answer) == 1 else [])
    return answer[names[0]] if names else answer


def as_number(answer: object) -> int | float | None:
    """Return an answer as a number, or None. Booleans are not numbers."""
    value = main_value(answer)
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            found = None if _NOT_READ.search(value) else _NUMBER.fullmatch(value.strip())
            value = float(found["number"]) if found else None
    return value if type(value) in {int, float} and math.isfinite(value) else None


def as_flag(answer: object, on_off: tuple[str, str] | None = None) -> bool | None:
    """Return whether an answer means on or off; None if neither.

    `on_off` are the parts of a text for on and for off, if known.
    """
    if on_off is not None and isinstance(answer, str):
        on, off = (part in answer for part in on_off)
        return None if on is off else on
    if isinstance(answer, Mapping):
        value = main_value(answer, _FLAGS)
        return None if value is answer else as_flag(value)
    if isinstance(answer, bool):
        return answer
    if not isinstance(answer, str | int):
        return None
    # The last word decides, as in "Pump on".
    word = (str(answer).lower().rstrip(".!。！").split() or [""])[-1]
    return _WORDS.get(word)


def as_text(answer: object) -> str | int | float | None:
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


def as_attributes(answer: object) -> dict[str, Any]:
    """Return an answer's members as attributes, except those with reserved names."""
    if not isinstance(answer, Mapping):
        return {}
    return {name: value for name, value in answer.items() if name not in _RESERVED}
