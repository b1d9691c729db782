"""Air conditioners, thermostats and heaters: the tools of one thing become one entity."""

from collections.abc import Mapping
from enum import StrEnum
import re
from typing import Any, Final

from homeassistant.components.climate import FAN_AUTO, FAN_HIGH, FAN_LOW, FAN_MEDIUM, HVACMode
from homeassistant.const import UnitOfTemperature

from .catalogue import CATALOGUE, StockTool
from .choices import choices_of
from .entities import Call, Choice, ClimateTool, Reading, Setter
from .measures import measure_of
from .parsing import parse
from .pool import ToolPool, limits_of, split
from .words import word_set, words

__all__ = ["hvac_mode_of", "map_climates"]


class _Part(StrEnum):
    """What a tool of an air conditioner does."""

    ON = "on"
    OFF = "off"
    POWER = "power"
    MODE = "mode"
    TARGET = "target"
    FAN = "fan"


_HEATERS: Final = word_set("heater heating radiator")
_CLIMATES: Final = word_set("ac aircon climate conditioner hvac thermostat") | _HEATERS
# By the words behind those of the thing, in the tool's name.
_CALLS: Final = {
    ("on", ""): _Part.ON,
    ("open", ""): _Part.ON,
    ("start", ""): _Part.ON,
    ("off", ""): _Part.OFF,
    ("close", ""): _Part.OFF,
    ("stop", ""): _Part.OFF,
    ("", "shutdown"): _Part.OFF,
}
_SETTERS: Final = {
    text: part
    for part, texts in {
        _Part.POWER: "|power|switch|on|state|power state",
        _Part.MODE: "mode|work mode|working mode|operation mode|operating mode|工作 mode|运行 mode",
        _Part.TARGET: "temperature|temp|target temperature|target temp|target|setpoint|set point",
        _Part.FAN: "fan|fan speed|fan mode|fan level|fan gear|speed|wind|wind speed|gear|风量|风力",
    }.items()
    for text in texts.split("|")
}
_POWERS: Final = (("on",), ("power",), ("switch",), ())
_TARGETS: Final = (
    ("target", "temperature"),
    ("target", "temp"),
    ("target",),
    ("setpoint",),
    ("set", "point"),
)
_AROUND: Final = tuple(
    (where, what)
    for where in ("room", "indoor", "ambient", "current", "inside")
    for what in ("temperature", "temp")
)
_PLAIN: Final = (("temperature",), ("temp",))
_SAYS_TARGET: Final = re.compile(r"target|set|desired|目标|设定|设置", re.IGNORECASE)
_SAYS_CURRENT: Final = re.compile(
    r"current|room|ambient|indoor|measured|当前|环境|室内|室温|实时", re.IGNORECASE
)
# A water heater or an oven is no room.
_WARMEST: Final = {UnitOfTemperature.CELSIUS: 45, UnitOfTemperature.FAHRENHEIT: 113}
# More speeds are a scale.
_MAX_SPEEDS: Final = 10
_END_OF_NAME: Final = re.compile("空调|温控器|地暖|暖气|取暖器|电暖器|加热器")

_MODES: Final = {
    text: mode
    for mode, texts in {
        HVACMode.OFF: "off 关 关闭 关机",
        HVACMode.COOL: "cool cooling cold 制冷 冷 冷风 冷气",
        HVACMode.HEAT: "heat heating warm hot 制热 热 热风 暖气 加热",
        HVACMode.DRY: "dry drying dehumidify dehumidification 除湿 抽湿 干燥",
        HVACMode.FAN_ONLY: "fan fanonly fan_only wind vent ventilate ventilation 送风 通风 吹风",
        HVACMode.AUTO: "auto automatic smart 自动 智能",
        HVACMode.HEAT_COOL: "heat_cool heatcool 冷暖",
    }.items()
    for text in texts.split()
}
_SPEEDS: Final = {
    text: speed
    for speed, texts in {
        FAN_AUTO: "auto automatic 自动",
        FAN_LOW: "low 低 低速 低风 小 小风 弱 弱风",
        FAN_MEDIUM: "medium mid middle 中 中速 中风",
        FAN_HIGH: "high 高 高速 高风 大 大风 强 强风",
    }.items()
    for text in texts.split()
}
_NO_STOCK: Final = StockTool()


def hvac_mode_of(name: Any) -> HVACMode | None:
    """Return what a maker's name for a mode means, or None."""
    if not isinstance(name, str):
        return None
    plain = name.strip().lower().removesuffix("模式").removesuffix("mode").strip(" _-")
    return _MODES.get(re.sub(r"[\s-]+", "_", plain))


def map_climates(pool: ToolPool) -> list[ClimateTool]:
    """Map the tools of things that keep a room's temperature: a target, and modes or calls for on and off."""
    things: dict[tuple[str, ...], dict[_Part, str]] = {}
    for name in pool.left:
        if name in CATALOGUE:
            continue
        parsed = parse(name)
        thing, rest = _thing_of(parsed.subject)
        part = _SETTERS.get(rest) if pool.tools[name].properties else _CALLS.get((parsed.action, rest))
        if thing and part is not None and parsed.action not in {"get", "is"}:
            things.setdefault(thing, {}).setdefault(part, name)
    return [climate for thing, found in things.items() if (climate := _climate(pool, thing, found))]


def _thing_of(subject: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the words of a thing that is known here, if any, and the words behind them."""
    at = next((index for index, word in enumerate(subject) if word in _CLIMATES), None)
    if at is None:
        return (), ""
    return subject[: at + 1], " ".join(word for word in subject[at + 1 :] if word not in _CLIMATES)


def _climate(pool: ToolPool, thing: tuple[str, ...], found: Mapping[_Part, str]) -> ClimateTool | None:
    target = pool.setter(found.get(_Part.TARGET, ""))
    modes = _choice(pool, found.get(_Part.MODE))
    meanings = tuple(hvac_mode_of(option) for option in modes.options) if modes else ()
    if modes is None or None in meanings or len(set(meanings)) < len(meanings):
        # What Home Assistant has no mode for remains a choice of its own.
        modes, meanings = None, ()
    on, off = _power(pool, found)
    unit = _unit(pool, target)
    if target is None or unit is None or not (on or modes) or target.maximum > _WARMEST[unit]:
        return None
    names = tuple(mode for mode in meanings if mode is not None)
    fan = _speeds(pool, found.get(_Part.FAN))
    state = pool.reading(*((*thing, *more) for more in _POWERS)) if on else None
    mode_state = pool.reading((*thing, "mode")) if modes else None
    wanted, measured = _temperatures(pool, thing)
    fan_state = _fan_state(pool, thing, fan)
    taken = pool.take(*(on, off, modes, target, fan), *(state, mode_state, wanted, measured, fan_state))
    common = pool.common_of_thing(taken, thing, "Climate")
    # Of 设置空调模式 and 空调.开关, only the thing.
    for text in (common["name"], split(taken[0])[0]):
        if (end := _END_OF_NAME.search(text)) is not None:
            common["name"] = text[: end.end()]
            break
    return ClimateTool(
        **common,
        on=on,
        off=off,
        modes=modes,
        hvac_modes=names,
        running=HVACMode.AUTO if _HEATERS.isdisjoint(thing) else HVACMode.HEAT,
        target=target,
        unit=unit,
        fan=fan,
        state=state,
        mode_state=mode_state,
        target_state=wanted,
        current_state=measured,
        fan_state=fan_state,
    )


def _power(pool: ToolPool, found: Mapping[_Part, str]) -> tuple[Call | None, Call | None]:
    """Return the calls for on and off; both or none."""
    if _Part.ON in found and _Part.OFF in found:
        return Call(tool=found[_Part.ON]), Call(tool=found[_Part.OFF])
    if (name := found.get(_Part.POWER)) is None or len(properties := pool.tools[name].properties) != 1:
        return None, None
    ((argument, kind),) = properties.items()
    values: tuple[Any, Any] | None = None
    if kind.kind == "boolean":
        values = (True, False)
    elif limits_of(kind) == (0, 1):
        values = (1, 0)
    elif (choice := _choice(pool, name)) and {*choice.options} == {"on", "off"}:
        values = ("on", "off")
    if values is None:
        return None, None
    on, off = (Call(tool=name, arguments={argument: value}) for value in values)
    return on, off


def _choice(pool: ToolPool, name: str | None) -> Choice | None:
    """Return the choice that a tool with one argument offers."""
    if name is None or len(properties := pool.tools[name].properties) != 1:
        return None
    (argument,) = properties
    options, values = choices_of(pool.tools[name], argument, _NO_STOCK)
    return Choice(tool=name, argument=argument, options=options, values=values) if options else None


def _speeds(pool: ToolPool, name: str | None) -> Choice | None:
    """Return the speeds of a fan, under Home Assistant's names as far as it has them."""
    if (choice := _choice(pool, name)) is None:
        setter = pool.setter(name or "")
        if setter is None or setter.maximum - setter.minimum >= _MAX_SPEEDS:
            return None
        speeds = tuple(range(setter.minimum, setter.maximum + 1))
        return Choice(
            tool=setter.tool, argument=setter.argument, options=tuple(map(str, speeds)), values=speeds
        )
    named = tuple(_SPEEDS.get(option.lower(), option) for option in choice.options)
    if len(set(named)) < len(named):
        return choice
    sent = choice.values or choice.options
    return Choice(tool=choice.tool, argument=choice.argument, options=named, values=sent)


def _unit(pool: ToolPool, target: Setter | None) -> UnitOfTemperature | None:
    if target is None:
        return None
    said = measure_of(("temperature",), pool.tools[target.tool].description)
    is_fahrenheit = said is not None and said.unit == UnitOfTemperature.FAHRENHEIT
    return UnitOfTemperature.FAHRENHEIT if is_fahrenheit else UnitOfTemperature.CELSIUS


def _temperatures(pool: ToolPool, thing: tuple[str, ...]) -> tuple[Reading | None, Reading | None]:
    """Find where the wanted and the measured temperature are read."""
    wanted = pool.reading(*((*thing, *more) for more in _TARGETS))
    measured = pool.reading(*((*thing, *more) for more in _AROUND))
    plain = pool.reading(*((*thing, *more) for more in _PLAIN))
    if plain is None:
        return wanted, measured
    said = plain.member or f"{plain.tool} {pool.tools[plain.tool].description}"
    if measured is None and (
        wanted is not None or (_SAYS_CURRENT.search(said) and not _SAYS_TARGET.search(said))
    ):
        return wanted, plain
    return wanted or plain, measured


def _fan_state(pool: ToolPool, thing: tuple[str, ...], fan: Choice | None) -> Reading | None:
    if fan is None:
        return None
    return pool.reading(*((*thing, *words(text)) for text, part in _SETTERS.items() if part is _Part.FAN))
