"""Covers, valves, locks, fans and switches, from pairs of tools that do the opposite of each other."""

from typing import Final

from homeassistant.const import Platform

from .catalogue import CATALOGUE, StockTool
from .entities import (
    Call,
    CoverTool,
    FanTool,
    LightTool,
    LockTool,
    Reading,
    SwitchTool,
    ToolEntity,
    ValveTool,
)
from .parsing import Parsed, is_chinese, parse
from .pool import ToolPool, thing_name
from .things import platform_of_pair, thing_of

__all__ = ["map_pairs"]

_OPPOSITES: Final = (("lock", "unlock"), ("open", "close"), ("on", "off"), ("start", "stop"))
_AS_BEFORE: Final = frozenset({Platform.SWITCH, Platform.LIGHT})
_POSITIONS: Final = (("position",), ("percent",), ("percentage",), ("opening",), ("level",))
_SPEEDS: Final = (("speed",), ("percentage",), ("percent",), ("level",), ("gear",))


def map_pairs(pool: ToolPool, *, switches: bool) -> list[ToolEntity]:
    """Map the pairs that are left: with `switches` to switches and lights, else to all others."""
    named: dict[tuple[str, tuple[str, ...]], str] = {}
    for name in pool.left:
        if name not in CATALOGUE and pool.plain(name) and (parsed := parse(name)).action:
            named.setdefault((parsed.action, parsed.subject), name)
    found: list[ToolEntity] = []
    for (action, subject), name in named.items():
        for actions in _OPPOSITES:
            other = named.get((actions[1], subject))
            if action != actions[0] or other is None or not {name, other} <= pool.left.keys():
                continue
            platform = _platform(actions, parse(name), name)
            if platform is not None and (platform in _AS_BEFORE) is switches:
                found.append(_entity(pool, platform, subject, (name, other), named.get(("stop", subject))))
    return found


def _platform(actions: tuple[str, str], parsed: Parsed, name: str) -> Platform | None:
    return platform_of_pair(actions, parsed.subject, chinese=is_chinese(name), vertical=parsed.vertical)


def _entity(
    pool: ToolPool, platform: Platform, subject: tuple[str, ...], names: tuple[str, str], stop: str | None
) -> ToolEntity:
    first, second = (Call(tool=name) for name in names)
    state = _state(pool, platform, subject)
    match platform:
        case Platform.COVER | Platform.VALVE:
            position = pool.setter_of(*((*subject, *more) for more in _POSITIONS))
            told = pool.reading(*((*subject, *more) for more in _POSITIONS))
            taken = pool.take(*names, stop, position, told, state)
            thing = thing_of(subject)
            kind = CoverTool if platform is Platform.COVER else ValveTool
            return kind(
                **pool.common_of_thing(taken, subject, platform.capitalize()),
                device_class=thing.device_class if thing and thing.platform is platform else None,
                open=first,
                close=second,
                stop=Call(tool=stop) if stop in taken else None,
                position=position,
                position_state=told,
                state=state,
            )
        case Platform.LOCK:
            # Of a lock, close is lock.
            locks, unlocks = (second, first) if parse(names[0]).action == "open" else (first, second)
            taken = pool.take(*names, state)
            return LockTool(
                **pool.common_of_thing(taken, subject, platform.capitalize()),
                lock=locks,
                unlock=unlocks,
                state=state,
            )
        case Platform.FAN:
            speed = pool.setter_of(*((*subject, *more) for more in _SPEEDS))
            told = pool.reading(*((*subject, *more) for more in _SPEEDS)) if speed else None
            taken = pool.take(*names, speed, told, state)
            return FanTool(
                **pool.common_of_thing(taken, subject, platform.capitalize()),
                on=first,
                off=second,
                speed=speed,
                speed_state=told,
                state=state,
            )
    if platform is Platform.LIGHT:
        brightness = pool.setter_of((*subject, "brightness"))
        shown = pool.reading((*subject, "brightness")) if brightness else None
        taken = pool.take(*names, brightness, state, shown)
        return LightTool(
            **pool.common(_NO_STOCK, taken, thing_name(taken[0], subject), titled=False),
            on=first,
            off=second,
            brightness=brightness,
            state=state,
            brightness_state=shown,
        )
    taken = pool.take(*names, state)
    common = pool.common(_NO_STOCK, taken, thing_name(taken[0], subject), titled=False)
    return SwitchTool(**common, on=first, off=second, state=state)


def _state(pool: ToolPool, platform: Platform, subject: tuple[str, ...]) -> Reading | None:
    """Find the reading that tells whether a thing is on, open or locked."""
    positive, negative = _ADJECTIVES.get(platform, (("on", "enabled", "running"), ("off",)))
    wholes: tuple[tuple[str, ...], ...] = (subject,)
    thing = thing_of(subject)
    if platform is Platform.LOCK and (thing is None or thing.platform is not Platform.LOCK):
        # The state of a door is not that of its lock.
        wholes = (*((word,) for word in positive),)
    found = pool.reading(*((*subject, word) for word in positive), *wholes)
    if found is not None:
        return found
    found = pool.reading(*((*subject, word) for word in negative))
    return None if found is None else Reading(tool=found.tool, member=found.member, negated=True)


_ADJECTIVES: Final = {
    Platform.COVER: (("open", "opened"), ("closed", "close")),
    Platform.VALVE: (("open", "opened", "on"), ("closed", "close")),
    Platform.LOCK: (("locked", "lock"), ("unlocked", "open", "opened")),
}
_NO_STOCK: Final = StockTool()
