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

A tool that reads what another one sets is the state of that entity. Nothing here depends on a board, and
nothing is guessed about what a tool does in the world: two tools that open and close something are two
buttons. An entity's key depends only on the names of its tools and of the members of an answer.
"""

from collections.abc import Iterable, Mapping
import re
from typing import Any, Final

from homeassistant.const import EntityCategory

from ..protocol.mcp.tool import Tool
from .answer_values import Member, MemberKind
from .arguments import about, choices_of, colour_of, is_setter, limits_of, on_off_of
from .catalogue import CATALOGUE, StockTool, stock_tool
from .entity_descriptions import (
    ActionTool,
    BinarySensorTool,
    ButtonTool,
    Call,
    Choice,
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
from .tool_names import LIGHTS, Action, parse, readable, word_set, words
from .tool_risks import risks_of
from .units import DEVICE_CLASSES, stated_unit

MAX_ENTITIES: Final = 128
"""Limit for one device; further tools can only be called by name."""
TOOL_PREFIX: Final = "tool_"
"""Prefix of the keys that are named after a tool."""
KEY_PREFIXES: Final = (TOOL_PREFIX, "light_")
"""Prefixes of all keys that depend on the device's names."""

type Shapes = Mapping[str, tuple[Member, ...]]
"""By the names of tools that answer with an object: its members."""
type Subject = tuple[str, ...]

# The first versions named the entities of a group's lamp after the group, if its tools were called so.
_NAMED_AFTER_GROUP: Final = frozenset({"turn_on", "switch_on", "power_on", "enable", "on"})
_BRIGHTNESS: Final = ("brightness", "亮度")
# Where it is read whether something is on.
_FLAG_READINGS: Final[tuple[tuple[Action, Subject], ...]] = (
    (Action.GET, ("state",)),
    (Action.GET, ("power",)),
    (Action.GET, ("status",)),
    (Action.GET, ()),
    (Action.IS, ("on",)),
    (Action.IS, ("enabled",)),
    (Action.IS, ()),
)
# Words of a tool or of a member that stand for all that is read.
_WHOLE: Final = word_set("all data info on power reading readings sensor sensors state status value values")
# Readings that change, so that they are worth asking for. Others, such as the news, are off at first.
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


def map_tools(tools: Iterable[Tool], shapes: Shapes | None = None) -> tuple[ToolEntity, ...]:
    """Return descriptions of entities; every tool is part of one.

    A tool whose answer is an object, by `shapes`, may be part of several: each member is a state of its own.
    """
    return tuple(_Mapper(tools, shapes or {}).entities())


class _Mapper:
    """Maps a list of tools once."""

    def __init__(self, tools: Iterable[Tool], shapes: Shapes) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._shapes = {
            name: shapes[name] for name in self._tools if name in shapes and name not in CATALOGUE
        }
        self._plain: dict[tuple[Action, Subject], str] = {}
        """Tools without arguments, by what they do to what."""
        self._setters: dict[Subject, str] = {}
        """Tools with one argument that set something."""
        self._members: dict[Subject, Reading] = {}
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
        parsed = parse(name)
        if not tool.properties:
            self._plain.setdefault((parsed.action, parsed.subject), name)
        elif parsed.action is Action.SET and len(tool.properties) == 1 and name not in CATALOGUE:
            self._setters.setdefault(parsed.subject, name)
        whole = tuple(word for word in parsed.subject if word not in _WHOLE)
        for path, _ in self._shapes.get(name, ()):
            part = tuple(word for word in words(path) if word not in _WHOLE)
            subject = whole if part == whole[-len(part) :] else (*whole, *part)
            self._members.setdefault(subject, Reading(tool=name, member=path))

    def entities(self) -> list[ToolEntity]:
        """Map all tools. What sets something comes first, and takes the tools that read it."""
        made: dict[str, list[ToolEntity]] = {}
        for name in sorted(self._tools, key=self._rank):
            if name not in self._taken:
                made[name] = self._make(self._tools[name])
        return [entity for name in self._tools for entity in made.get(name, ())]

    def _rank(self, name: str) -> tuple[int, bool, str]:
        """Return the order of mapping: of the colours of a group, first that of all its parts."""
        tool = self._tools[name]
        if colour_of(tool) is not None:
            return 0, "all" not in name, name
        return (1 if parse(name).action is Action.ON else 2 if tool.properties else 3), False, ""

    def _make(self, tool: Tool) -> list[ToolEntity]:
        """Return the entities of a tool that is left, by the table above."""
        stock = stock_tool(tool.name)
        found: ToolEntity | None = None
        if stock.action_only:
            pass
        elif (colour := colour_of(tool)) is not None:
            found = self._light(tool, colour)
        elif tool.name in self._shapes and not tool.properties:
            return self._sensors(tool) or [_action(tool.name, user_only=tool.user_only)]
        elif not tool.properties:
            found = self._pair(tool, stock) or self._sensor(tool, stock) or self._button(tool, stock)
        else:
            found = self._setting(tool, stock) or self._button(tool, stock)
        self._taken.add(tool.name)
        return [found or _action(tool.name, user_only=tool.user_only)]

    def _light(self, tool: Tool, colour: Colour) -> LightTool | None:
        """Return the light of a group by its colour; without a group, it is unknown what is coloured."""
        group = parse(tool.name).group
        if not group or group in self._coloured:
            return None
        self._coloured.add(group)
        subject = parse(f"{group}.set").subject
        on, off = self._left(Action.ON, subject), self._left(Action.OFF, subject)
        if on is None or off is None:
            on = off = None
        return self._light_of(group, subject, on, off, colour)

    def _pair(self, tool: Tool, stock: StockTool) -> ToolEntity | None:
        """Return the switch or the light that a tool and its opposite make."""
        parsed = parse(tool.name)
        off = self._left(Action.OFF, parsed.subject)
        if parsed.action is not Action.ON or off is None:
            return None
        named = _join(parsed.group, parsed.rest)
        if "sensor" not in parsed.subject and ("灯" in named or not LIGHTS.isdisjoint(parsed.subject)):
            return self._light_of(named, parsed.subject, tool.name, off, None)
        state = self._flag_state(parsed.subject)
        names = self._take(tool.name, off, state)
        common = self._common(stock, names, named if parsed.subject else tool.name, titled=False)
        return SwitchTool(**common, on=Call(tool=tool.name), off=Call(tool=off), state=state)

    def _light_of(
        self, named: str, subject: Subject, on: str | None, off: str | None, colour: Colour | None
    ) -> LightTool:
        setter = next((found for word in _BRIGHTNESS if (found := self._setter((*subject, word)))), None)
        state = self._flag_state(subject) if on else None
        level = self._value_state(parse(setter.tool).subject) if setter else None
        coloured, dimmed = colour.tool if colour else None, setter.tool if setter else None
        names = self._take(on, off, coloured, dimmed, state, level)
        stock = next((each for each in map(stock_tool, names) if each.translation_key), stock_tool(""))
        common = self._common(stock, names, named, titled=False)
        if colour is not None or names[0].rpartition(".")[2] in _NAMED_AFTER_GROUP:
            common["key"] = f"light_{named}"
        return LightTool(
            **common,
            on=Call(tool=on) if on else None,
            off=Call(tool=off) if off else None,
            colour=colour,
            brightness=setter,
            state=state,
            brightness_state=level,
        )

    def _setting(self, tool: Tool, stock: StockTool) -> ToolEntity | None:
        """Return the switch, the select or the number of a tool's argument."""
        argument = stock.argument or next(iter(tool.properties))
        if argument not in tool.properties or (
            len(tool.properties) > 1 and (tool.required or not stock.argument)
        ):
            return None
        parsed, sets, limits = (
            parse(tool.name),
            is_setter(tool, argument),
            limits_of(tool.properties[argument]),
        )
        named = _join(parsed.group, parsed.rest) if parsed.action is Action.SET else tool.name
        if (on_off := stock.on_off or on_off_of(tool, argument)) is not None:
            state = self._known_state(stock) or self._flag_state(parsed.subject)
            on, off = (Call(tool=tool.name, arguments={argument: value}) for value in on_off)
            common = self._common(stock, self._take(tool.name, state), named)
            return SwitchTool(**common, on=on, off=off, state=state)
        if (choices := choices_of(tool, argument, stock)) is not None:
            state = self._known_state(stock) or self._value_state(parsed.subject)
            return SelectTool(
                **self._common(stock, self._take(tool.name, state), named),
                choice=Choice(tool=tool.name, argument=argument, options=choices[0], values=choices[1]),
                state=state,
                momentary=stock.momentary or not (stock.options or sets),
            )
        if limits is None or not sets:
            return None
        state = self._known_state(stock) or self._value_state(parsed.subject)
        return NumberTool(
            **self._common(stock, self._take(tool.name, state), named),
            setter=Setter(tool=tool.name, argument=argument, minimum=limits[0], maximum=limits[1]),
            unit=stock.unit or (None if tool.name in CATALOGUE else stated_unit(about(tool, argument))),
            state=state,
        )

    def _button(self, tool: Tool, stock: StockTool) -> ButtonTool | None:
        # A tool with optional arguments can be a button, unless it is there to set an argument.
        if tool.required or any(is_setter(tool, argument) for argument in tool.properties):
            return None
        if any(kind.kind in {"string", "unknown"} for kind in tool.properties.values()):
            return None
        common = self._common(stock, self._take(tool.name), tool.name)
        return ButtonTool(**common, call=Call(tool=tool.name))

    def _sensor(self, tool: Tool, stock: StockTool) -> ToolEntity | None:
        """Return the sensor of a tool that answers with one value, as far as is known."""
        parsed = parse(tool.name)
        if parsed.action not in {Action.GET, Action.IS}:
            return None
        common = self._common(stock, self._take(tool.name), _join(parsed.group, parsed.rest))
        if tool.name in CATALOGUE:
            common |= {"category": EntityCategory.DIAGNOSTIC, "enabled": False}
            state = stock.state or Reading(tool=tool.name)
            return SensorTool(**common, state=state, unit=stock.unit, options=stock.options)
        state = Reading(tool=tool.name)
        if parsed.action is Action.IS:
            return BinarySensorTool(**self._of_reading(common, shown=True, wanted=True), state=state)
        unit = stated_unit(tool.description)
        wanted = unit is not None or not parsed.rest or _is_changing(parsed.subject)
        common = self._of_reading(common, shown=unit is not None, wanted=wanted)
        common["device_class"] = DEVICE_CLASSES.get(unit or "")
        return SensorTool(**common, state=state, unit=unit, measured=unit is not None)

    def _sensors(self, tool: Tool) -> list[ToolEntity]:
        """Return the sensors of the members of an answer that are not the state of another entity."""
        found: list[ToolEntity] = []
        for path, kind in self._shapes[tool.name]:
            if (tool.name, path) in self._read:
                continue
            named = _join(parse(tool.name).group, path)
            common = self._common(stock_tool(""), (tool.name,), named, titled=False)
            common["key"] = f"{_key(tool.name)}#{path}"
            text = kind is MemberKind.TEXT
            wanted = not text or _is_changing(tuple(words(path)))
            common = self._of_reading(common, shown=not text, wanted=wanted)
            reading = Reading(tool=tool.name, member=path)
            if kind is MemberKind.FLAG:
                found.append(BinarySensorTool(**common, state=reading))
            else:
                found.append(SensorTool(**common, state=reading, measured=kind is MemberKind.NUMBER))
        return found

    def _of_reading(self, common: dict[str, Any], *, shown: bool, wanted: bool) -> dict[str, Any]:
        """Return the fields of a sensor, which is on only if `wanted`, and diagnostic if it is not `shown`.

        Home Assistant has no sensors for configuration.
        """
        enabled = common["enabled"] and wanted and self._enabled < _MAX_READ
        self._enabled += enabled
        diagnostic = not shown or common["user_only"]
        return common | {"enabled": enabled, "category": EntityCategory.DIAGNOSTIC if diagnostic else None}

    def _known_state(self, stock: StockTool) -> Reading | None:
        return stock.state if stock.state is not None and stock.state.tool in self._tools else None

    def _left(self, action: Action, subject: Subject) -> str | None:
        """Return the name of a tool without arguments that is left, and does this."""
        name = self._plain.get((action, subject))
        return None if name is None or name in self._taken or stock_tool(name).action_only else name

    def _setter(self, subject: Subject) -> Setter | None:
        """Find a setter for part of an entity; tools of the catalogue make entities of their own."""
        name = self._setters.get(subject)
        if name is None or name in self._taken:
            return None
        ((argument, kind),) = self._tools[name].properties.items()
        limits = limits_of(kind)
        if limits is None or limits[0] < 0:
            return None
        return Setter(tool=name, argument=argument, minimum=limits[0], maximum=limits[1])

    def _value_state(self, subject: Subject) -> Reading | None:
        """Find where the value of something is read."""
        name = self._left(Action.GET, subject)
        if name is not None and name not in self._shapes:
            return Reading(tool=name)
        return self._members.get(subject)

    def _flag_state(self, subject: Subject) -> Reading | None:
        """Find where it is read whether something is on."""
        for action, more in _FLAG_READINGS:
            name = self._left(action, (*subject, *more))
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

    def _common(
        self, stock: StockTool, names: tuple[str, ...], named: str, *, titled: bool = True
    ) -> dict[str, Any]:
        """Return the fields of all kinds. With `titled`, the first tool's title, if any, is the name."""
        # The catalogue says it of stock tools.
        risky = names[0] not in CATALOGUE and any(risks_of(self._tools[name]) for name in names)
        user_only = any(self._tools[name].user_only for name in names)
        title = self._tools[names[0]].title if titled else None
        # By default, Home Assistant does not expose configuration entities to assistants.
        is_config = risky or user_only
        return {
            "key": stock.key or _key(names[0]),
            "tools": names,
            "name": None
            if stock.translation_key or stock.device_class
            else title or readable(named or names[0]),
            "translation_key": stock.translation_key,
            "device_class": stock.device_class,
            "category": stock.category or (EntityCategory.CONFIG if is_config else None),
            "enabled": not risky if stock.enabled is None else stock.enabled,
            "user_only": user_only,
        }


def _action(name: str, *, user_only: bool) -> ActionTool:
    return ActionTool(key=_key(name), tools=(name,), name=readable(name), user_only=user_only)


def _key(name: str) -> str:
    """Return the key of the entity whose first tool has this name."""
    return f"{TOOL_PREFIX}{name}"


def _join(group: str, rest: str) -> str:
    return ".".join(filter(None, (group, rest)))


def _is_changing(subject: Subject) -> bool:
    return bool(subject) and (subject[-1] in _CHANGING or _CHANGING_CHINESE.search(subject[-1]) is not None)
