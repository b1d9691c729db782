"""What readings measure, by the words of their names: device class and unit."""

from dataclasses import dataclass
import re
from typing import Any, Final

from homeassistant.components.sensor import DEVICE_CLASS_UNITS, SensorDeviceClass as Kind
from homeassistant.const import (
    DEGREE,
    LIGHT_LUX,
    PERCENTAGE,
    UnitOfDensity,
    UnitOfElectricCurrent,
    UnitOfElectricPotential,
    UnitOfEnergy,
    UnitOfLength,
    UnitOfMass,
    UnitOfPower,
    UnitOfPressure,
    UnitOfRatio,
    UnitOfSoundPressure,
    UnitOfTemperature,
)

from .everyday import everyday_words
from .words import word_set, words

__all__ = ["Measure", "is_state", "measure_of", "mentions_measure", "number_unit", "only_measure"]


@dataclass(frozen=True, slots=True)
class Measure:
    """A device class of Home Assistant's, and the unit in which makers usually give it."""

    device_class: str | None
    unit: str | None
    grows: bool = False
    """Whether the value only grows."""


UG_M3: Final = UnitOfDensity.MICROGRAMS_PER_CUBIC_METER
PPM: Final = UnitOfRatio.PARTS_PER_MILLION
PPB: Final = UnitOfRatio.PARTS_PER_BILLION
_CELSIUS: Final = UnitOfTemperature.CELSIUS
# The longest words first: soil moisture is no humidity of the air.
_MEASURES: Final[tuple[tuple[str, Measure], ...]] = tuple(
    (text, measure)
    for texts, measure in (
        ("battery|battery level|battery percentage|battery percent", Measure(Kind.BATTERY, PERCENTAGE)),
        ("temperature|temp|temps", Measure(Kind.TEMPERATURE, _CELSIUS)),
        ("soil moisture|soil humidity|moisture", Measure(Kind.MOISTURE, PERCENTAGE)),
        ("humidity|humid|hum", Measure(Kind.HUMIDITY, PERCENTAGE)),
        ("illuminance|lux|light level|light intensity|luminance", Measure(Kind.ILLUMINANCE, LIGHT_LUX)),
        ("ambient light|light sensor|brightness sensor", Measure(Kind.ILLUMINANCE, LIGHT_LUX)),
        ("co 2|co2|eco 2|carbon dioxide", Measure(Kind.CO2, PPM)),
        ("co|carbon monoxide", Measure(Kind.CO, PPM)),
        ("pm 2 5|pm 25|pm2 5|pm25", Measure(Kind.PM25, UG_M3)),
        ("pm 10|pm10", Measure(Kind.PM10, UG_M3)),
        ("pm 1 0|pm 1|pm1 0|pm1", Measure(Kind.PM1, UG_M3)),
        ("tvoc|voc", Measure(Kind.VOLATILE_ORGANIC_COMPOUNDS_PARTS, PPB)),
        ("formaldehyde|hcho|ch 2 o|ch2o", Measure(None, "mg/m³")),
        ("aqi|air quality|air quality index", Measure(Kind.AQI, None)),
        ("pressure|barometer|barometric pressure", Measure(Kind.ATMOSPHERIC_PRESSURE, UnitOfPressure.HPA)),
        ("noise|sound level|noise level|loudness", Measure(Kind.SOUND_PRESSURE, UnitOfSoundPressure.DECIBEL)),
        ("ph|ph level", Measure(Kind.PH, None)),
        ("tds", Measure(None, PPM)),
        ("water level|tank level|ink level|ink|paper level|fill level|progress", Measure(None, PERCENTAGE)),
        ("voltage|volts|vbat", Measure(Kind.VOLTAGE, UnitOfElectricPotential.VOLT)),
        ("electric current|amps|amperage", Measure(Kind.CURRENT, UnitOfElectricCurrent.AMPERE)),
        ("watts|wattage|power consumption|power usage", Measure(Kind.POWER, UnitOfPower.WATT)),
        ("energy|kwh", Measure(Kind.ENERGY, UnitOfEnergy.KILO_WATT_HOUR, grows=True)),
        ("distance|range", Measure(Kind.DISTANCE, UnitOfLength.CENTIMETERS)),
        ("weight", Measure(Kind.WEIGHT, UnitOfMass.GRAMS)),
        ("rssi", Measure(Kind.SIGNAL_STRENGTH, "dBm")),
    )
    for text in texts.split("|")
)  # fmt: skip
_BY_WORDS: Final = {tuple(text.split()): measure for text, measure in _MEASURES}
_LONGEST: Final = max(map(len, _BY_WORDS))
# Units as makers write them in descriptions and answers.
_UNITS: Final = (
    (re.compile(r"°\s?F|℉|fahrenheit|华氏", re.IGNORECASE), UnitOfTemperature.FAHRENHEIT),
    (re.compile(r"°\s?C|℃|celsius|摄氏", re.IGNORECASE), UnitOfTemperature.CELSIUS),
    (re.compile(r"[uµμ]g\s?/\s?m(?:3|³|\^3)|微克", re.IGNORECASE), UG_M3),
    (re.compile(r"mg\s?/\s?m(?:3|³|\^3)|毫克", re.IGNORECASE), "mg/m³"),
    (re.compile(r"\bppm\b", re.IGNORECASE), PPM),
    (re.compile(r"\bppb\b", re.IGNORECASE), PPB),
    (re.compile(r"\bhPa\b|百帕|\bmbar\b", re.IGNORECASE), UnitOfPressure.HPA),
    (re.compile(r"\bkPa\b|千帕", re.IGNORECASE), UnitOfPressure.KPA),
    (re.compile(r"\bPa\b|帕"), UnitOfPressure.PA),
    (re.compile(r"\bmmHg\b", re.IGNORECASE), UnitOfPressure.MMHG),
    (re.compile(r"\b(?:lux|lx)\b|勒克斯", re.IGNORECASE), LIGHT_LUX),
    (re.compile(r"%|percent|百分比", re.IGNORECASE), PERCENTAGE),
    (re.compile(r"\bdB\b|分贝", re.IGNORECASE), UnitOfSoundPressure.DECIBEL),
    (re.compile(r"\bmV\b|millivolt|毫伏", re.IGNORECASE), UnitOfElectricPotential.MILLIVOLT),
    (re.compile(r"\bmA\b|milliamp|毫安", re.IGNORECASE), UnitOfElectricCurrent.MILLIAMPERE),
    (re.compile(r"\bkWh\b", re.IGNORECASE), UnitOfEnergy.KILO_WATT_HOUR),
    (re.compile(r"\bWh\b"), UnitOfEnergy.WATT_HOUR),
    (re.compile(r"\bmm\b|毫米|millimet"), UnitOfLength.MILLIMETERS),
    (re.compile(r"\bcm\b|厘米|centimet"), UnitOfLength.CENTIMETERS),
    (re.compile(r"\bkg\b|公斤|千克|kilogram"), UnitOfMass.KILOGRAMS),
)
# Parts of a device that change, so that their readings are worth asking for.
_STATES: Final = word_set(
    "state status mode level position speed gear brightness count value values data all sensor sensors",
    "readings environment measurements metrics percent percentage angle height progress queue paper ink",
    "scene direction volume colour color timer remaining capacity load light quality rate",
)
# Words that do not say where something is measured, since a device is in one place.
_NOWHERE: Final = word_set(
    "sensor sensors air env environment environmental ambient monitor weather station device",
    "indoor dht bme bmp sht scd aht sgp 11 22 20 21 30 31 40 41 180 280 680",
)
# The end of a name such as temp_c.
_UNIT_WORDS: Final = {
    "c": "°C",
    "celsius": "°C",
    "f": "°F",
    "percent": "%",
    "pct": "%",
    **{
        unit.lower(): unit
        for unit in ("ppm", "ppb", "hPa", "kPa", "Pa", "lux", "dB", "mV", "mA", "cm", "mm", "kg")
    },
}
_PERCENT: Final = word_set("brightness duty level percent percentage position volume")
_FULL: Final = 100
_PERCENT_SAID: Final = re.compile(r"%|percent|百分", re.IGNORECASE)
_LIGHT_SAID: Final = re.compile(
    r"\b(?:lux|lx)\b|illumin|ambient|intensity|sensor|光照|光线|亮度|照度", re.IGNORECASE
)


def measure_of(subject: tuple[str, ...], description: str = "") -> Measure | None:
    """Return what a reading measures, by the last words of its name; its unit by the description, if said."""
    named, hint = subject, ""
    if len(subject) > 1 and subject[-1] in _UNIT_WORDS:
        named, hint = subject[:-1], _UNIT_WORDS[subject[-1]]
    for length in range(min(_LONGEST, len(named)), 0, -1):
        if (found := _BY_WORDS.get(named[-length:])) is not None:
            before = _BY_WORDS.get(named[-length - 1 : -length], found).device_class
            if before not in {found.device_class, Kind.BATTERY}:
                # Two measures in one name: the answer is an object or a text.
                return None
            unit = _unit_in(hint, found) or _unit_in(description, found) or found.unit
            return Measure(found.device_class, unit, found.grows)
    is_light = bool(named) and named[-1] == "light"
    if is_light and (_LIGHT_SAID.search(description) or not _NOWHERE.isdisjoint(named)):
        return Measure(Kind.ILLUMINANCE, LIGHT_LUX)
    return None


def only_measure(subject: tuple[str, ...]) -> bool:
    """Whether a name tells what is measured and nothing else, such as a place."""
    rest = tuple(word for word in subject if word not in _NOWHERE)
    return rest == ("light",) or rest in _BY_WORDS


def is_state(subject: tuple[str, ...]) -> bool:
    """Whether a name is that of a changing state, which is worth reading regularly."""
    return not subject or subject[-1] in _STATES


def _unit_in(text: str, measure: Measure) -> str | None:
    """Return the unit in a text that fits a measure."""
    allowed: set[Any]
    if measure.device_class is not None:
        allowed = set(DEVICE_CLASS_UNITS.get(Kind(measure.device_class), ()))
    else:
        allowed = {measure.unit} if measure.unit == PERCENTAGE else {PPM, UG_M3, "mg/m³"}
    return next((unit for pattern, unit in _UNITS if unit in allowed and pattern.search(text)), None)


def mentions_measure(subject: tuple[str, ...]) -> bool:
    """Whether a name says something that is measured, such as temperature and humidity."""
    return any((word,) in _BY_WORDS for word in subject)


def number_unit(subject: str, limits: tuple[int, int], description: str | None) -> str | None:
    """Return the unit of a number that a tool sets; stock tools come without a description."""
    found = words(everyday_words(subject))
    if "angle" in found:
        return DEGREE
    if limits == (0, 100) and (not _PERCENT.isdisjoint(found) or _PERCENT_SAID.search(description or "")):
        return PERCENTAGE
    if description is None:
        return None
    if "humidity" in found and 0 <= limits[0] < limits[1] <= _FULL:
        return PERCENTAGE
    if {"temperature", "temp"}.isdisjoint(found):
        return None
    return _unit_in(description, _BY_WORDS["temperature",]) or _CELSIUS
