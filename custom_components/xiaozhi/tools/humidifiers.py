"""Humidifiers and dehumidifiers: the tools of one thing become one entity."""

from collections.abc import Mapping
from typing import Final

from homeassistant.components.humidifier import HumidifierDeviceClass

from .entities import HumidifierTool
from .families import (
    Part,
    choice_of,
    families_of,
    power_of,
    reading_of_power,
    setters,
    wanted_and_measured,
)
from .pool import ToolPool

__all__ = ["map_humidifiers"]

_KINDS: Final = {
    "humidifier": HumidifierDeviceClass.HUMIDIFIER,
    "dehumidifier": HumidifierDeviceClass.DEHUMIDIFIER,
}
_SETTERS: Final = setters({Part.TARGET: "humidity|target humidity|target|setpoint|set point"})
_QUANTITY: Final = ("humidity",)
_WETTEST: Final = 100


def map_humidifiers(pool: ToolPool) -> list[HumidifierTool]:
    """Map the tools of things that keep a humidity: a target, and calls for on and off."""
    families = families_of(pool, frozenset(_KINDS), _SETTERS)
    return [made for thing, family in families.items() if (made := _humidifier(pool, thing, family))]


def _humidifier(pool: ToolPool, thing: tuple[str, ...], family: Mapping[Part, str]) -> HumidifierTool | None:
    target = pool.setter(family.get(Part.TARGET, ""))
    on, off = power_of(pool, family)
    if target is None or on is None or off is None or target.maximum > _WETTEST:
        return None
    modes = choice_of(pool, family.get(Part.MODE))
    state = reading_of_power(pool, thing)
    mode_state = pool.reading((*thing, "mode")) if modes else None
    wanted, measured = wanted_and_measured(pool, thing, _QUANTITY)
    taken = pool.take(on, off, modes, target, state, mode_state, wanted, measured)
    return HumidifierTool(
        **pool.common_of_thing(taken, thing, "Humidifier"),
        device_class=_KINDS[thing[-1]],
        on=on,
        off=off,
        target=target,
        modes=modes,
        state=state,
        mode_state=mode_state,
        target_state=wanted,
        current_state=measured,
    )
