"""The calendar of a device's alarms: Home Assistant's own calendar page is their editor."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
import heapq
from itertools import islice, repeat
from typing import Any, Final, override

from homeassistant.components.calendar import (
    EVENT_DESCRIPTION,
    EVENT_RRULE,
    EVENT_START,
    EVENT_SUMMARY,
    CalendarEntity,
    CalendarEntityDescription,
    CalendarEntityFeature,
    CalendarEvent,
)
from homeassistant.core import HomeAssistant
from homeassistant.util import dt as dt_util

from ...device.device import Device
from ...entity import DescribedEntities, XiaozhiEntity
from ...errors import InputError
from ...gateway import Gateway
from ...texts.translated import known_text
from .alarm import Alarm, wall_time
from .alarm_clock import upcoming
from .device_clock import DeviceClock
from .repetition import TIME_FORMAT
from .ring import TimerTimeouts

_CALENDAR: Final = CalendarEntityDescription(key="alarms", translation_key="alarms")
# Times near the limits of `datetime` cannot be converted to another time zone.
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9000, 1, 1, tzinfo=UTC)
_AND_FUTURE: Final = "THISANDFUTURE"
# Of all alarms together. Home Assistant prepares each of them for the page in the event loop.
_MAX_LISTED: Final = 2000


class XiaozhiCalendar(XiaozhiEntity, CalendarEntity):
    """The alarms and reminders of a device. One with a description is a reminder, which is spoken."""

    follows = ("alarms",)
    entity_description: CalendarEntityDescription
    _attr_supported_features = (
        CalendarEntityFeature.CREATE_EVENT
        | CalendarEntityFeature.DELETE_EVENT
        | CalendarEntityFeature.UPDATE_EVENT
    )

    def __init__(self, gateway: Gateway, device: Device, description: CalendarEntityDescription) -> None:
        super().__init__(gateway, device, description)
        self._clock = device.part(DeviceClock).alarms

    @property
    @override
    def event(self) -> CalendarEvent | None:
        """Return the ringing alarm, or else the next one."""
        for moment, uid, alarm in upcoming(self.device):
            return self._event(uid, alarm, alarm.time, moment)
        return None

    @override
    async def async_get_events(
        self, hass: HomeAssistant, start_date: datetime, end_date: datetime
    ) -> list[CalendarEvent]:
        """Return the alarms between two moments, the first ones where there are too many to show."""
        start, end = (dt_util.as_utc(min(max(each, _FIRST), _LAST)) for each in (start_date, end_date))
        alarms = [*self._clock.alarms.items()]
        return await hass.async_add_executor_job(self._listed, alarms, start - self._duration, end)

    def _listed(self, alarms: list[tuple[str, Alarm]], start: datetime, end: datetime) -> list[CalendarEvent]:
        each = (zip(repeat(uid), repeat(alarm), alarm.listed(start, end)) for uid, alarm in alarms)
        first = islice(heapq.merge(*each, key=lambda found: found[2][1]), _MAX_LISTED)
        return [self._event(uid, alarm, time, moment) for uid, alarm, (time, moment) in first]

    @override
    async def async_create_event(self, **kwargs: Any) -> None:
        """Set an alarm. Raises `InputError`."""
        await self._clock.async_set(*self._fields(kwargs))

    @override
    async def async_delete_event(
        self, uid: str, recurrence_id: str | None = None, recurrence_range: str | None = None
    ) -> None:
        """Delete an alarm, or some of its repetitions. Raises `InputError`."""
        alarm = self._clock.alarm(uid)
        await self._clock.async_store({uid: _without(alarm, recurrence_id, recurrence_range)})

    @override
    async def async_update_event(
        self,
        uid: str,
        event: dict[str, Any],
        recurrence_id: str | None = None,
        recurrence_range: str | None = None,
    ) -> None:
        """Change an alarm, or some of its repetitions, which become one of its own. Raises `InputError`."""
        start, name, text, rule = self._fields(event)
        alarm = self._clock.alarm(uid)
        if recurrence_id and recurrence_range != _AND_FUTURE and alarm.rule:
            rule = ""
        rest = _without(alarm, recurrence_id, recurrence_range)
        await self._clock.async_set(start, name, text, rule, instead_of=uid, rest=rest)

    @property
    def _duration(self) -> timedelta:
        return timedelta(seconds=TimerTimeouts.alarm)

    def _event(self, uid: str, alarm: Alarm, time: datetime, moment: datetime) -> CalendarEvent:
        start = dt_util.as_local(moment)
        return CalendarEvent(
            start=start,
            end=start + self._duration,
            summary=alarm.name or alarm.text or known_text(self.hass, "alarm"),
            description=alarm.text or None,
            uid=uid,
            recurrence_id=time.strftime(TIME_FORMAT) if alarm.rule else None,
            rrule=alarm.rule or None,
        )

    def _fields(self, event: Mapping[str, Any]) -> tuple[datetime, str, str, str]:
        """Return start, name, text and rule of an event. Raises `InputError`."""
        start = event[EVENT_START]
        if not isinstance(start, datetime):
            raise InputError("alarm_all_day")
        name = event.get(EVENT_SUMMARY) or ""
        # The page asks for a name in any case.
        if name == known_text(self.hass, "alarm"):
            name = ""
        text, rule = event.get(EVENT_DESCRIPTION) or "", event.get(EVENT_RRULE) or ""
        return wall_time(start).replace(microsecond=0), name, text, rule


def _without(alarm: Alarm, recurrence_id: str | None, recurrence_range: str | None) -> Alarm | None:
    """Return an alarm without one of its repetitions, or without that and all later ones."""
    if not recurrence_id or not alarm.rule:
        return None
    try:
        time = datetime.fromisoformat(recurrence_id).replace(tzinfo=None)
    except ValueError as err:
        raise InputError("unknown_alarm") from err
    return alarm.until(time) if recurrence_range == _AND_FUTURE else alarm.without(time)


ENTITIES: Final = (DescribedEntities(XiaozhiCalendar, [_CALENDAR], ()),)
