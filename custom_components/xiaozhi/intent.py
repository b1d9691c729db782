"""Intents for alarms, for sentences of the owner's: `docs/alarms.md` has some to be copied."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final, override

from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, intent
import voluptuous as vol

from .clock.alarm import wall_time
from .clock.alarm_clock import AlarmClock
from .clock.spoken_alarm import async_set_at, described, spoken, spoken_start, spoken_time
from .errors import InputError, UserError
from .gateway import find_device, running_gateway
from .texts.translated import async_text

_DAYS: Final = ("", "today", "tomorrow", "MO", "TU", "WE", "TH", "FR", "SA", "SU")
_TIME: Final = {
    vol.Optional("hours"): vol.All(vol.Coerce(int), vol.Range(min=0, max=23)),
    vol.Optional("minutes"): vol.All(vol.Coerce(int), vol.Range(min=0, max=59)),
    vol.Optional("period"): vol.In(("am", "pm")),
    vol.Optional("day"): vol.In(_DAYS),
    vol.Optional("name"): cv.string,
}

type Act = Callable[[HomeAssistant, AlarmClock, dict[str, Any], str], Awaitable[str]]
"""Does what was said, and returns the answer. Raises `UserError`."""


async def async_setup_intents(hass: HomeAssistant) -> None:
    """Register the intents."""
    for handler in _HANDLERS:
        intent.async_register(hass, handler)


class AlarmIntent(intent.IntentHandler):
    """An intent for the alarms of the device that somebody speaks to."""

    def __init__(self, intent_type: str, description: str, act: Act, slots: dict[Any, Any]) -> None:
        self.intent_type = intent_type
        self.description = description
        self._slots = slots
        self._act = act

    @property
    @override
    def slot_schema(self) -> dict[Any, Any]:
        """Return what may be said."""
        return self._slots

    @override
    async def async_handle(self, intent_obj: intent.Intent) -> intent.IntentResponse:
        hass, language = intent_obj.hass, intent_obj.language
        slots = {name: slot["value"] for name, slot in self.async_validate_slots(intent_obj.slots).items()}
        response = intent_obj.create_response()
        device = find_device(hass, intent_obj.device_id or "")
        gateway = running_gateway(hass)
        try:
            if device is None or gateway is None:
                raise InputError("unknown_device", device_id=intent_obj.device_id or "-")
            response.async_set_speech(await self._act(hass, gateway.alarms(device), slots, language))
        except UserError as err:
            text = await async_text(hass, err.key, language, **err.placeholders)
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, text)
        return response


def _start(slots: dict[str, Any], day: str) -> datetime:
    return spoken_start(slots["hours"], slots.get("minutes", 0), slots.get("period", ""), day)


async def _set(hass: HomeAssistant, clock: AlarmClock, slots: dict[str, Any], language: str) -> str:
    start = spoken_start(
        slots["hours"], slots.get("minutes", 0), slots.get("period", ""), slots.get("day", "")
    )
    when = await async_set_at(
        clock, start.isoformat(), slots.get("name", ""), slots.get("text", ""), slots.get("repeat", "")
    )
    return await async_text(hass, "alarm_set", language, time=spoken_time(when))


async def _list(hass: HomeAssistant, clock: AlarmClock, _slots: dict[str, Any], language: str) -> str:
    alarms = ", ".join(map(spoken, described(clock.alarms.items())))
    return alarms or await async_text(hass, "no_alarms", language)


async def _delete(hass: HomeAssistant, clock: AlarmClock, slots: dict[str, Any], language: str) -> str:
    alarms = described(clock.alarms.items())
    if name := slots.get("name", "").casefold():
        alarms = [each for each in alarms if name in f"{each['name']} {each['text']}".casefold()]
    if "hours" in slots:
        at = _start(slots, "").time()
        alarms = [each for each in alarms if each["next"].endswith(f"T{at.isoformat()}")]
    if not alarms:
        raise InputError("unknown_alarm")
    if len(alarms) > 1 and "all" not in slots:
        raise InputError("several_alarms", alarms=", ".join(map(spoken, alarms)))
    await clock.async_store({each["id"]: None for each in alarms})
    return await async_text(hass, "alarm_deleted", language, alarms=", ".join(map(spoken, alarms)))


async def _snooze(hass: HomeAssistant, clock: AlarmClock, _slots: dict[str, Any], language: str) -> str:
    until = wall_time(await clock.async_snooze())
    return await async_text(hass, "alarm_snoozed", language, time=spoken_time(until))


_HANDLERS: Final = (
    AlarmIntent(
        "XiaozhiSetAlarm",
        "Sets an alarm or a reminder",
        _set,
        {
            **_TIME,
            vol.Required("hours"): vol.All(vol.Coerce(int), vol.Range(min=0, max=23)),
            vol.Optional("text"): cv.string,
            vol.Optional("repeat"): cv.string,
        },
    ),
    AlarmIntent("XiaozhiListAlarms", "Lists the alarms", _list, {}),
    AlarmIntent("XiaozhiDeleteAlarm", "Deletes an alarm", _delete, {**_TIME, vol.Optional("all"): cv.string}),
    AlarmIntent("XiaozhiSnoozeAlarm", "Lets an alarm ring again later", _snooze, {}),
)
