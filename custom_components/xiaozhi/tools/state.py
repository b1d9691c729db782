"""A device's tools: their entities, last answers and last calls."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, Protocol, override
from weakref import WeakValueDictionary

from homeassistant.core import CALLBACK_TYPE, callback

from ..protocol.mcp.model import is_bounded
from ..protocol.mcp.result import ToolResult
from ..protocol.mcp.tool import Tool
from ..protocol.status import DeviceStatus
from .catalogue import CATALOGUE, STATUS_TOOL
from .entities import Call, Reading, ToolEntity
from .mapping import map_tools
from .risk_rules import judge
from .values import MAX_MEMBERS, Member, MemberKind, member, members, parse_answer

_MAX_ARGUMENTS: Final = 512
_MAX_DEPTH: Final = 2


type _Shapes = tuple[tuple[str, tuple[Member, ...]], ...]


class _ToolList:
    """A list of tools and its entities: one object for all devices with the same list."""

    def __init__(self, tools: tuple[Tool, ...], shapes: _Shapes) -> None:
        self.tools = tools
        self.shapes = shapes
        self.by_name = {tool.name: tool for tool in tools}

    @cached_property
    def entities(self) -> Mapping[str, ToolEntity]:
        return {entity.key: entity for entity in map_tools(self.tools, dict(self.shapes))}

    @cached_property
    def followed(self) -> frozenset[str]:
        return frozenset(
            name for entity in self.entities.values() if entity.follows_calls for name in entity.tools
        )


# Devices of one model have the same tools, and their descriptions and schemas take most of a device's memory.
_LISTS: Final = WeakValueDictionary[tuple[tuple[Tool, ...], _Shapes], _ToolList]()


def _shared(tools: tuple[Tool, ...], shapes: _Shapes = ()) -> _ToolList:
    if (known := _LISTS.get((tools, shapes))) is None:
        known = _LISTS[tools, shapes] = _ToolList(tools, shapes)
    return known


def _shapes_of(answers: Mapping[str, Any], tools: Mapping[str, Tool], known: _Shapes = ()) -> _Shapes:
    """Return the members of the answers that are objects, with those known: a member may be missing once."""
    shapes = dict(known)
    for name, answer in answers.items():
        if name in tools and name not in CATALOGUE and (found := members(answer)):
            # A number that is a text now, such as "--", is a number all the same.
            kinds = dict(shapes.get(name, ()))
            for path, kind in found:
                if kinds.get(path, MemberKind.TEXT) is MemberKind.TEXT:
                    kinds[path] = kind
            shapes[name] = tuple(Member(path, kind) for path, kind in kinds.items())[:MAX_MEMBERS]
    return tuple(sorted(shapes.items()))


def prepare(tools: Iterable[Tool]) -> None:
    """Judge and map tools in advance, outside of the event loop: what takes long is remembered."""
    tools = tuple(tools)
    judge(tools)
    map_tools(tools)


class ToolRecord(Protocol):
    """The stored state of a device's tools."""

    tools: tuple[Tool, ...]
    status: DeviceStatus
    answers: dict[str, Any]
    """Last answers of tools, by name."""
    calls: dict[str, dict[str, Any]]
    """Arguments of the last calls of setters, by name of the tool, the latest at the end."""


class ToolState(Mapping[str, Tool]):
    """The tools of one device by name, as last listed, with their answers and calls."""

    def __init__(self, record: ToolRecord) -> None:
        self.withheld: dict[str, int] = {}
        """Number of entities over the daily limit, by platform."""
        self._record = record
        self._list = _shared(record.tools)
        if shapes := _shapes_of(record.answers, self):
            self._list = _shared(record.tools, shapes)
        self._read: Counter[str] = Counter()
        record.tools = self._list.tools

    @override
    def __getitem__(self, name: str) -> Tool:
        return self._list.by_name[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._list.by_name)

    @override
    def __len__(self) -> int:
        return len(self._list.by_name)

    @property
    def entities(self) -> Mapping[str, ToolEntity]:
        """Descriptions of the tools' entities, by key; the same object until the list changes."""
        return self._list.entities

    @property
    def to_read(self) -> tuple[str, ...]:
        """Names of the tools whose answers are read regularly."""
        return tuple(name for name in self if self._read[name] > 0)

    @callback
    def listed(self, tools: tuple[Tool, ...]) -> None:
        """Take a new list, and forget answers and calls of tools that are gone."""
        names = {tool.name for tool in tools}
        shapes = tuple((name, found) for name, found in self._list.shapes if name in names)
        self._list = _shared(tools, shapes)
        self._record.tools = self._list.tools
        for known in (self._record.answers, self._record.calls):
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
    def answered(self, name: str, result: ToolResult) -> None:
        """Store the answer of a tool."""
        answer = self._record.answers[name] = parse_answer(result)
        shapes = _shapes_of({name: answer}, self, self._list.shapes)
        if shapes != self._list.shapes:
            self._list = _shared(self._list.tools, shapes)

    @callback
    def called(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Store a successful call; return whether an entity's state may depend on it."""
        if name not in self._list.followed or not is_bounded(
            dict(arguments), size=_MAX_ARGUMENTS, depth=_MAX_DEPTH
        ):
            return False
        # Reinsert it: the latest call is at the end.
        self._record.calls.pop(name, None)
        self._record.calls[name] = dict(arguments)
        return True

    def last_call(self, names: Iterable[str]) -> Call | None:
        """Return the last call of any of these tools."""
        wanted = frozenset(names)
        for name in reversed(self._record.calls):
            if name in wanted:
                return Call(tool=name, arguments=self._record.calls[name])
        return None

    def last_value(self, reading: Reading) -> Any:
        """Return the value last read, or None."""
        if reading.tool == STATUS_TOOL:
            return getattr(self._record.status, reading.member or "", None)
        return member(self._record.answers.get(reading.tool), reading.member)
