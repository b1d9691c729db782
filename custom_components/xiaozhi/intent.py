"""Intents for alarms: for sentences of the owner's, as in `docs/alarms.md`, and for assistants."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, intent
from homeassistant.helpers.llm import IntentTool, Tool, ToolAnnotations
import voluptuous as vol

from .clock.alarm import MAX_NAME, Alarm, wall_time
from .clock.alarm_clock import AlarmClock, upcoming
from .clock.spoken_alarm import spoken, spoken_date, spoken_rule, spoken_start, spoken_time, time_of_day
from .const import DOMAIN, MAX_MESSAGE
from .device.device import Device
from .errors import InputError, UserError
from .gateway import Gateway, find_device, running_gateway
from .protocol.untrusted_text import one_line
from .texts.translated import async_text

_HOURS: Final = vol.All(vol.Coerce(int), vol.Range(min=0, max=23))
_MINUTES: Final = vol.All(vol.Coerce(int), vol.Range(min=0, max=59))
_DAY_AND_PERIOD: Final = {
    vol.Optional("minutes"): _MINUTES,
    vol.Optional("period", description="Only if the hours count to twelve."): vol.In(("am", "pm")),
    vol.Optional("day", description="today, tomorrow, MO to SU, or a date such as 2026-11-25."): cv.string,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """What somebody has said to a device."""

    hass: HomeAssistant
    gateway: Gateway
    to: Device | None
    """None if it was said elsewhere."""
    slots: dict[str, Any]
    language: str

    @property
    def device(self) -> Device:
        """The device. Raises `InputError` without one."""
        if self.to is None:
            raise InputError("unknown_device", device_id="-")
        return self.to

    @property
    def clock(self) -> AlarmClock:
        """Its alarms. Raises as `device`."""
        return self.gateway.alarms(self.device)

    @property
    def time(self) -> tuple[int, int, str]:
        """Hours, minutes and period."""
        return self.slots["hours"], self.slots.get("minutes", 0), self.slots.get("period", "")

    def text(self, key: str, **placeholders: str) -> Awaitable[str]:
        """Return a text of ours."""
        return async_text(self.hass, key, self.language, **placeholders)


async def _set(said: _Said) -> str:
    slots = said.slots
    first = await said.clock.async_set(
        spoken_start(time_of_day(*said.time), slots.get("day", "")),
        one_line(slots.get("name", ""), MAX_NAME),
        one_line(slots.get("text", ""), MAX_MESSAGE),
        spoken_rule(slots.get("repeat", "")),
    )
    return await said.text("alarm_set", time=spoken_time(first))


async def _list(said: _Said) -> str:
    alarms = ", ".join(spoken(at, alarm) for at, _, alarm in upcoming(said.device))
    return alarms or await said.text("no_alarms")


async def _delete(said: _Said) -> str:
    slots = said.slots

    def is_meant(at: datetime, alarm: Alarm) -> bool:
        return (
            slots.get("name", "").casefold() in f"{alarm.name} {alarm.text}".casefold()
            and ("hours" not in slots or alarm.start.time() == time_of_day(*said.time))
            and ("day" not in slots or wall_time(at).date() == spoken_date(slots["day"]))
        )

    meant = {uid: spoken(at, alarm) for at, uid, alarm in upcoming(said.device) if is_meant(at, alarm)}
    alarms = ", ".join(meant.values())
    if not meant:
        raise InputError("unknown_alarm")
    if len(meant) > 1 and "all" not in slots:
        raise InputError("several_alarms", alarms=alarms)
    await said.clock.async_store(dict.fromkeys(meant))
    return await said.text("alarm_deleted", alarms=alarms)


async def _snooze(said: _Said) -> str:
    until = await _end(said, AlarmClock.async_snooze)
    return await said.text("alarm_snoozed", time=spoken_time(until))


async def _stop(said: _Said) -> str:
    await _end(said, AlarmClock.async_stop)
    return await said.text("alarm_stopped")


async def _end[T](said: _Said, act: Callable[[AlarmClock], Awaitable[T]]) -> T:
    """Stop or snooze the alarms of the device, or if there is nothing to end, those that ring elsewhere."""
    try:
        if said.to is not None:
            return await act(said.clock)
    except UserError:
        pass
    clocks = map(said.gateway.alarms, said.gateway.devices.values())
    ended = [await act(clock) for clock in clocks if clock.rings]
    if not ended:
        raise UserError("no_alarm_rings")
    return ended[0]


class AlarmIntent(intent.IntentHandler):
    """An intent for alarms, which is also a tool of assistants."""

    def __init__(
        self,
        name: str,
        act: Callable[[_Said], Awaitable[str]],
        description: str,
        slots: dict[Any, Any],
        annotations: ToolAnnotations,
    ) -> None:
        self.intent_type = f"Xiaozhi{name.title().replace('_', '')}"
        self.description = description
        self._slots = slots
        self._act = act
        self.tool = IntentTool(
            f"{DOMAIN}__{name}",
            self,
            title=name.replace("_", " ").capitalize(),
            integration=DOMAIN,
            annotations=annotations,
        )

    @property
    @override
    def slot_schema(self) -> dict[Any, Any]:
        """Return what may be said."""
        return self._slots

    @override
    async def async_handle(self, intent_obj: intent.Intent) -> intent.IntentResponse:
        """Do what was said; what is wrong with it is the answer."""
        hass, language = intent_obj.hass, intent_obj.language
        slots = {name: slot["value"] for name, slot in self.async_validate_slots(intent_obj.slots).items()}
        response = intent_obj.create_response()
        try:
            if (gateway := running_gateway(hass)) is None:
                raise InputError("unknown_device", device_id=intent_obj.device_id or "-")
            device = find_device(hass, intent_obj.device_id or "")
            said = _Said(hass=hass, gateway=gateway, to=device, slots=slots, language=language)
            response.async_set_speech(await self._act(said))
        except UserError as err:
            text = await async_text(hass, err.key, language, **err.placeholders)
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, text)
        return response


_HANDLERS: Final = (
    AlarmIntent(
        "set_alarm",
        _set,
        "Sets an alarm or a reminder on this device. For a time from now, such as ten minutes, use a timer.",
        {
            vol.Required("hours"): _HOURS,
            **_DAY_AND_PERIOD,
            vol.Optional("name", description="What the user calls it."): cv.string,
            vol.Optional("text", description="For a reminder: the sentence to be said."): cv.string,
            vol.Optional(
                "repeat",
                description="daily, weekdays, weekends, weekly, monthly, yearly, or days such as MO,TH.",
            ): cv.string,
        },
        ToolAnnotations(destructive=False, open_world=False),
    ),
    AlarmIntent(
        "list_alarms",
        _list,
        "Lists the alarms and reminders of this device.",
        {},
        ToolAnnotations(read_only=True, open_world=False),
    ),
    AlarmIntent(
        "delete_alarm",
        _delete,
        "Deletes an alarm or a reminder of this device, with all its repetitions.",
        {
            vol.Optional("hours"): _HOURS,
            **_DAY_AND_PERIOD,
            vol.Optional("name", description="A part of its name or text."): cv.string,
            vol.Optional("all", description="yes to delete several."): cv.string,
        },
        ToolAnnotations(open_world=False),
    ),
    AlarmIntent(
        "snooze_alarm",
        _snooze,
        "Lets the alarm that rings, or was stopped just now, ring again in nine minutes.",
        {},
        ToolAnnotations(destructive=False, open_world=False),
    ),
    AlarmIntent(
        "stop_alarm",
        _stop,
        "Stops the alarm that rings or is snoozed, on this device or elsewhere.",
        {},
        ToolAnnotations(idempotent=True, open_world=False),
    ),
)


async def async_setup_intents(hass: HomeAssistant) -> None:
    """Register the intents."""
    for handler in _HANDLERS:
        intent.async_register(hass, handler)


def alarm_tools() -> list[Tool]:
    """Return the intents as tools for an assistant."""
    return [handler.tool for handler in _HANDLERS]
