"""Triggers: events of alarms and timers."""

from typing import ClassVar, Final, override

from homeassistant.const import CONF_NAME, CONF_OPTIONS
from homeassistant.core import callback
from homeassistant.helpers import config_validation as cv
import voluptuous as vol

from ...actions.targets import TARGET_SCHEMA
from ...actions.triggers import EventTrigger
from ...device.events import DeviceEvent
from .alarm_clock import AlarmEvent
from .timers import TimerEvent

_UNANSWERED: Final = {"alarm_stopped": False, "alarm_unanswered": True}


class _NamedEventTrigger(EventTrigger):
    """An event of an alarm or a timer, optionally of those with one name."""

    _schema = TARGET_SCHEMA.extend(
        {vol.Optional(CONF_OPTIONS, default={}): {vol.Optional(CONF_NAME): cv.string}}
    )
    kinds: ClassVar = {
        "alarm_rings": AlarmEvent.RINGING,
        "alarm_snoozed": AlarmEvent.SNOOZED,
        "alarm_stopped": AlarmEvent.STOPPED,
        "alarm_unanswered": AlarmEvent.STOPPED,
        "timer_finished": TimerEvent.FINISHED,
    }

    @override
    @callback
    def _is_wanted(self, event: DeviceEvent) -> bool:
        about, name = event.attributes, self._options.get(CONF_NAME, "").casefold()
        unanswered = _UNANSWERED.get(self._key)
        return (
            super()._is_wanted(event)
            and unanswered in (None, about.get("unanswered"))
            and name in ("", str(about.get("name")).casefold())
        )


TRIGGERS: Final = dict.fromkeys(_NamedEventTrigger.kinds, _NamedEventTrigger)
