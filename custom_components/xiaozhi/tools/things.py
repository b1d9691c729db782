"""What things are, by the words of their names: the platform of a pair of tools, and its device class."""

from dataclasses import dataclass
from typing import Final

from homeassistant.components.cover import CoverDeviceClass as Cover
from homeassistant.components.valve import ValveDeviceClass as Valve
from homeassistant.const import Platform

from .words import LIGHTS, word_set

__all__ = ["Thing", "platform_of_pair", "thing_of"]


@dataclass(frozen=True, slots=True)
class Thing:
    """A kind of thing."""

    platform: Platform
    device_class: str | None = None


_TABLE: Final = {
    Thing(Platform.COVER, Cover.CURTAIN): "curtain curtains drape drapes",
    Thing(Platform.COVER, Cover.BLIND): "blind blinds",
    Thing(Platform.COVER, Cover.SHADE): "shade shades",
    Thing(Platform.COVER, Cover.SHUTTER): "shutter shutters",
    Thing(Platform.COVER, Cover.AWNING): "awning",
    Thing(Platform.COVER, Cover.WINDOW): "window windows skylight",
    Thing(Platform.COVER, Cover.DOOR): "door doors",
    Thing(Platform.COVER, Cover.GATE): "gate gates barrier",
    Thing(Platform.COVER, Cover.GARAGE): "garage",
    Thing(Platform.COVER, Cover.DAMPER): "damper vent",
    Thing(Platform.COVER): "lid box drawer cabinet rack desk gripper claw",
    Thing(Platform.VALVE, Valve.WATER): "valve valves faucet tap hydrant",
    Thing(Platform.VALVE): "irrigation sprinkler sprinklers watering drip",
    Thing(Platform.LOCK): "lock locks deadbolt latch padlock",
    Thing(Platform.FAN): "fan fans ventilator ventilation",
    Thing(Platform.LIGHT): " ".join(LIGHTS),
    Thing(Platform.SWITCH): (
        "pump relay socket outlet plug power heater heating humidifier dehumidifier purifier conditioner"
        " filter oxygen aerator bubbler feeder kettle machine motor buzzer mister mist atomizer fountain"
        " boiler tv radio music camera microphone screen display projector speaker printer sterilizer uv"
        " vacuum app wifi bluetooth"
    ),
}
_THINGS: Final = {word: thing for thing, text in _TABLE.items() for word in text.split()}
# Things that are locked, but are no entrance.
_NOT_LOCKED: Final = word_set("screen key keys keyboard child children focus orientation rotation")
_SHADES: Final = frozenset({Cover.CURTAIN, Cover.BLIND, Cover.SHADE, Cover.SHUTTER, Cover.AWNING})
# Things that run until they are stopped.
_RUNNING: Final = frozenset({Platform.FAN, Platform.SWITCH, Platform.VALVE, Platform.LIGHT})


def thing_of(subject: tuple[str, ...]) -> Thing | None:
    """Return what a thing is, by the last known word of its name."""
    if "garage" in subject and not LIGHTS.intersection(subject):
        return _THINGS["garage"]
    found = next((_THINGS[word] for word in reversed(subject) if word in _THINGS), None)
    if found is not None and found.platform is Platform.VALVE and "gas" in subject:
        return Thing(Platform.VALVE, Valve.GAS)
    return found


def platform_of_pair(
    actions: tuple[str, str], subject: tuple[str, ...], *, chinese: bool, vertical: bool
) -> Platform | None:
    """Return the platform of a thing with two opposite tools; None if they are two buttons.

    In `chinese`, open also means on; `vertical` are up and down.
    """
    thing = thing_of(subject)
    platform = thing.platform if thing else None
    match actions:
        case ("lock", "unlock"):
            return Platform.LOCK if _NOT_LOCKED.isdisjoint(subject) else Platform.SWITCH
        case ("open", "close"):
            if vertical:
                return Platform.COVER if platform is Platform.COVER else None
            return platform or (Platform.SWITCH if chinese else Platform.COVER)
        case ("start", "stop"):
            return None if platform not in _RUNNING else _switched(platform, subject)
    return _switched(platform, subject)


def _switched(platform: Platform | None, subject: tuple[str, ...]) -> Platform:
    """Return the platform of a thing with tools for on and off."""
    if platform is Platform.VALVE and thing_of(subject) == Thing(Platform.VALVE):
        # A plain valve, such as one for watering: on and off are an activity.
        return Platform.SWITCH
    if platform in {None, Platform.LOCK}:
        return Platform.SWITCH
    thing = thing_of(subject)
    if platform is Platform.COVER and (thing is None or thing.device_class not in _SHADES):
        # Switching on a door or a gate may mean anything but opening it.
        return Platform.SWITCH
    return platform or Platform.SWITCH
