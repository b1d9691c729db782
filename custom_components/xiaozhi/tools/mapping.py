"""Maps tools to entities: by the catalogue, or else by names and schemas.

Nothing here depends on a board. An entity's key depends only on the names of its tools, so that the same
tools make the same entities after a firmware update.
"""

from collections.abc import Callable, Iterable
import re
from typing import Any, Final

from homeassistant.const import DEGREE, PERCENTAGE, EntityCategory, UnitOfTemperature

from ..protocol.mcp.client import Tool, ToolProperty
from .catalogue import CATALOGUE, StockTool, stock_tool
from .choices import enumerated_texts, listed_texts
from .entities import (
    ActionTool,
    ButtonTool,
    Call,
    Colour,
    LightTool,
    NumberTool,
    Reading,
    SelectTool,
    SensorTool,
    Setter,
    SwitchTool,
    ToolEntity,
)
from .risk import DISABLED_RISKS
from .risk_rules import risks_of
from .words import ANSWERS, LIGHTS, readable, words

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
# Last word of a measurement: device class and unit.
_MEASURED: Final = {
    "battery": ("battery", PERCENTAGE),
    "humidity": ("humidity", PERCENTAGE),
    "temperature": ("temperature", UnitOfTemperature.CELSIUS),
}
_PERCENT: Final = frozenset({"brightness", "duty", "level", "percent", "percentage", "volume"})


def map_tools(tools: Iterable[Tool]) -> tuple[ToolEntity, ...]:
    """Return descriptions of entities; every tool is part of exactly one."""
    mapper = _Mapper(tools)
    entities = [*mapper.lights(), *mapper.pairs(), *mapper.singles()]
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


def _key(name: str) -> str:
    return f"tool_{name}"


def _action(name: str, *, user_only: bool) -> ActionTool:
    return ActionTool(key=_key(name), tools=(name,), name=readable(name), user_only=user_only)


def _split(name: str) -> tuple[str, str]:
    """Return group and verb of a tool: `self.lamp` and `turn_on`."""
    group, _, verb = name.rpartition(".")
    return group, verb


class _Mapper:
    """Maps a list of tools; each mapped tool is taken out of the list."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._left = dict.fromkeys(self._tools)

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
        brightness = self._setter(f"{group}.set_brightness")
        state = self._pair_getter(group, "") if pair else None
        brightness_state = self._getter(f"{group}.get_brightness") if brightness else None
        names = self._take(on, off, colour, brightness, state, brightness_state)
        translation_key = next(filter(None, (stock_tool(name).translation_key for name in names)), None)
        return LightTool(
            key=f"light_{group}",
            tools=names,
            name=None if translation_key else readable(group),
            translation_key=translation_key,
            category=self._category(names),
            user_only=self._user_only(names),
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
        names = self._take(on, off, state)
        subject = f"{group}{suffix}"
        kind = LightTool if _is_light(subject) else SwitchTool
        return kind(
            **self._common(stock_tool(on), names, on if subject in {"", "self"} else subject, titled=False),
            on=Call(tool=on),
            off=Call(tool=off),
            state=Reading(tool=state) if state else None,
        )

    def _pair(self, group: str, suffix: str) -> tuple[str, str] | None:
        for first, second in _PAIRS:
            on, off = (_join(group, f"{verb}{suffix}") for verb in (first, second))
            if self._plain(on) and self._plain(off):
                return on, off
        return None

    def _pair_getter(self, group: str, suffix: str) -> str | None:
        names = (_join(group, pattern.format(suffix)) for pattern in _PAIR_GETTERS)
        return next((name for name in names if self._getter(name)), None)

    def singles(self) -> list[ToolEntity]:
        """Map the other tools, setters first: they may take their getters."""
        found: dict[str, ToolEntity] = {}
        names = sorted(self._left, key=lambda name: not self._tools[name].properties)
        for name in names:
            if name in self._left:
                found[name] = self._single(self._tools[name])
        return [found[name] for name in self._tools if name in found]

    def _single(self, tool: Tool) -> ToolEntity:
        stock = stock_tool(tool.name)
        makers: tuple[Callable[[Tool, StockTool], ToolEntity | None], ...]
        if stock.action_only:
            makers = ()
        elif not tool.properties:
            makers = (self._sensor, self._button)
        elif len(tool.properties) == 1:
            makers = (self._number_or_switch, self._select, self._button)
        else:
            makers = ()
        for make in makers:
            if (entity := make(tool, stock)) is not None:
                return entity
        del self._left[tool.name]
        return _action(tool.name, user_only=tool.user_only)

    def _sensor(self, tool: Tool, stock: StockTool) -> SensorTool | None:
        group, verb = _split(tool.name)
        if not ANSWERS.search(verb):
            return None
        subject = _join(group, ANSWERS.sub("", verb))
        device_class, unit = _MEASURED.get((words(subject) or [""])[-1], (None, None))
        common = self._common(stock, self._take(tool.name), subject)
        common["device_class"] = stock.device_class or device_class
        common["category"] = EntityCategory.DIAGNOSTIC
        # Reading costs the device's time and stops its microphone.
        common["enabled"] = False
        return SensorTool(
            **common,
            state=stock.state or Reading(tool=tool.name),
            unit=stock.unit or unit,
            options=stock.options,
        )

    def _number_or_switch(self, tool: Tool, stock: StockTool) -> ToolEntity | None:
        ((argument, kind),) = tool.properties.items()
        limits = _range(kind)
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
        low, high = limits
        return NumberTool(
            **self._common(stock, self._take(tool.name, state), subject),
            setter=Setter(
                tool=tool.name,
                argument=argument,
                minimum=low if stock.minimum is None else min(max(low, stock.minimum), high),
                maximum=high,
            ),
            unit=stock.unit or _unit(f"{subject}.{argument}", limits),
            state=state,
        )

    def _one_argument_switch(
        self, tool: Tool, stock: StockTool, argument: str, values: tuple[Any, Any]
    ) -> SwitchTool:
        state = self._state_of(tool, stock)
        on, off = values
        return SwitchTool(
            **self._common(stock, self._take(tool.name, state), _subject(tool.name)),
            on=Call(tool=tool.name, arguments={argument: on}),
            off=Call(tool=tool.name, arguments={argument: off}),
            state=state,
        )

    def _select(self, tool: Tool, stock: StockTool) -> SelectTool | None:
        ((argument, kind),) = tool.properties.items()
        options = stock.options or listed_texts(kind) or enumerated_texts(tool.description)
        if kind.kind != "string" or not options:
            return None
        state = self._state_of(tool, stock)
        return SelectTool(
            **self._common(stock, self._take(tool.name, state), _subject(tool.name)),
            tool=tool.name,
            argument=argument,
            options=options,
            state=state,
            momentary=stock.momentary or not (stock.options or _is_setter(tool, argument)),
        )

    def _button(self, tool: Tool, stock: StockTool) -> ButtonTool | None:
        # A tool with optional arguments can be a button, unless it is there to set an argument.
        if tool.required or any(_is_setter(tool, argument) for argument in tool.properties):
            return None
        if any(kind.kind == "string" for kind in tool.properties.values()):
            return None
        return ButtonTool(**self._common(stock, self._take(tool.name), tool.name), call=Call(tool=tool.name))

    def _common(
        self, stock: StockTool, names: tuple[str, ...], subject: str, *, titled: bool = True
    ) -> dict[str, Any]:
        """Return the fields of all kinds. With `titled`, the first tool's title, if any, is the name."""
        name = (titled and self._tools[names[0]].title) or readable(subject or names[0])
        user_only = self._user_only(names)
        judged = () if names[0] in CATALOGUE else names
        risks = {risk for name in judged for risk in risks_of(self._tools[name])}
        return {
            "key": stock.key or _key(names[0]),
            "tools": names,
            "name": None if stock.translation_key or stock.device_class else name,
            "translation_key": stock.translation_key,
            "device_class": stock.device_class,
            # By default, Home Assistant does not expose configuration entities to assistants.
            "category": stock.category or (EntityCategory.CONFIG if risks else self._category(names)),
            "enabled": risks.isdisjoint(DISABLED_RISKS) if stock.enabled is None else stock.enabled,
            "user_only": user_only,
        }

    def _category(self, names: Iterable[str]) -> EntityCategory | None:
        return EntityCategory.CONFIG if self._user_only(names) else None

    def _user_only(self, names: Iterable[str]) -> bool:
        return any(self._tools[name].user_only for name in names)

    def _state_of(self, tool: Tool, stock: StockTool) -> Reading | None:
        """Find the reading of the value that a tool sets."""
        if stock.state is not None and stock.state.tool in self._tools:
            return stock.state
        # Other firmware may have a getter for each value instead of the status tool.
        group, verb = _split(tool.name)
        name = self._getter(_join(group, f"get_{_SETS.sub('', verb, count=1)}"))
        return Reading(tool=name) if name else None

    def _plain(self, name: str) -> bool:
        """Whether an unmapped tool without arguments has this name."""
        return name in self._left and not self._tools[name].properties

    def _getter(self, name: str) -> str | None:
        return name if not stock_tool(name).action_only and self._plain(name) else None

    def _setter(self, name: str) -> Setter | None:
        """Find a setter for part of an entity; tools of the catalogue make entities of their own."""
        if name not in self._left or name in CATALOGUE:
            return None
        if len(properties := self._tools[name].properties) != 1:
            return None
        ((argument, kind),) = properties.items()
        limits = _range(kind)
        if limits is None or limits[0] < 0:
            return None
        return Setter(tool=name, argument=argument, minimum=limits[0], maximum=limits[1])

    def _take(self, *users: str | Colour | Reading | Setter | None) -> tuple[str, ...]:
        """Take tools out of the list, and return their names. The status tool stays, for all readings."""
        names = [user if isinstance(user, str) else user.tool for user in users if user]
        taken = tuple(name for name in names if name in self._left and not stock_tool(name).action_only)
        for name in taken:
            del self._left[name]
        return taken


def _join(group: str, verb: str) -> str:
    return f"{group}.{verb}" if group else verb


def _subject(name: str) -> str:
    """Return the name without the verb of setting."""
    group, verb = _split(name)
    return _join(group, _SETS.sub("", verb, count=1))


def _is_setter(tool: Tool, argument: str) -> bool:
    verb = _split(tool.name)[1]
    return bool(_SETS.match(verb)) or verb.lower() == argument.lower()


def _range(kind: ToolProperty) -> tuple[int, int] | None:
    """Return the limits of a whole number, if it has both."""
    if kind.kind != "integer" or kind.minimum is None or kind.maximum is None or kind.minimum >= kind.maximum:
        return None
    return kind.limits if kind.limits[0] < kind.limits[1] else None


def _unit(subject: str, limits: tuple[int, int]) -> str | None:
    found = set(words(subject))
    if "angle" in found:
        return DEGREE
    return PERCENTAGE if limits == (0, 100) and found & _PERCENT else None


def _is_light(subject: str) -> bool:
    found = words(subject)
    return not LIGHTS.isdisjoint(found) and "sensor" not in found
