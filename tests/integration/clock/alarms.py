"""The calendar of a device, its alarms, and how often it has rung."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

from homeassistant.components.calendar import CalendarEntity
from homeassistant.core import HomeAssistant
from homeassistant.helpers import entity_registry as er
from homeassistant.util import dt as dt_util

from simulator import SimulatedDevice
from tests.integration.boxes import act, alerts, entity_of, state_of

CALENDAR = "calendar.kitchen_box_alarms"


def soon(seconds: float) -> datetime:
    return dt_util.as_local(dt_util.utcnow() + timedelta(seconds=seconds)).replace(microsecond=0)


async def set_alarm(
    hass: HomeAssistant, seconds: float, name: str = "Wake up", at: str = CALENDAR, **fields: Any
) -> None:
    start = soon(seconds)
    times = {"start_date_time": start, "end_date_time": start + timedelta(hours=1)}
    await act(hass, "calendar", "create_event", at, summary=name, **times, **fields)
    await hass.async_block_till_done()


def calendar(hass: HomeAssistant) -> CalendarEntity:
    entity: CalendarEntity = entity_of(hass, CALENDAR)
    return entity


async def events(hass: HomeAssistant) -> list[dict[str, Any]]:
    found = await act(hass, "calendar", "get_events", CALENDAR, returns=True, duration=timedelta(days=30))
    listed: list[dict[str, Any]] = found[CALENDAR]["events"]
    return listed


async def has_rung(device: SimulatedDevice, times: int, seconds: float = 60) -> None:
    """Wait until a device with old firmware, which plays a sound again and again, has played it so often."""
    await device.wait_for(lambda: len(alerts(device)) >= times, seconds)
    assert len(alerts(device)) == times


async def rings_no_more(device: SimulatedDevice, seconds: float) -> int:
    """Return how often a device has rung, which is so after some seconds, too."""
    before = len(alerts(device))
    await asyncio.sleep(seconds)
    assert len(alerts(device)) == before
    return before


async def next_note(notes: list[str]) -> str:
    """Wait for a notification, and return its text."""
    while not notes:  # noqa: ASYNC110 - time is virtual
        await asyncio.sleep(1)
    (text,) = notes
    return text


NEXT_ALARM = "sensor.kitchen_box_next_alarm"
SNOOZE = "button.kitchen_box_alarm_snooze"
STOP = "button.kitchen_box_alarm_stop"


async def delete_next(hass: HomeAssistant) -> None:
    following = calendar(hass).event
    assert following is not None
    await calendar(hass).async_delete_event(following.uid or "")


def hidden_by(hass: HomeAssistant, entity_id: str = NEXT_ALARM) -> er.RegistryEntryHider | None:
    entry = er.async_get(hass).async_get(entity_id)
    assert entry is not None
    return entry.hidden_by


def happened(hass: HomeAssistant) -> Any:
    return state_of(hass, "event.kitchen_box_alarm_event").attributes["event_type"]
