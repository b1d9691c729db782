"""Families of tools: all that belong to one thing, such as an air conditioner, by what each of them does."""

from collections.abc import Mapping
from enum import StrEnum
import re
from typing import Any, Final

from .catalogue import CATALOGUE, StockTool
from .choices import choices_of
from .entities import Call, Choice, Reading
from .parsing import parse
from .pool import ToolPool, limits_of

__all__ = [
    "Part",
    "choice_of",
    "families_of",
    "power_of",
    "reading_of_power",
    "setters",
    "wanted_and_measured",
]


class Part(StrEnum):
    """What a tool of a thing does."""

    ON = "on"
    OFF = "off"
    POWER = "power"
    MODE = "mode"
    TARGET = "target"
    FAN = "fan"


# By the action and the words behind those of the thing, in the tool's name.
_CALLS: Final = {
    ("on", ""): Part.ON,
    ("open", ""): Part.ON,
    ("start", ""): Part.ON,
    ("off", ""): Part.OFF,
    ("close", ""): Part.OFF,
    ("stop", ""): Part.OFF,
    ("", "shutdown"): Part.OFF,
}
_SETTERS: Final = {
    Part.POWER: "|power|switch|on|state|power state",
    Part.MODE: "mode|work mode|working mode|operation mode|operating mode|工作 mode|运行 mode",
}
_POWERS: Final = (("on",), ("power",), ("switch",), ())
_AROUND: Final = ("room", "indoor", "ambient", "current", "now", "inside")
_SAYS_TARGET: Final = re.compile(r"target|set|desired|目标|设定|设置", re.IGNORECASE)
_SAYS_CURRENT: Final = re.compile(
    r"current|room|ambient|indoor|measured|当前|环境|室内|室温|实时", re.IGNORECASE
)
_NO_STOCK: Final = StockTool()


def setters(more: Mapping[Part, str]) -> dict[str, Part]:
    """Return what the setters of a thing do, by the words behind it: power, mode and `more`."""
    parts = {**_SETTERS, **more}
    return {text: part for part, texts in parts.items() for text in texts.split("|")}


def families_of(
    pool: ToolPool, things: frozenset[str], parts: Mapping[str, Part]
) -> dict[tuple[str, ...], dict[Part, str]]:
    """Return the names of the tools that are left of each thing that one of the words names."""
    families: dict[tuple[str, ...], dict[Part, str]] = {}
    for name in pool.left:
        if name in CATALOGUE:
            continue
        parsed = parse(name)
        thing, rest = _thing_of(parsed.subject, things)
        part = parts.get(rest) if pool.tools[name].properties else _CALLS.get((parsed.action, rest))
        if thing and part is not None and parsed.action not in {"get", "is"}:
            families.setdefault(thing, {}).setdefault(part, name)
    return families


def _thing_of(subject: tuple[str, ...], things: frozenset[str]) -> tuple[tuple[str, ...], str]:
    """Return the words of a thing, if one is among them, and the words behind them."""
    at = next((index for index, word in enumerate(subject) if word in things), None)
    if at is None:
        return (), ""
    return subject[: at + 1], " ".join(word for word in subject[at + 1 :] if word not in things)


def power_of(pool: ToolPool, family: Mapping[Part, str]) -> tuple[Call | None, Call | None]:
    """Return the calls for on and off; both or none."""
    if Part.ON in family and Part.OFF in family:
        return Call(tool=family[Part.ON]), Call(tool=family[Part.OFF])
    if (name := family.get(Part.POWER)) is None or len(properties := pool.tools[name].properties) != 1:
        return None, None
    ((argument, kind),) = properties.items()
    values: tuple[Any, Any] | None = None
    if kind.kind == "boolean":
        values = (True, False)
    elif limits_of(kind) == (0, 1):
        values = (1, 0)
    elif (choice := choice_of(pool, name)) and {*choice.options} == {"on", "off"}:
        values = ("on", "off")
    if values is None:
        return None, None
    on, off = (Call(tool=name, arguments={argument: value}) for value in values)
    return on, off


def reading_of_power(pool: ToolPool, thing: tuple[str, ...]) -> Reading | None:
    """Find where it is read whether a thing is on."""
    return pool.reading(*((*thing, *more) for more in _POWERS))


def choice_of(pool: ToolPool, name: str | None) -> Choice | None:
    """Return the choice that a tool with one argument offers."""
    if name is None or len(properties := pool.tools[name].properties) != 1:
        return None
    (argument,) = properties
    options, values = choices_of(pool.tools[name], argument, _NO_STOCK)
    return Choice(tool=name, argument=argument, options=options, values=values) if options else None


def wanted_and_measured(
    pool: ToolPool, thing: tuple[str, ...], quantity: tuple[str, ...]
) -> tuple[Reading | None, Reading | None]:
    """Find where the wanted and the measured value of a quantity are read; `quantity` are words for it."""
    targets = (*(("target", word) for word in quantity), ("target",), ("setpoint",), ("set", "point"))
    wanted = pool.reading(*((*thing, *more) for more in targets))
    measured = pool.reading(*((*thing, where, word) for where in _AROUND for word in quantity))
    plain = pool.reading(*((*thing, word) for word in quantity))
    if plain is None:
        return wanted, measured
    said = plain.member or f"{plain.tool} {pool.tools[plain.tool].description}"
    if measured is None and (
        wanted is not None or (_SAYS_CURRENT.search(said) and not _SAYS_TARGET.search(said))
    ):
        return wanted, plain
    return wanted or plain, measured
