"""The words in the name of a tool."""

import re
from typing import Final

__all__ = ["ANSWERS", "LIGHTS", "readable", "words"]

ANSWERS: Final = re.compile(r"^(?:get|is|read|query|has)(?=_|[A-Z]|$)_?|_get$")
"""In the last part of a name: the tool answers."""
LIGHTS: Final = frozenset({"bulb", "lamp", "lamps", "led", "leds", "light", "lights", "neopixel", "rgb"})

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")
_CAMEL: Final = re.compile(r"(?<=[^\W_])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_WIFI: Final = re.compile(r"\bwi ?fi\b", re.IGNORECASE)
_MAX_NAME: Final = 64


def words(text: str) -> list[str]:
    """Return the lower-case words of a name: `turn`, `left` for `turn_left` and `turnLeft`."""
    spaced = " ".join(_WORD.findall(text)).lower()
    return re.sub(r"\bpoweroff\b", "power off", _WIFI.sub("wifi", spaced)).split()


def readable(name: str) -> str:
    """Return a tool's name as text for people: `Enter Wi-Fi config` for `self.enterWiFiConfig`."""
    shown: list[str] = []
    for word in re.split(r"[\W_]+", _CAMEL.sub(" ", name.removeprefix("self."))):
        if word and (not shown or word.lower() != shown[-1].lower()):
            shown.append(word if word.isupper() else word.lower())
    text = _WIFI.sub("Wi-Fi", " ".join(shown))[:_MAX_NAME].rstrip() or name[:_MAX_NAME]
    return text[0].upper() + text[1:]
