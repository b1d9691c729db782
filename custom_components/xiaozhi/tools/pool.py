"""The tools of a device that are part of no entity yet, and what they can read."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from homeassistant.const import EntityCategory

from ..protocol.mcp.tool import Tool, ToolProperty
from .catalogue import CATALOGUE, StockTool, stock_tool
from .entities import Call, Choice, Colour, Reading, Setter
from .everyday import everyday_words, is_verb, without_verb
from .parsing import is_chinese, parse
from .risk import DISABLED_RISKS, Risk
from .risk_rules import risks_of
from .values import Member
from .words import readable, words

__all__ = ["TOOL_PREFIX", "Shapes", "ToolPool", "join", "key_of", "limits_of", "split", "thing_name"]

TOOL_PREFIX: Final = "tool_"
"""Prefix of the keys of all entities that are named after a tool."""

type Shapes = Mapping[str, tuple[Member, ...]]
"""By the names of tools that answer with an object: its members."""

# A door or a lock is there to be opened: its entity is enabled. Entities with other risks are not.
_DISABLED: Final = DISABLED_RISKS - {Risk.ACCESS}
# Members that stand for the whole.
_WHOLE: Final = frozenset({"state", "status", "value", "result", "power", "on", "enabled"})


class ToolPool:
    """The tools that are left; each tool that becomes part of an entity is taken out."""

    def __init__(self, tools: Iterable[Tool], shapes: Shapes) -> None:
        self.tools = {tool.name: tool for tool in tools}
        self.left = dict.fromkeys(self.tools)
        self.shapes = shapes
        self.read: set[tuple[str, str]] = set()
        """The members of answers that are the state of an entity."""

    def plain(self, name: str) -> bool:
        """Whether an unmapped tool without arguments has this name."""
        return name in self.left and not self.tools[name].properties

    def getter(self, name: str) -> str | None:
        """Return the name, if a tool that can be read has it."""
        return name if not stock_tool(name).action_only and self.plain(name) else None

    def setter(self, name: str) -> Setter | None:
        """Find a setter for part of an entity; tools of the catalogue make entities of their own."""
        if name not in self.left or name in CATALOGUE:
            return None
        if len(properties := self.tools[name].properties) != 1:
            return None
        ((argument, kind),) = properties.items()
        limits = limits_of(kind)
        if limits is None or limits[0] < 0:
            return None
        return Setter(tool=name, argument=argument, minimum=limits[0], maximum=limits[1])

    def setter_of(self, *subjects: tuple[str, ...]) -> Setter | None:
        """Find a setter of one of these things."""
        wanted = [frozenset(subject) for subject in subjects]
        for name in self.left:
            parsed = parse(name)
            if (
                parsed.action == "set"
                and frozenset(parsed.subject) in wanted
                and (found := self.setter(name))
            ):
                return found
        return None

    def reading(self, *subjects: tuple[str, ...]) -> Reading | None:
        """Find where the state of one of these things is read."""
        for subject in subjects:
            found = self._readings.get(frozenset(subject))
            if found is not None and (found.tool in self.left or found.member is not None):
                return found
        return None

    @cached_property
    def _readings(self) -> dict[frozenset[str], Reading]:
        """Where things are read, by the words of their names."""
        found: dict[frozenset[str], Reading] = {}
        for name in self.tools:
            parsed = parse(name)
            if name in CATALOGUE or parsed.action not in {"get", "is"} or not self.plain(name):
                continue
            if name not in self.shapes:
                found.setdefault(frozenset(parsed.subject), Reading(tool=name))
            for path, _ in self.shapes.get(name, ()):
                told = tuple(word for word in words(everyday_words(path)) if word not in _WHOLE)
                found.setdefault(frozenset((*parsed.subject, *told)), Reading(tool=name, member=path))
        return found

    def take(self, *users: str | Call | Choice | Colour | Reading | Setter | None) -> tuple[str, ...]:
        """Take tools out of the list, and return their names.

        The status tool stays, for all readings, and so does one whose answer has several members.
        """
        names: list[str] = []
        for user in users:
            match user:
                case None:
                    pass
                case str():
                    names.append(user)
                case Reading(tool=tool, member=str(member)) if tool in self.shapes:
                    self.read.add((tool, member))
                case _:
                    names.append(user.tool)
        usable = (name for name in names if name in self.left and not stock_tool(name).action_only)
        taken = tuple(dict.fromkeys(usable))
        for name in taken:
            del self.left[name]
        return taken

    def common(
        self, stock: StockTool, names: tuple[str, ...], subject: str, *, titled: bool = True
    ) -> dict[str, Any]:
        """Return the fields of all kinds. With `titled`, the first tool's title, if any, is the name."""
        name = (titled and self.tools[names[0]].title) or readable(subject or names[0])
        risks = self.risks(names)
        return {
            "key": stock.key or key_of(names[0]),
            "tools": names,
            "name": None if stock.translation_key or stock.device_class else name,
            "translation_key": stock.translation_key,
            "device_class": stock.device_class,
            # By default, Home Assistant does not expose configuration entities to assistants.
            "category": stock.category or (EntityCategory.CONFIG if risks else self.category(names)),
            "enabled": risks.isdisjoint(DISABLED_RISKS) if stock.enabled is None else stock.enabled,
            "user_only": self.user_only(names),
        }

    def common_of_thing(
        self, names: tuple[str, ...], subject: tuple[str, ...], nameless: str
    ) -> dict[str, Any]:
        """Return the fields of all kinds for a thing. What has a risk is no configuration here, but guarded.

        `nameless` is its name if its tools say none.
        """
        risks = self.risks(names)
        return {
            "key": key_of(names[0]),
            "tools": names,
            "name": thing_name(names[0], subject) or nameless,
            "category": self.category(names),
            "enabled": risks.isdisjoint(_DISABLED),
            "guarded": bool(risks),
            "user_only": self.user_only(names),
        }

    def risks(self, names: tuple[str, ...]) -> set[Risk]:
        """Return the risks of tools; those of stock tools are in the catalogue."""
        judged = () if names[0] in CATALOGUE else names
        return {risk for name in judged for risk in risks_of(self.tools[name])}

    def category(self, names: Iterable[str]) -> EntityCategory | None:
        """Return the category of tools without risks."""
        return EntityCategory.CONFIG if self.user_only(names) else None

    def user_only(self, names: Iterable[str]) -> bool:
        """Whether the device reserves one of these tools for users."""
        return any(self.tools[name].user_only for name in names)


def thing_name(name: str, subject: tuple[str, ...]) -> str:
    """Return the name of a thing for people, from the name of its first tool; empty if it has none."""
    group, verb = split(name)
    if is_verb(verb):
        return readable(group) if group not in {"", "self"} else ""
    if is_chinese(verb):
        return without_verb(verb)
    if tuple(words(group.removeprefix("self"))) == subject:
        return readable(group) if subject else ""
    return readable("_".join(subject)) if subject else ""


def key_of(name: str) -> str:
    """Return the key of the entity whose first tool has this name."""
    return f"tool_{name}"


def split(name: str) -> tuple[str, str]:
    """Return group and verb of a tool: `self.lamp` and `turn_on`."""
    group, _, verb = name.rpartition(".")
    return group, verb


def join(group: str, verb: str) -> str:
    """Return the name of a tool from its group and verb."""
    return f"{group}.{verb}" if group else verb


def limits_of(kind: ToolProperty) -> tuple[int, int] | None:
    """Return the limits of a whole number, if it has both."""
    if kind.kind != "integer" or kind.minimum is None or kind.maximum is None or kind.minimum >= kind.maximum:
        return None
    return kind.limits if kind.limits[0] < kind.limits[1] else None
