"""Units in descriptions of values, and the classes of such values."""

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

# Units as makers write them, and the device class of such a value, if only one fits.
_UNITS: Final[tuple[tuple[str, str, SensorDeviceClass | None], ...]] = (
    (r"°\s?F|℉|fahrenheit|华氏", UnitOfTemperature.FAHRENHEIT, SensorDeviceClass.TEMPERATURE),
    (r"°\s?C|℃|celsius|摄氏", UnitOfTemperature.CELSIUS, SensorDeviceClass.TEMPERATURE),
    (r"[uµμ]g\s?/\s?m(?:3|³|\^3)|微克", UnitOfDensity.MICROGRAMS_PER_CUBIC_METER, None),
    (r"mg\s?/\s?m(?:3|³|\^3)|毫克", UnitOfDensity.MILLIGRAMS_PER_CUBIC_METER, None),
    (r"\bppm\b", UnitOfRatio.PARTS_PER_MILLION, None),
    (r"\bppb\b", UnitOfRatio.PARTS_PER_BILLION, None),
    (r"(?-i:\bhPa\b)|百帕|\bmbar\b", UnitOfPressure.HPA, SensorDeviceClass.PRESSURE),
    (r"(?-i:\bkPa\b)|千帕", UnitOfPressure.KPA, SensorDeviceClass.PRESSURE),
    (r"(?-i:\bPa\b)|(?<![百千])帕", UnitOfPressure.PA, SensorDeviceClass.PRESSURE),
    (r"\bmmHg\b", UnitOfPressure.MMHG, SensorDeviceClass.PRESSURE),
    (r"\b(?:lux|lx)\b|勒克斯", LIGHT_LUX, SensorDeviceClass.ILLUMINANCE),
    (r"%|\bpercent(?:age)?\b|百分", PERCENTAGE, None),
    (r"\bdB\b|分贝", UnitOfSoundPressure.DECIBEL, SensorDeviceClass.SOUND_PRESSURE),
    (r"(?-i:\bmV\b)|\bmillivolts?\b|毫伏", UnitOfElectricPotential.MILLIVOLT, SensorDeviceClass.VOLTAGE),
    (r"\bvolts?\b|(?<!毫)伏特", UnitOfElectricPotential.VOLT, SensorDeviceClass.VOLTAGE),
    (r"(?-i:\bmA\b)|\bmilliamp|毫安", UnitOfElectricCurrent.MILLIAMPERE, SensorDeviceClass.CURRENT),
    (r"\bwatts?\b|瓦特", UnitOfPower.WATT, SensorDeviceClass.POWER),
    (r"\bkWh\b|千瓦时", UnitOfEnergy.KILO_WATT_HOUR, None),
    (r"(?-i:\bWh\b)", UnitOfEnergy.WATT_HOUR, None),
    (r"\bmm\b|毫米|\bmillimet", UnitOfLength.MILLIMETERS, SensorDeviceClass.DISTANCE),
    (r"\bcm\b|厘米|\bcentimet", UnitOfLength.CENTIMETERS, SensorDeviceClass.DISTANCE),
    (r"\bkg\b|公斤|千克|\bkilogram", UnitOfMass.KILOGRAMS, SensorDeviceClass.WEIGHT),
    (r"\bdegrees?\b(?!\s(?:celsius|fahrenheit|c\b|f\b))|°(?!\s?[CF])", DEGREE, None),
)
_PATTERNS: Final = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), str(unit)) for pattern, unit, _ in _UNITS
)
# Longer texts could keep the event loop busy.
_MAX_TEXT: Final = 1024

DEVICE_CLASSES: Final[Mapping[str, SensorDeviceClass]] = {
    unit: device_class for _, unit, device_class in _UNITS if device_class
}


def stated_unit(description: str) -> str | None:
    """Return the unit that a description states; None if it states none or several."""
    text = description[:_MAX_TEXT]
    found = {unit for pattern, unit in _PATTERNS if pattern.search(text)}
    return found.pop() if len(found) == 1 else None
