"""Air conditioners, thermostats and heaters: the tools of one thing become one entity."""

from collections.abc import Mapping
import re
from typing import Any, Final

from homeassistant.components.climate import FAN_AUTO, FAN_HIGH, FAN_LOW, FAN_MEDIUM, HVACMode
from homeassistant.const import UnitOfTemperature

from .entities import Choice, ClimateTool, Reading, Setter
from .families import (
    Part,
    choice_of,
    families_of,
    power_of,
    reading_of_power,
    setters,
    wanted_and_measured,
)
from .measures import measure_of
from .pool import ToolPool, split
from .words import word_set, words

__all__ = ["hvac_mode_of", "map_climates"]


_HEATERS: Final = word_set("heater heating radiator")
_CLIMATES: Final = word_set("ac aircon climate conditioner hvac thermostat") | _HEATERS
_SETTERS: Final = setters(
    {
        Part.TARGET: "temperature|temp|target temperature|target temp|target|setpoint|set point",
        Part.FAN: "fan|fan speed|fan mode|fan level|fan gear|speed|wind|wind speed|gear|风量|风力",
    }
)
_QUANTITY: Final = ("temperature", "temp")
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


def hvac_mode_of(name: Any) -> HVACMode | None:
    """Return what a maker's name for a mode means, or None."""
    if not isinstance(name, str):
        return None
    plain = name.strip().lower().removesuffix("模式").removesuffix("mode").strip(" _-")
    return _MODES.get(re.sub(r"[\s-]+", "_", plain))


def map_climates(pool: ToolPool) -> list[ClimateTool]:
    """Map the tools of things that keep a room's temperature: a target, and modes or calls for on and off."""
    families = families_of(pool, _CLIMATES, _SETTERS)
    return [climate for thing, found in families.items() if (climate := _climate(pool, thing, found))]


def _climate(pool: ToolPool, thing: tuple[str, ...], found: Mapping[Part, str]) -> ClimateTool | None:
    target = pool.setter(found.get(Part.TARGET, ""))
    modes = choice_of(pool, found.get(Part.MODE))
    meanings = tuple(hvac_mode_of(option) for option in modes.options) if modes else ()
    if modes is None or None in meanings or len(set(meanings)) < len(meanings):
        # What Home Assistant has no mode for remains a choice of its own.
        modes, meanings = None, ()
    on, off = power_of(pool, found)
    unit = _unit(pool, target)
    if target is None or unit is None or not (on or modes) or target.maximum > _WARMEST[unit]:
        return None
    names = tuple(mode for mode in meanings if mode is not None)
    fan = _speeds(pool, found.get(Part.FAN))
    state = reading_of_power(pool, thing) if on else None
    mode_state = pool.reading((*thing, "mode")) if modes else None
    wanted, measured = wanted_and_measured(pool, thing, _QUANTITY)
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


def _speeds(pool: ToolPool, name: str | None) -> Choice | None:
    """Return the speeds of a fan, under Home Assistant's names as far as it has them."""
    if (choice := choice_of(pool, name)) is None:
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


def _fan_state(pool: ToolPool, thing: tuple[str, ...], fan: Choice | None) -> Reading | None:
    if fan is None:
        return None
    return pool.reading(*((*thing, *words(text)) for text, part in _SETTERS.items() if part is Part.FAN))
