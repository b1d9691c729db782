"""The words in the name of a tool."""

import re
from typing import Final

__all__ = ["ANSWERS", "LIGHTS", "readable", "word_set", "words"]

ANSWERS: Final = re.compile(r"^(?:get|is|read|query|has)(?=_|[A-Z]|$)_?|_get$")
"""In the last part of a name: the tool answers."""
LIGHTS: Final = frozenset({"bulb", "lamp", "lamps", "led", "leds", "light", "lights", "neopixel", "rgb"})

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")
_CAMEL: Final = re.compile(r"(?<=[^\W_])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])")
_WIFI: Final = re.compile(r"\bwi ?fi\b", re.IGNORECASE)
# Words that are written in another way than others.
_SPELLINGS: Final = {
    "ac": "AC",
    "aqi": "AQI",
    "co2": "CO₂",
    "hcho": "HCHO",
    "ir": "IR",
    "led": "LED",
    "ph": "pH",
    "pm1 0": "PM1",
    "pm10": "PM10",
    "pm2 5": "PM2.5",
    "pm25": "PM2.5",
    "rgb": "RGB",
    "tds": "TDS",
    "temp": "temperature",
    "tv": "TV",
    "tvoc": "TVOC",
    "usb": "USB",
    "uv": "UV",
}
_SPELT: Final = re.compile(rf"\b(?:{'|'.join(sorted(_SPELLINGS, key=len, reverse=True))})\b", re.IGNORECASE)
_MAX_NAME: Final = 64


def word_set(*texts: str) -> frozenset[str]:
    """Return the set of words in texts."""
    return frozenset(word for text in texts for word in text.split())


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
    text = _SPELT.sub(lambda found: _SPELLINGS[found[0].lower()], " ".join(shown))
    text = _WIFI.sub("Wi-Fi", text)[:_MAX_NAME].rstrip() or name[:_MAX_NAME]
    return text[0].upper() + text[1:]
