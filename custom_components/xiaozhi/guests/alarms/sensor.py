"""Sensors of the next timer and alarm."""

from functools import partial
from typing import Any, Final

from homeassistant.components.sensor import SensorDeviceClass

from ...device.device import Device
from ...device.owned import Owned
from ...entity import DescribedEntities
from ...sensor import XiaozhiSensor, XiaozhiSensorDescription
from .alarm import ALARMS
from .alarm_clock import next_alarm
from .timers import TIMERS, next_timer_end


def _has(kind: Owned[Any], device: Device) -> bool:
    return bool(kind.of(device.state))


_SENSORS: Final = tuple(
    XiaozhiSensorDescription(
        key=key,
        translation_key=key,
        entity_category=None,
        device_class=SensorDeviceClass.TIMESTAMP,
        value=value,
        hidden_without_value=True,
        follows=(kind.key,),
        exists=partial(_has, kind),
    )
    for key, kind, value in (("next_timer", TIMERS, next_timer_end), ("next_alarm", ALARMS, next_alarm))
)
ENTITIES: Final = (DescribedEntities(XiaozhiSensor, _SENSORS, (TIMERS.key, ALARMS.key)),)
