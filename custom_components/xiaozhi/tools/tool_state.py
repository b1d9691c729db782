"""A device's tools: their entities, last answers and last calls."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, override
from weakref import WeakValueDictionary

from homeassistant.core import CALLBACK_TYPE, callback

from ..protocol.mcp.model import is_bounded
from ..protocol.mcp.result import ToolResult
from ..protocol.mcp.tool import Tool
from .answer_values import MAX_MEMBERS, Member, MemberKind, member, members, parse_answer
from .catalogue import CATALOGUE
from .entity_descriptions import Call, Reading, ToolEntity
from .mapping import map_tools
from .tool_risks import judge

_MAX_ARGUMENTS: Final = 512
_MAX_DEPTH: Final = 2

type _Shapes = tuple[tuple[str, tuple[Member, ...]], ...]


class ToolList:
    """A list of tools with the shapes of their answers, and the entities that they make. It never changes."""

    def __init__(self, tools: tuple[Tool, ...], shapes: _Shapes = ()) -> None:
        """Judge and map the tools, which takes long for hostile texts."""
        judge(tools)
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
    def from_dict(cls, data: Mapping[str, Any]) -> ToolList:
        """Read the stored form; what is damaged is left out."""
        stored, shapes = data.get("tools"), data.get("shapes")
        tools = [Tool.from_dict(each) for each in stored] if isinstance(stored, list) else []
        answers = data.get("answers")
        known = {
            name: tuple(Member(path, MemberKind(kind)) for path, kind in kinds.items() if kind in MemberKind)
            for name, kinds in (shapes.items() if isinstance(shapes, dict) else ())
            if isinstance(kinds, dict)
        }
        return prepare([tool for tool in tools if tool], known, answers if isinstance(answers, dict) else {})

    def as_dict(self) -> dict[str, Any]:
        """Return the form that `from_dict` reads."""
        return {
            "tools": [tool.as_dict() for tool in self.tools],
            "shapes": {
                name: {path: kind.value for path, kind in shape} for name, shape in self.shapes.items()
            },
        }


NO_TOOLS: Final = ToolList(())
# Devices of one model have the same tools, and their descriptions and schemas take most of a device's memory.
_LISTS: Final = WeakValueDictionary[tuple[tuple[Tool, ...], _Shapes], ToolList]()
_LISTS[(), ()] = NO_TOOLS


def prepare(
    tools: Iterable[Tool], shapes: Mapping[str, tuple[Member, ...]], answers: Mapping[str, Any]
) -> ToolList:
    """Return a list of tools with the shapes that are known or that answers show. Not for the event loop.

    All devices with the same list get one object.
    """
    tools = tuple(tools)
    names = {tool.name for tool in tools} - CATALOGUE.keys()
    found = {name: shape for name, shape in shapes.items() if name in names}
    for name, answer in answers.items():
        if name in names and (shape := _shape_of(answer, found.get(name, ()))):
            found[name] = shape
    key = (tools, tuple(sorted(found.items())))
    known = _LISTS.get(key)
    if known is None:
        known = _LISTS[key] = ToolList(*key)
    return known


def _shape_of(answer: Any, known: tuple[Member, ...]) -> tuple[Member, ...]:
    """Return the members of an answer, with those known: a member may be missing once."""
    kinds = dict(known)
    for path, kind in members(answer):
        # A number that is a text now, such as "--", is a number all the same.
        if kinds.get(path, MemberKind.TEXT) is MemberKind.TEXT:
            kinds[path] = kind
    return tuple(Member(path, kind) for path, kind in kinds.items())[:MAX_MEMBERS]


class ToolState(Mapping[str, Tool]):
    """The tools of one device by name, as last listed, with their answers and calls."""

    def __init__(self, tools: ToolList, answers: dict[str, Any], calls: dict[str, dict[str, Any]]) -> None:
        """`answers` and `calls` by name of the tool are changed in place; the latest call is at the end."""
        self.list = tools
        self._answers = answers
        self._calls = calls
        self._read: Counter[str] = Counter()

    @override
    def __getitem__(self, name: str) -> Tool:
        return self.list.by_name[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self.list.by_name)

    @override
    def __len__(self) -> int:
        return len(self.list.by_name)

    @property
    def entities(self) -> Mapping[str, ToolEntity]:
        """Descriptions of the tools' entities, by key; the same object until the list changes."""
        return self.list.entities

    @property
    def to_read(self) -> tuple[str, ...]:
        """Names of the tools whose answers are read regularly."""
        return tuple(name for name in self if self._read[name] > 0)

    @callback
    def listed(self, tools: ToolList) -> None:
        """Take a new list, and forget answers and calls of tools that are gone."""
        self.list = tools
        for known in (self._answers, self._calls):
            for name in known.keys() - self.keys():
                del known[name]

    @callback
    def read_regularly(self, name: str) -> CALLBACK_TYPE:
        """Have a tool read regularly. Returns a function that ends this."""
        self._read[name] += 1

        @callback
        def end() -> None:
            self._read[name] -= 1

        return end

    @callback
    def answered(self, name: str, result: ToolResult) -> bool:
        """Store the answer of a tool; return whether it shows members that are not known yet."""
        answer = self._answers[name] = parse_answer(result)
        known = self.list.shapes.get(name, ())
        return name in self and name not in CATALOGUE and _shape_of(answer, known) != known

    @callback
    def called(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Store a successful call; return whether an entity's state may depend on it."""
        if name not in self.list.followed or not is_bounded(
            dict(arguments), size=_MAX_ARGUMENTS, depth=_MAX_DEPTH
        ):
            return False
        # Reinsert it: the latest call is at the end.
        self._calls.pop(name, None)
        self._calls[name] = dict(arguments)
        return True

    def last_call(self, names: Iterable[str]) -> Call | None:
        """Return the last call of any of these tools."""
        wanted = frozenset(names)
        for name in reversed(self._calls):
            if name in wanted:
                return Call(tool=name, arguments=self._calls[name])
        return None

    def last_value(self, reading: Reading) -> Any:
        """Return the value last read, or None."""
        return member(self._answers.get(reading.tool), reading.member)
