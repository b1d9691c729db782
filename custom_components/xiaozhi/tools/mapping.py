"""Maps tools to entities: by the catalogue, or else by names and schemas.

Nothing here depends on a board. An entity's key depends only on the names of its tools, so that the same
tools make the same entities after a firmware update.
"""

from collections.abc import Callable, Iterable
import re
from typing import Any, Final

from ..protocol.mcp.tool import Tool
from .catalogue import CATALOGUE, StockTool, stock_tool
from .choices import choices_of
from .climates import map_climates
from .entities import (
    ActionTool,
    ButtonTool,
    Call,
    Choice,
    Colour,
    LightTool,
    NumberTool,
    Reading,
    SelectTool,
    Setter,
    SwitchTool,
    ToolEntity,
)
from .everyday import without_verb
from .humidifiers import map_humidifiers
from .measures import number_unit
from .pairs import map_pairs
from .parsing import parse
from .pool import Shapes, ToolPool, join as _join, key_of as _key, limits_of as _range, split as _split
from .sensors import SensorMapper
from .words import LIGHTS, readable, words

__all__ = ["KEY_PREFIXES", "MAX_ENTITIES", "map_tools"]

MAX_ENTITIES: Final = 128
"""Limit for one device; further tools can only be called by name."""
KEY_PREFIXES: Final = ("tool_", "light_")
"""Prefixes of all keys that depend on the device's names."""

# Pairs of verbs with the same suffix: enable_filter, disable_filter.
_PAIRS: Final = (
    ("turn_on", "turn_off"),
    ("switch_on", "switch_off"),
    ("power_on", "power_off"),
    ("enable", "disable"),
    ("on", "off"),
)
_PAIR_GETTERS: Final = ("get{}_state", "get{}_power", "get{}_status", "get{}", "is{}_on", "is{}_enabled")
_COLOURS: Final = (("red", "green", "blue"), ("r", "g", "b"))
_SETS: Final = re.compile(r"^(?:(?:set|switch|change|select|adjust|choose)(?=_|[A-Z]|$)_?|set)")
_ENABLES: Final = frozenset({"active", "enable", "enabled", "mute", "on", "power"})


def map_tools(tools: Iterable[Tool], shapes: Shapes | None = None) -> tuple[ToolEntity, ...]:
    """Return descriptions of entities; every tool is part of exactly one.

    A tool whose answer is an object, by `shapes`, may be part of several: each member is a state of its own.
    """
    mapper = _Mapper(tools, shapes or {})
    entities = mapper.entities()
    count = 0
    result: list[ToolEntity] = []
    for entity in entities:
        if entity.platform is not None:
            count += 1
        if count <= MAX_ENTITIES:
            result.append(entity)
        else:
            result += (_action(name, user_only=entity.user_only) for name in entity.tools)
    return tuple(result)


def _action(name: str, *, user_only: bool) -> ActionTool:
    return ActionTool(key=_key(name), tools=(name,), name=readable(name), user_only=user_only)


class _Mapper:
    """Maps a list of tools; each mapped tool is taken out of the list."""

    def __init__(self, tools: Iterable[Tool], shapes: Shapes) -> None:
        self._pool = ToolPool(tools, shapes)
        self._tools = self._pool.tools
        self._left = self._pool.left
        self._sensors = SensorMapper(self._pool)

    def entities(self) -> list[ToolEntity]:
        """Map all tools."""
        return [
            *self.lights(),
            *map_climates(self._pool),
            *map_humidifiers(self._pool),
            *map_pairs(self._pool, switches=False),
            *self.pairs(),
            *map_pairs(self._pool, switches=True),
            *self.singles(),
        ]

    def lights(self) -> list[ToolEntity]:
        """Map lights: a colour with the other tools of its group, and on/off pairs with a light's name."""
        groups = dict.fromkeys(_split(name)[0] for name in self._left)
        return [light for group in groups if (light := self._light(group))]

    def _light(self, group: str) -> LightTool | None:
        colour = self._colour(group)
        pair = self._pair(group, "")
        if colour is None and not (pair and _is_light(group)):
            return None
        on, off = pair or (None, None)
        brightness = self._pool.setter(f"{group}.set_brightness")
        state = self._pair_getter(group, "") if pair else None
        brightness_state = self._pool.getter(f"{group}.get_brightness") if brightness else None
        names = self._pool.take(on, off, colour, brightness, state, brightness_state)
        translation_key = next(filter(None, (stock_tool(name).translation_key for name in names)), None)
        return LightTool(
            key=f"light_{group}",
            tools=names,
            name=None if translation_key else readable(group),
            translation_key=translation_key,
            category=self._pool.category(names),
            user_only=self._pool.user_only(names),
            on=Call(tool=on) if on else None,
            off=Call(tool=off) if off else None,
            colour=colour,
            brightness=brightness,
            state=Reading(tool=state) if state else None,
            brightness_state=Reading(tool=brightness_state) if brightness_state else None,
        )

    def _colour(self, group: str) -> Colour | None:
        """Find the tool that sets the colour of a group; without a group, the coloured part is unknown."""
        found = []
        for name in self._left:
            if group and _split(name)[0] == group and not stock_tool(name).action_only:
                properties = self._tools[name].properties
                for names in _COLOURS:
                    if (
                        properties.keys() == set(names)
                        and len({_range(properties[key]) for key in names}) == 1
                    ):
                        limits = _range(properties[names[0]])
                        if limits and limits[0] == 0 < limits[1]:
                            found.append(Colour(tool=name, arguments=names, maximum=limits[1]))
        return min(found, key=lambda colour: ("all" not in colour.tool, colour.tool), default=None)

    def pairs(self) -> list[ToolEntity]:
        """Map pairs of tools for on and off."""
        found: list[ToolEntity] = []
        for name in tuple(self._left):
            group, verb = _split(name)
            for first, _second in _PAIRS:
                suffix = verb.removeprefix(first)
                fits = verb.startswith(first) and (not suffix or suffix.startswith("_"))
                if fits and (pair := self._pair(group, suffix)) and pair[0] == name:
                    found.append(self._switch(group, suffix, *pair))
        return found

    def _switch(self, group: str, suffix: str, on: str, off: str) -> ToolEntity:
        state = self._pair_getter(group, suffix)
        names = self._pool.take(on, off, state)
        subject = f"{group}{suffix}"
        kind = LightTool if _is_light(subject) else SwitchTool
        return kind(
            **self._pool.common(
                stock_tool(on), names, on if subject in {"", "self"} else subject, titled=False
            ),
            on=Call(tool=on),
            off=Call(tool=off),
            state=Reading(tool=state) if state else None,
        )

    def _pair(self, group: str, suffix: str) -> tuple[str, str] | None:
        for first, second in _PAIRS:
            on, off = (_join(group, f"{verb}{suffix}") for verb in (first, second))
            if self._pool.plain(on) and self._pool.plain(off):
                return on, off
        return None

    def _pair_getter(self, group: str, suffix: str) -> str | None:
        names = (_join(group, pattern.format(suffix)) for pattern in _PAIR_GETTERS)
        return next((name for name in names if self._pool.getter(name)), None)

    def singles(self) -> list[ToolEntity]:
        """Map the other tools, setters first: they may take their getters."""
        found: dict[str, list[ToolEntity]] = {}
        names = sorted(self._left, key=lambda name: not self._tools[name].properties)
        for name in names:
            if name in self._left:
                tool = self._tools[name]
                is_object = name in self._pool.shapes and self._pool.plain(name) and name not in CATALOGUE
                found[name] = self._members(tool) if is_object else [self._single(tool)]
        return [entity for name in self._tools for entity in found.get(name, ())]

    def _single(self, tool: Tool) -> ToolEntity:
        stock = stock_tool(tool.name)
        makers: tuple[Callable[[Tool, StockTool], ToolEntity | None], ...]
        if stock.action_only:
            makers = ()
        elif not tool.properties:
            makers = (self._sensors.sensor, self._button)
        elif len(tool.properties) == 1:
            makers = (self._number_or_switch, self._select, self._button)
        else:
            makers = (self._select, self._button)
        for make in makers:
            if (entity := make(tool, stock)) is not None:
                return entity
        del self._left[tool.name]
        return _action(tool.name, user_only=tool.user_only)

    def _members(self, tool: Tool) -> list[ToolEntity]:
        return self._sensors.members(tool) or [_action(tool.name, user_only=tool.user_only)]

    def _number_or_switch(self, tool: Tool, stock: StockTool) -> ToolEntity | None:
        ((argument, kind),) = tool.properties.items()
        limits = _range(kind)
        if limits is not None and limits[1] - limits[0] > 1 and (choice := self._select(tool, stock)):
            return choice
        if stock.on_off:
            return self._one_argument_switch(tool, stock, argument, stock.on_off)
        if kind.kind == "boolean" and (tool.required or _is_setter(tool, argument)):
            return self._one_argument_switch(tool, stock, argument, (True, False))
        if limits == (0, 1) and (
            _is_setter(tool, argument) or not _ENABLES.isdisjoint(words(_split(tool.name)[1]))
        ):
            return self._one_argument_switch(tool, stock, argument, (1, 0))
        if limits is None or not _is_setter(tool, argument):
            return None
        state = self._state_of(tool, stock)
        subject = _subject(tool.name)
        said = None if tool.name in CATALOGUE else tool.description
        low, high = limits
        return NumberTool(
            **self._pool.common(stock, self._pool.take(tool.name, state), subject),
            setter=Setter(
                tool=tool.name,
                argument=argument,
                minimum=low if stock.minimum is None else min(max(low, stock.minimum), high),
                maximum=high,
            ),
            unit=stock.unit or number_unit(f"{subject}.{argument}", limits, said),
            state=state,
        )

    def _one_argument_switch(
        self, tool: Tool, stock: StockTool, argument: str, values: tuple[Any, Any]
    ) -> SwitchTool:
        state = self._state_of(tool, stock)
        on, off = values
        return SwitchTool(
            **self._pool.common(stock, self._pool.take(tool.name, state), _subject(tool.name)),
            on=Call(tool=tool.name, arguments={argument: on}),
            off=Call(tool=tool.name, arguments={argument: off}),
            state=state,
        )

    def _select(self, tool: Tool, stock: StockTool) -> SelectTool | None:
        if (len(tool.properties) > 1 and tool.required) or not (stock.argument or len(tool.properties) == 1):
            return None
        argument = stock.argument or next(iter(tool.properties))
        options, values = choices_of(tool, argument, stock)
        if not options:
            return None
        state = self._state_of(tool, stock)
        return SelectTool(
            **self._pool.common(stock, self._pool.take(tool.name, state), _subject(tool.name)),
            choice=Choice(tool=tool.name, argument=argument, options=options, values=values),
            state=state,
            momentary=stock.momentary or not (stock.options or _is_setter(tool, argument)),
        )

    def _button(self, tool: Tool, stock: StockTool) -> ButtonTool | None:
        # A tool with optional arguments can be a button, unless it is there to set an argument.
        if tool.required or any(_is_setter(tool, argument) for argument in tool.properties):
            return None
        if any(kind.kind in {"string", "unknown"} for kind in tool.properties.values()):
            return None
        common = self._pool.common(stock, self._pool.take(tool.name), tool.name)
        return ButtonTool(**common, call=Call(tool=tool.name))

    def _state_of(self, tool: Tool, stock: StockTool) -> Reading | None:
        """Find the reading of the value that a tool sets."""
        if stock.state is not None and stock.state.tool in self._tools:
            return stock.state
        # Other firmware may have a getter for each value instead of the status tool.
        group, verb = _split(tool.name)
        name = self._pool.getter(_join(group, f"get_{_SETS.sub('', verb, count=1)}"))
        if name is not None and name not in self._pool.shapes:
            return Reading(tool=name)
        return None if tool.name in CATALOGUE else self._pool.reading(parse(tool.name).subject)


def _subject(name: str) -> str:
    """Return the name without the verb of setting."""
    group, verb = _split(name)
    return _join(group, without_verb(_SETS.sub("", verb, count=1)))


def _is_setter(tool: Tool, argument: str) -> bool:
    verb = _split(tool.name)[1]
    named = bool(_SETS.match(verb)) or verb.lower() == argument.lower()
    return named or (tool.name not in CATALOGUE and parse(tool.name).action == "set")


def _is_light(subject: str) -> bool:
    found = words(subject)
    return not LIGHTS.isdisjoint(found) and "sensor" not in found
