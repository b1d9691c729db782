"""Maps tools to entities: stock tools by the catalogue, all others by their schemas.

| Arguments | Verb in the name | Entity |
|---|---|---|
| red, green and blue | any | light |
| none | on, and another tool for off | switch; a light if the name says so |
| one of several texts or named numbers | any | select |
| true or false, or 0 and 1 | set, or the name of the argument | switch |
| one whole number with limits | set, or the name of the argument | number |
| none | get | sensor, or one for each member of the answer |
| none | is, has | binary sensor |
| none, or all with defaults | any other | button |

A tool that reads what another one sets is the state of that entity. Nothing here depends on a board, and the
effect of a tool is not guessed: two tools that open and close something are two buttons. An entity's key
depends only on the names of its tools and of the members of an answer.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
import re
from typing import Final

from homeassistant.const import EntityCategory

from ..protocol.mcp.tool import Tool
from .answer_values import Member, MemberKind
from .arguments import about, choice_of, colour_of, is_setter, limits_of, on_off_of
from .stock_tools import CATALOGUE, StockTool, stock_tool
from .tool_entities import (
    ActionTool,
    BinarySensorTool,
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
from .tool_names import LIGHTS, Verb, join_name, parse_name, readable_name, word_set, words
from .tool_risks import risks_of
from .units import DEVICE_CLASSES, stated_unit

MAX_ENTITIES: Final = 128
"""Limit for one device; further tools can only be called by name."""
_NAMED_AFTER_GROUP: Final = frozenset({"turn_on", "switch_on", "power_on", "enable", "on"})
"""Tools of a lamp whose entity has the key of its group, as in the first versions."""
TOOL_PREFIX: Final = "tool_"
"""Prefix of the keys that are named after a tool."""
KEY_PREFIXES: Final = (TOOL_PREFIX, "light_")
"""Prefixes of all keys that depend on the device's names."""


_BRIGHTNESS: Final = ("brightness", "亮度")
# Names of readings of an on or off state.
_FLAG_READINGS: Final[tuple[tuple[Verb, tuple[str, ...]], ...]] = (
    (Verb.GET, ("state",)),
    (Verb.GET, ("power",)),
    (Verb.GET, ("status",)),
    (Verb.GET, ()),
    (Verb.IS, ("on",)),
    (Verb.IS, ("enabled",)),
    (Verb.IS, ()),
)
# Words of a tool or of a member that stand for the whole reading.
_WHOLE: Final = word_set("all data info on power reading readings sensor sensors state status value values")
# Readings that change, and so are worth polling. Others, such as the news, are off at first.
_CHANGING: Final = _WHOLE | word_set(
    "angle battery brightness capacity co2 count current direction distance energy gear height humidity ink",
    "level light load mode moisture noise paper percent percentage position pressure progress quality queue",
    "rate remaining rssi scene speed temp temperature timer voltage volume weight",
)
_CHANGING_CHINESE: Final = re.compile(
    "(?:亮度|位置|余量|强度|数值|数据|气压|水位|浓度|温度|湿度|电压|电量|电流|角度|距离|速度|音量|模式)$"
)
# Each reading costs the device's time and stops its microphone; the owner can switch on more.
_MAX_READ: Final = 16


def map_tools(
    tools: Iterable[Tool], shapes: Mapping[str, tuple[Member, ...]] | None = None
) -> tuple[ToolEntity, ...]:
    """Return descriptions of entities; every tool is part of one.

    A tool whose answer is an object, by `shapes`, may be part of several: each member is a state of its own.
    """
    return tuple(_Mapper(tools, shapes or {}).entities())


class _Mapper:
    def __init__(self, tools: Iterable[Tool], shapes: Mapping[str, tuple[Member, ...]]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._shapes = {
            name: shapes[name] for name in self._tools if name in shapes and name not in CATALOGUE
        }
        self._plain: dict[tuple[Verb, tuple[str, ...]], str] = {}
        """Tools without arguments, by verb and subject."""
        self._setters: dict[tuple[str, ...], str] = {}
        """Tools with one argument that set something."""
        self._members: dict[tuple[str, ...], Reading] = {}
        """Members of answers."""
        for name, tool in self._tools.items():
            self._note(name, tool)
        self._taken: set[str] = set()
        self._coloured: set[str] = set()
        """Groups that are lights by their colour."""
        self._read: set[tuple[str, str]] = set()
        """Members that are the state of an entity."""
        self._enabled = 0

    def _note(self, name: str, tool: Tool) -> None:
        parsed = parse_name(name)
        if not tool.properties:
            self._plain.setdefault((parsed.verb, parsed.subject), name)
        elif parsed.verb is Verb.SET and len(tool.properties) == 1 and name not in CATALOGUE:
            self._setters.setdefault(parsed.subject, name)
        whole = tuple(word for word in parsed.subject if word not in _WHOLE)
        for path, _ in self._shapes.get(name, ()):
            part = tuple(word for word in words(path) if word not in _WHOLE)
            subject = whole if part == whole[-len(part) :] else (*whole, *part)
            self._members.setdefault(subject, Reading(tool=name, member=path))

    def entities(self) -> list[ToolEntity]:
        """Map all tools. Setters come first, and take the tools that read their values."""
        made: dict[str, list[ToolEntity]] = {}
        for name in sorted(self._tools, key=self._rank):
            if name not in self._taken:
                made[name] = self._make(self._tools[name])
        return [entity for name in self._tools for entity in made.get(name, ())]

    def _rank(self, name: str) -> tuple[int, bool, str]:
        """Return the order of mapping: of the colours of a group, the one of all its parts comes first."""
        tool = self._tools[name]
        if colour_of(tool) is not None:
            return 0, "all" not in name, name
        return (1 if parse_name(name).verb is Verb.ON else 2 if tool.properties else 3), False, ""

    def _make(self, tool: Tool) -> list[ToolEntity]:
        stock = stock_tool(tool.name)
        found: Sequence[ToolEntity | None] = ()
        if stock.action_only:
            pass
        elif (colour := colour_of(tool)) is not None:
            found = (self._light(tool, colour),)
        elif tool.name in self._shapes and not tool.properties:
            found = self._sensors(tool)
        elif not tool.properties:
            found = (self._pair(tool) or self._sensor(tool, stock) or self._button(tool),)
        else:
            found = (self._setting(tool, stock) or self._button(tool),)
        self._taken.add(tool.name)
        entities = [self._complete(entity) for entity in found if entity is not None]
        name, key = readable_name(tool.name), _key(tool.name)
        return entities or [ActionTool(key=key, tools=(tool.name,), name=name, user_only=tool.user_only)]

    def _light(self, tool: Tool, colour: Colour) -> LightTool | None:
        """Return the light of a group by its colour; without a group, the coloured part is unknown."""
        group = parse_name(tool.name).group
        if not group or group in self._coloured:
            return None
        self._coloured.add(group)
        subject = parse_name(f"{group}.set").subject
        on, off = self._left(Verb.ON, subject), self._left(Verb.OFF, subject)
        if off is None:
            # Black is off.
            on = None
        return self._light_of(group, subject, on, off, colour)

    def _pair(self, tool: Tool) -> SwitchTool | LightTool | None:
        """Return the switch or the light that a tool and its opposite make."""
        parsed = parse_name(tool.name)
        off = self._left(Verb.OFF, parsed.subject)
        if parsed.verb is not Verb.ON or off is None:
            return None
        if "sensor" not in parsed.subject and ("灯" in parsed.named or not LIGHTS.isdisjoint(parsed.subject)):
            return self._light_of(parsed.named, parsed.subject, tool.name, off, None)
        state = self._flag_state(parsed.subject)
        return SwitchTool(
            key=_key(tool.name),
            tools=self._take(tool.name, off, state),
            name=readable_name(parsed.named if parsed.subject else tool.name),
            on=Call(tool=tool.name),
            off=Call(tool=off),
            state=state,
        )

    def _light_of(
        self, named: str, subject: tuple[str, ...], on: str | None, off: str | None, colour: Colour | None
    ) -> LightTool:
        setter = next((found for word in _BRIGHTNESS if (found := self._setter((*subject, word)))), None)
        state = self._flag_state(subject) if off else None
        level = self._value_state(parse_name(setter.tool).subject) if setter else None
        coloured, dimmed = colour.tool if colour else None, setter.tool if setter else None
        names = self._take(on, off, coloured, dimmed, state, level)
        of_group = colour is not None or names[0].rpartition(".")[2] in _NAMED_AFTER_GROUP
        return LightTool(
            key=f"light_{named}" if of_group else _key(names[0]),
            tools=names,
            name=readable_name(named if subject or not coloured else parse_name(coloured).rest or coloured),
            on=Call(tool=on) if on else None,
            off=Call(tool=off) if off else None,
            colour=colour,
            brightness=setter,
            state=state,
            brightness_state=level,
        )

    def _setting(self, tool: Tool, stock: StockTool) -> SwitchTool | SelectTool | NumberTool | None:
        """Return the switch, the select or the number of a tool's argument."""
        if (argument := _argument(tool, stock)) is None:
            return None
        parsed, sets = parse_name(tool.name), is_setter(tool, argument)
        key, name = _key(tool.name), _label(tool, parsed.named if parsed.verb is Verb.SET else tool.name)
        state, limits = self._known_state(stock), limits_of(tool.properties[argument])
        if (on_off := stock.on_off or on_off_of(tool, argument)) is not None:
            state = state or self._flag_state(parsed.subject)
            on, off = (Call(tool=tool.name, arguments={argument: value}) for value in on_off)
            names = self._take(tool.name, state)
            return SwitchTool(key=key, tools=names, name=name, on=on, off=off, state=state)
        if (choice := choice_of(tool, argument, stock)) is not None:
            state = state or self._value_state(parsed.subject)
            names, momentary = self._take(tool.name, state), stock.momentary or not (stock.options or sets)
            return SelectTool(
                key=key,
                tools=names,
                name=name,
                choice=choice,
                state=state,
                default=stock.default,
                momentary=momentary,
            )
        if limits is None or not sets:
            return None
        state = state or self._value_state(parsed.subject)
        setter = Setter(tool=tool.name, argument=argument, minimum=limits[0], maximum=limits[1])
        unit = stock.unit or (None if tool.name in CATALOGUE else stated_unit(about(tool, argument)))
        names = self._take(tool.name, state)
        return NumberTool(key=key, tools=names, name=name, setter=setter, unit=unit, state=state)

    def _button(self, tool: Tool) -> ButtonTool | None:
        # A tool with optional arguments can be a button, unless it sets an argument.
        if tool.required or any(is_setter(tool, argument) for argument in tool.properties):
            return None
        if any(kind.kind not in {"boolean", "integer", "number"} for kind in tool.properties.values()):
            return None
        key, names, name = _key(tool.name), self._take(tool.name), _label(tool, tool.name)
        return ButtonTool(key=key, tools=names, name=name, call=Call(tool=tool.name))

    def _sensor(self, tool: Tool, stock: StockTool) -> SensorTool | BinarySensorTool | None:
        """Return the sensor of a tool that answers with one value, or whose answer is unknown."""
        parsed = parse_name(tool.name)
        if parsed.verb not in {Verb.GET, Verb.IS}:
            return None
        key, names, name = _key(tool.name), self._take(tool.name), _label(tool, parsed.named)
        state = stock.state or Reading(tool=tool.name)
        if tool.name in CATALOGUE:
            options = stock.options
            return SensorTool(key=key, tools=names, name=name, state=state, unit=stock.unit, options=options)
        if parsed.verb is Verb.IS:
            return BinarySensorTool(key=key, tools=names, name=name, state=state)
        unit = stated_unit(tool.description)
        sensor = SensorTool(
            key=key, tools=names, name=name, state=state, unit=unit, measured=unit is not None
        )
        return replace(sensor, device_class=DEVICE_CLASSES.get(unit or ""))

    def _sensors(self, tool: Tool) -> list[ToolEntity]:
        """Return the sensors of the members of an answer that are not the state of another entity."""
        group, tools = parse_name(tool.name).group, (tool.name,)
        found: list[ToolEntity] = []
        for path, kind in self._shapes[tool.name]:
            if (tool.name, path) in self._read:
                continue
            key, name = f"{_key(tool.name)}#{path}", readable_name(join_name(group, path))
            state, measured = Reading(tool=tool.name, member=path), kind is MemberKind.NUMBER
            if kind is MemberKind.FLAG:
                found.append(BinarySensorTool(key=key, tools=tools, name=name, state=state))
            else:
                found.append(SensorTool(key=key, tools=tools, name=name, state=state, measured=measured))
        return found

    def _complete(self, entity: ToolEntity) -> ToolEntity:
        """Return an entity with the facts of the catalogue, its category and its default state."""
        tools = [self._tools[name] for name in entity.tools]
        known = [*map(stock_tool, entity.tools)]
        stock = next((each for each in known if each.translation_key), known[0])
        is_stock = tools[0].name in CATALOGUE
        # The catalogue has it for stock tools.
        risky = not is_stock and any(map(risks_of, tools))
        user_only = any(tool.user_only for tool in tools)
        # By default, Home Assistant does not expose configuration entities to assistants.
        category = stock.category or (EntityCategory.CONFIG if risky or user_only else None)
        enabled = not risky if stock.enabled is None else stock.enabled
        if isinstance(entity, SensorTool | BinarySensorTool):
            # Home Assistant has no sensors for configuration.
            measured = not is_stock and entity.measured
            category = None if measured and not user_only else EntityCategory.DIAGNOSTIC
            enabled = enabled and not is_stock and (measured or _is_changing(entity.state))
            enabled = enabled and self._enabled < _MAX_READ
            self._enabled += enabled
        return replace(
            entity,
            key=stock.key or entity.key,
            name=None if stock.translation_key or stock.device_class else entity.name,
            translation_key=stock.translation_key,
            device_class=stock.device_class or entity.device_class,
            category=category,
            enabled=enabled,
            user_only=user_only,
        )

    def _known_state(self, stock: StockTool) -> Reading | None:
        return stock.state if stock.state is not None and stock.state.tool in self._tools else None

    def _left(self, verb: Verb, subject: tuple[str, ...]) -> str | None:
        """Return the name of an unused tool without arguments, by verb and subject."""
        name = self._plain.get((verb, subject))
        return None if name is None or name in self._taken or stock_tool(name).action_only else name

    def _setter(self, subject: tuple[str, ...]) -> Setter | None:
        """Find a setter for part of an entity; tools of the catalogue make entities of their own."""
        name = self._setters.get(subject)
        if name is None or name in self._taken:
            return None
        ((argument, kind),) = self._tools[name].properties.items()
        limits = limits_of(kind)
        if limits is None or limits[0] < 0:
            return None
        return Setter(tool=name, argument=argument, minimum=limits[0], maximum=limits[1])

    def _value_state(self, subject: tuple[str, ...]) -> Reading | None:
        name = self._left(Verb.GET, subject)
        if name is not None and name not in self._shapes:
            return Reading(tool=name)
        return self._members.get(subject)

    def _flag_state(self, subject: tuple[str, ...]) -> Reading | None:
        for verb, more in _FLAG_READINGS:
            name = self._left(verb, (*subject, *more))
            if name is not None and name not in self._shapes:
                return Reading(tool=name)
        return self._members.get(tuple(word for word in subject if word not in _WHOLE))

    def _take(self, *used: str | Reading | None) -> tuple[str, ...]:
        """Take tools, and return their names. The status tool and one with several readings stay."""
        names: list[str] = []
        for each in used:
            match each:
                case str(name):
                    names.append(name)
                case Reading(tool=tool, member=str(member)) if tool in self._shapes:
                    self._read.add((tool, member))
                case Reading(tool=tool) if not stock_tool(tool).action_only:
                    names.append(tool)
        self._taken.update(names)
        return tuple(dict.fromkeys(names))


def _argument(tool: Tool, stock: StockTool) -> str | None:
    """Return the argument that a tool sets: its only one, or that of the catalogue if no other is needed."""
    if len(tool.properties) > 1 and (tool.required or not stock.argument):
        return None
    argument = stock.argument or next(iter(tool.properties))
    return argument if argument in tool.properties else None


def _key(name: str) -> str:
    return f"{TOOL_PREFIX}{name}"


def _label(tool: Tool, named: str) -> str:
    """Return the name of the entity that a tool alone makes."""
    return tool.title or readable_name(named or tool.name)


def _is_changing(reading: Reading) -> bool:
    """Whether a reading changes, by its name."""
    parsed = parse_name(reading.tool)
    subject = words(reading.member) if reading.member else parsed.subject
    if not (reading.member or parsed.rest):
        return True
    return bool(subject) and (subject[-1] in _CHANGING or _CHANGING_CHINESE.search(subject[-1]) is not None)
