"""The device class of a reading of yes or no."""

from typing import Final

from homeassistant.components.binary_sensor import BinarySensorDeviceClass as Kind

from .words import LIGHTS

__all__ = ["is_detection", "meaning_of"]

# By the last word; the class, and whether yes is what Home Assistant shows as off.
_MEANINGS: Final = {
    word: (kind, negated)
    for kind, negated, text in (
        (Kind.LOCK, True, "locked lock"),
        (Kind.LOCK, False, "unlocked"),
        (Kind.OPENING, False, "open opened"),
        (Kind.OPENING, True, "closed"),
        (Kind.OCCUPANCY, False, "occupied occupancy presence someone"),
        (Kind.MOTION, False, "motion"),
        (Kind.MOVING, False, "moving"),
        (Kind.MOISTURE, False, "leak leaking wet flood flooded"),
        (Kind.SMOKE, False, "smoke"),
        (Kind.GAS, False, "gas"),
        (Kind.BATTERY_CHARGING, False, "charging"),
        (Kind.CONNECTIVITY, False, "connected online"),
        (Kind.RUNNING, False, "running busy working printing brewing"),
        (Kind.PROBLEM, False, "problem error fault jam jammed stuck blocked empty"),
        (Kind.VIBRATION, False, "vibration vibrating"),
        (Kind.PLUG, False, "plugged"),
        (Kind.TAMPER, False, "tamper tampered"),
    )
    for word in text.split()
}
_DETECTED: Final = frozenset({"motion", "presence", "occupancy", "leak", "detected"})
_OPENINGS: Final = {
    "door": Kind.DOOR,
    "gate": Kind.DOOR,
    "window": Kind.WINDOW,
    "garage": Kind.GARAGE_DOOR,
}


def is_detection(subject: tuple[str, ...]) -> bool:
    """Whether a reading is yes or no although its name has no "is"."""
    return bool(subject) and subject[-1] in _DETECTED


def meaning_of(subject: tuple[str, ...]) -> tuple[str | None, bool]:
    """Return the device class, and whether yes is what Home Assistant shows as off."""
    rest = subject[:-1] if subject[-1:] == ("detected",) else subject
    last = rest[-1] if rest else ""
    if last not in _MEANINGS or (last in {"on", "open"} and not LIGHTS.isdisjoint(subject)):
        return None, False
    kind, negated = _MEANINGS[last]
    if kind is Kind.OPENING:
        kind = next((_OPENINGS[word] for word in reversed(subject) if word in _OPENINGS), kind)
    return kind, negated
