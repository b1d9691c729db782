"""Covers, valves, locks, fans and switches, from pairs of tools that do the opposite of each other."""

from typing import Any, Final

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
from .everyday import is_verb, without_verb
from .parsing import Parsed, is_chinese, parse
from .pool import ToolPool, key_of, split
from .risk import DISABLED_RISKS, Risk
from .things import platform_of_pair, thing_of
from .words import readable, words

__all__ = ["map_pairs"]

_OPPOSITES: Final = (("lock", "unlock"), ("open", "close"), ("on", "off"), ("start", "stop"))
_AS_BEFORE: Final = frozenset({Platform.SWITCH, Platform.LIGHT})
_POSITIONS: Final = (("position",), ("percent",), ("percentage",), ("opening",), ("level",))
_SPEEDS: Final = (("speed",), ("percentage",), ("percent",), ("level",), ("gear",))
# The owner's own device opens the owner's own door; the other risks need a decision.
_DISABLED: Final = DISABLED_RISKS - {Risk.ACCESS}


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
                **_common(pool, taken, subject, platform),
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
                **_common(pool, taken, subject, platform), lock=locks, unlock=unlocks, state=state
            )
        case Platform.FAN:
            speed = pool.setter_of(*((*subject, *more) for more in _SPEEDS))
            told = pool.reading(*((*subject, *more) for more in _SPEEDS)) if speed else None
            taken = pool.take(*names, speed, told, state)
            return FanTool(
                **_common(pool, taken, subject, platform),
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
            **pool.common(_NO_STOCK, taken, _label(taken[0], subject), titled=False),
            on=first,
            off=second,
            brightness=brightness,
            state=state,
            brightness_state=shown,
        )
    taken = pool.take(*names, state)
    common = pool.common(_NO_STOCK, taken, _label(taken[0], subject), titled=False)
    return SwitchTool(**common, on=first, off=second, state=state)


def _state(pool: ToolPool, platform: Platform, subject: tuple[str, ...]) -> Reading | None:
    """Find where it is read whether a thing is on, open or locked."""
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


def _common(
    pool: ToolPool, names: tuple[str, ...], subject: tuple[str, ...], platform: Platform
) -> dict[str, Any]:
    """Return the fields of all kinds. What has a risk is no configuration here, but guarded."""
    risks = pool.risks(names)
    return {
        "key": key_of(names[0]),
        "tools": names,
        "name": _label(names[0], subject) or str(platform).capitalize(),
        "category": pool.category(names),
        "enabled": risks.isdisjoint(_DISABLED),
        "guarded": bool(risks),
        "user_only": pool.user_only(names),
    }


def _label(name: str, subject: tuple[str, ...]) -> str:
    """Return the name of a thing for people, from the name of its first tool; empty if it has none."""
    group, verb = split(name)
    if is_verb(verb):
        return readable(group) if group not in {"", "self"} else ""
    if is_chinese(verb):
        return without_verb(verb)
    if tuple(words(group.removeprefix("self"))) == subject:
        return readable(group) if subject else ""
    return readable("_".join(subject)) if subject else ""
