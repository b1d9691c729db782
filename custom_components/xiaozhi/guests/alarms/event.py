"""The event entity of alarms."""

from typing import Final

from ...entity import DescribedEntities
from ...event import XiaozhiEvent, XiaozhiEventDescription
from .alarm import ALARMS
from .alarm_clock import AlarmEvent

_ALARM: Final = XiaozhiEventDescription(
    key="alarm",
    translation_key="alarm",
    event_types=[*AlarmEvent],
    exists=lambda device: bool(ALARMS.of(device.state)),
)
ENTITIES: Final = (DescribedEntities(XiaozhiEvent, [_ALARM], (ALARMS.key,)),)
