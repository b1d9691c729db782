"""The unit that a description states for a value, and what such a unit measures."""

from collections.abc import Mapping
import re
from typing import Final

from homeassistant.components.sensor import SensorDeviceClass
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

# As makers write them.
_UNITS: Final = (
    (r"°\s?F|℉|fahrenheit|华氏", UnitOfTemperature.FAHRENHEIT),
    (r"°\s?C|℃|celsius|摄氏", UnitOfTemperature.CELSIUS),
    (r"[uµμ]g\s?/\s?m(?:3|³|\^3)|微克", UnitOfDensity.MICROGRAMS_PER_CUBIC_METER),
    (r"mg\s?/\s?m(?:3|³|\^3)|毫克", UnitOfDensity.MILLIGRAMS_PER_CUBIC_METER),
    (r"\bppm\b", UnitOfRatio.PARTS_PER_MILLION),
    (r"\bppb\b", UnitOfRatio.PARTS_PER_BILLION),
    (r"(?-i:\bhPa\b)|百帕|\bmbar\b", UnitOfPressure.HPA),
    (r"(?-i:\bkPa\b)|千帕", UnitOfPressure.KPA),
    (r"(?-i:\bPa\b)|(?<![百千])帕", UnitOfPressure.PA),
    (r"\bmmHg\b", UnitOfPressure.MMHG),
    (r"\b(?:lux|lx)\b|勒克斯", LIGHT_LUX),
    (r"%|\bpercent(?:age)?\b|百分", PERCENTAGE),
    (r"\bdB\b|分贝", UnitOfSoundPressure.DECIBEL),
    (r"(?-i:\bmV\b)|\bmillivolts?\b|毫伏", UnitOfElectricPotential.MILLIVOLT),
    (r"\bvolts?\b|(?<!毫)伏特", UnitOfElectricPotential.VOLT),
    (r"(?-i:\bmA\b)|\bmilliamp|毫安", UnitOfElectricCurrent.MILLIAMPERE),
    (r"\bwatts?\b|瓦特", UnitOfPower.WATT),
    (r"\bkWh\b|千瓦时", UnitOfEnergy.KILO_WATT_HOUR),
    (r"(?-i:\bWh\b)", UnitOfEnergy.WATT_HOUR),
    (r"\bmm\b|毫米|\bmillimet", UnitOfLength.MILLIMETERS),
    (r"\bcm\b|厘米|\bcentimet", UnitOfLength.CENTIMETERS),
    (r"\bkg\b|公斤|千克|\bkilogram", UnitOfMass.KILOGRAMS),
    (r"\bdegrees?\b(?!\s(?:celsius|fahrenheit|c\b|f\b))|°(?!\s?[CF])", DEGREE),
)
_PATTERNS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), str(unit)) for pattern, unit in _UNITS
)
# Longer texts could keep the event loop busy.
_MAX_TEXT: Final = 1024

DEVICE_CLASSES: Final[Mapping[str, SensorDeviceClass]] = {
    UnitOfTemperature.CELSIUS: SensorDeviceClass.TEMPERATURE,
    UnitOfTemperature.FAHRENHEIT: SensorDeviceClass.TEMPERATURE,
    UnitOfPressure.HPA: SensorDeviceClass.PRESSURE,
    UnitOfPressure.KPA: SensorDeviceClass.PRESSURE,
    UnitOfPressure.PA: SensorDeviceClass.PRESSURE,
    UnitOfPressure.MMHG: SensorDeviceClass.PRESSURE,
    LIGHT_LUX: SensorDeviceClass.ILLUMINANCE,
    UnitOfSoundPressure.DECIBEL: SensorDeviceClass.SOUND_PRESSURE,
    UnitOfElectricPotential.MILLIVOLT: SensorDeviceClass.VOLTAGE,
    UnitOfElectricPotential.VOLT: SensorDeviceClass.VOLTAGE,
    UnitOfElectricCurrent.MILLIAMPERE: SensorDeviceClass.CURRENT,
    UnitOfPower.WATT: SensorDeviceClass.POWER,
    UnitOfLength.MILLIMETERS: SensorDeviceClass.DISTANCE,
    UnitOfLength.CENTIMETERS: SensorDeviceClass.DISTANCE,
    UnitOfMass.KILOGRAMS: SensorDeviceClass.WEIGHT,
}
"""What a value with a unit is, where only one class of Home Assistant fits."""


def stated_unit(description: str) -> str | None:
    """Return the unit that a description states; None if it states none or several."""
    text = description[:_MAX_TEXT]
    found = {unit for pattern, unit in _PATTERNS if pattern.search(text)}
    return found.pop() if len(found) == 1 else None
