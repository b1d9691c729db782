"""Intents for alarms: for sentences of the owner's, as in `docs/alarms.md`, and for assistants."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any, Final, override

from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import Unauthorized
from homeassistant.helpers import config_validation as cv, intent
from homeassistant.helpers.llm import IntentTool, Tool, ToolAnnotations
import voluptuous as vol

from .actions.rights import allowed_devices, check_device
from .clock.alarm import Alarm, wall_time
from .clock.alarm_clock import upcoming
from .clock.device_clock import DeviceClock
from .clock.spoken_alarm import spoken, spoken_date, spoken_rule, spoken_start, spoken_time, time_of_day
from .const import DOMAIN
from .device.device import Device
from .errors import InputError, UserError
from .gateway import find_device, running_gateway
from .texts.translated import async_text

_HOURS: Final = vol.All(vol.Coerce(int), vol.Range(min=0, max=23))
_MINUTES: Final = vol.All(vol.Coerce(int), vol.Range(min=0, max=59))
_DAY_AND_PERIOD: Final = {
    vol.Optional("minutes"): _MINUTES,
    vol.Optional("period", description="Only if the hours count to twelve."): vol.In(("am", "pm")),
    vol.Optional("day", description="today, tomorrow, MO to SU, or a date such as 2026-11-25."): cv.string,
}


type Answer = tuple[str, dict[str, str]]
"""Key of a text, and its placeholders."""
type Act = Callable[[Speaker, dict[str, Any]], Awaitable[Answer]]
"""Does what was said. Raises `UserError`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """A person who says something, and the devices that this person has a right to."""

    device: Device | None
    """The device to which it was said."""
    devices: list[Device]
    """All that may be used."""
    clock: Callable[[Device], DeviceClock]

    @property
    def here(self) -> DeviceClock:
        """The clock of the device to which it was said. Raises `InputError` if there is none."""
        return self.clock(_known(self.device))

    def to_end(self, rings: Callable[[DeviceClock], bool]) -> list[DeviceClock]:
        """Return what is to end: what rings here, else what rings elsewhere, else what is snoozed here.

        Raises `UserError` if there is no device here, and nothing rings.
        """
        ringing = [device for device in self.devices if rings(self.clock(device))]
        if self.device is not None and (self.device in ringing or not ringing):
            ringing = [self.device]
        if not ringing:
            raise UserError("no_alarm_rings")
        return [self.clock(device) for device in ringing]


async def _set(speaker: Speaker, slots: dict[str, Any]) -> Answer:
    first = await speaker.here.alarms.async_set(
        spoken_start(_time(slots), slots.get("day", "")),
        slots.get("name", ""),
        slots.get("text", ""),
        spoken_rule(slots.get("repeat", "")),
    )
    return "alarm_set", {"time": spoken_time(first)}


async def _list(speaker: Speaker, _slots: dict[str, Any]) -> Answer:
    alarms = [spoken(at, alarm) for at, _, alarm in upcoming(_known(speaker.device))]
    return ("alarms_listed", {"alarms": ", ".join(alarms)}) if alarms else ("no_alarms", {})


async def _delete(speaker: Speaker, slots: dict[str, Any]) -> Answer:
    def is_meant(at: datetime, alarm: Alarm) -> bool:
        return (
            slots.get("name", "").casefold() in f"{alarm.name} {alarm.text}".casefold()
            and ("hours" not in slots or alarm.start.time() == _time(slots))
            and ("day" not in slots or wall_time(at).date() == spoken_date(slots["day"]))
        )

    alarms = upcoming(_known(speaker.device))
    meant = {uid: spoken(at, alarm) for at, uid, alarm in alarms if is_meant(at, alarm)}
    shown = {"alarms": ", ".join(meant.values())}
    if not meant:
        raise InputError("unknown_alarm")
    if len(meant) > 1 and not slots.get("all"):
        raise InputError("several_alarms", **shown)
    await speaker.here.alarms.async_store(dict.fromkeys(meant))
    return "alarm_deleted", shown


async def _snooze(speaker: Speaker, _slots: dict[str, Any]) -> Answer:
    clocks = speaker.to_end(lambda clock: clock.alarms.rings)
    first, *_ = [await clock.alarms.async_snooze() for clock in clocks]
    return "alarm_snoozed", {"time": spoken_time(first)}


async def _stop(speaker: Speaker, _slots: dict[str, Any]) -> Answer:
    were_alarms = [await clock.async_stop() for clock in speaker.to_end(lambda clock: clock.rings)]
    return "alarm_stopped" if any(were_alarms) else "timer_stopped", {}


def _known(device: Device | None) -> Device:
    if device is None:
        raise InputError("unknown_device", device_id="-")
    return device


def _time(slots: dict[str, Any]) -> time:
    return time_of_day(slots["hours"], slots.get("minutes", 0), slots.get("period", ""))


class AlarmIntent(intent.IntentHandler):
    """An intent for alarms, which is also a tool of assistants."""

    def __init__(
        self,
        name: str,
        act: Act,
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
        response = intent_obj.create_response()
        try:
            speaker = await self._async_speaker(intent_obj)
            slots = self._checked(intent_obj.slots)
            key, placeholders = await self._act(speaker, slots)
            response.async_set_speech(await async_text(hass, key, language, **placeholders))
        except UserError as err:
            text = await async_text(hass, err.key, language, **err.placeholders)
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, text)
        return response

    async def _async_speaker(self, intent_obj: intent.Intent) -> Speaker:
        """Return who speaks, if the rights of that user are enough. Raises `UserError`."""
        hass, context = intent_obj.hass, intent_obj.context
        if (gateway := running_gateway(hass)) is None:
            raise InputError("unknown_device", device_id="-")
        policy = POLICY_READ if self.tool.annotations.read_only else POLICY_CONTROL
        device = find_device(hass, intent_obj.device_id or "")
        if device is not None:
            try:
                await check_device(hass, context, device, policy)
            except Unauthorized as err:
                raise InputError("not_permitted", name=device.name) from err
        allowed = await allowed_devices(hass, context, gateway.devices.values(), policy)
        return Speaker(device=device, devices=allowed, clock=gateway.clock)

    def _checked(self, slots: dict[str, Any]) -> dict[str, Any]:
        """Return the values of slots. Raises `InputError`."""
        try:
            return {name: slot["value"] for name, slot in self.async_validate_slots(slots).items()}
        except vol.Invalid as err:
            problem = err.errors[0] if isinstance(err, vol.MultipleInvalid) else err
            slot = str(next(iter(problem.path), ""))
            raise InputError("slot_invalid", slot=slot, reason=problem.msg) from err


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
            vol.Optional("all", description="Whether to delete several."): cv.boolean,
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
