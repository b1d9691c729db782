"""A list of tools with the shapes of their answers and their entities."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, Final
from weakref import WeakValueDictionary

from ..protocol.mcp.tool import Tool
from .answer_values import MAX_MEMBERS, Member, MemberKind, members
from .mapping import map_tools
from .stock_tools import CATALOGUE
from .tool_entities import ToolEntity


class MappedTools:
    """An immutable list of tools with the shapes of their answers and their entities."""

    def __init__(
        self, tools: tuple[Tool, ...], shapes: tuple[tuple[str, tuple[Member, ...]], ...] = ()
    ) -> None:
        """Map the tools, which takes long for hostile texts."""
        self.tools = tools
        self.by_name = {tool.name: tool for tool in tools}
        self.shapes = dict(shapes)
        """Members of the answers that are objects, by the names of their tools."""
        self.entities: Mapping[str, ToolEntity] = {
            entity.key: entity for entity in map_tools(tools, self.shapes)
        }
        """Descriptions of the tools' entities, by key."""
        self.followed = frozenset(
            name for entity in self.entities.values() if entity.follows_calls for name in entity.tools
        )
        """Tools on whose last call the state of an entity may depend."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> MappedTools:
        """Read the stored form without damaged shapes, which are learned again. Raises for a damaged list."""
        shapes = {}
        for name, kinds in _mapping(data.get("shapes")).items():
            with suppress(AttributeError, ValueError):
                shapes[name] = tuple(Member(path, MemberKind(kind)) for path, kind in kinds.items())
        tools = map(Tool.from_dict, data.get("tools", ()))
        return prepare([tool for tool in tools if tool], shapes, _mapping(data.get("answers")))

    def as_dict(self) -> dict[str, Any]:
        """Return the form that `from_dict` reads."""
        return {
            "tools": [tool.as_dict() for tool in self.tools],
            "shapes": {
                name: {path: kind.value for path, kind in shape} for name, shape in self.shapes.items()
            },
        }


def _mapping(stored: Any) -> Mapping[str, Any]:
    return stored if isinstance(stored, dict) else {}


NO_TOOLS: Final = MappedTools(())
# Devices of one model have the same tools, and their descriptions and schemas take most of a device's memory.
_LISTS: Final = WeakValueDictionary[tuple[object, ...], MappedTools]()
_LISTS[(), ()] = NO_TOOLS


def prepare(
    tools: Iterable[Tool], shapes: Mapping[str, tuple[Member, ...]], answers: Mapping[str, Any]
) -> MappedTools:
    """Return a list of tools with the known and the shown shapes. Not for the event loop.

    All devices with the same list get one object.
    """
    tools = tuple(tools)
    names = {tool.name for tool in tools} - CATALOGUE.keys()
    found = {name: shape for name, shape in shapes.items() if name in names}
    for name, answer in answers.items():
        if name in names and (shape := shape_of(answer, found.get(name, ()))):
            found[name] = shape
    key = (tools, tuple(sorted(found.items())))
    return _LISTS.get(key) or _LISTS.setdefault(key, MappedTools(*key))


def shape_of(answer: object, known: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return the members of an answer, with those known: a member may be missing once.

    Where these are too many, those that were not answered make room, the first ones first.
    """
    kinds, answered = dict(known), dict(members(answer))
    for path, kind in answered.items():
        # A number stays a number while a text stands in its place, such as "--".
        if kinds.get(path, MemberKind.TEXT) is MemberKind.TEXT:
            kinds[path] = kind
    missing = [path for path in kinds if path not in answered][: max(0, len(kinds) - MAX_MEMBERS)]
    return tuple(Member(path, kind) for path, kind in kinds.items() if path not in missing)
