"""Intents for alarms, voice messages and *Do not disturb*: for our sentences, and for assistants."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, override

from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import config_validation as cv, intent
from homeassistant.helpers.llm import IntentTool, Tool, ToolAnnotations
import voluptuous as vol

from .actions.places import devices_called
from .actions.rights import allowed_devices
from .assist_satellite import satellite_of
from .clock.alarm import moment_of, wall_time
from .clock.alarm_clock import upcoming
from .clock.device_clock import DeviceClock
from .clock.spoken_alarm import async_language, described, find_alarms, wall_now
from .const import DOMAIN
from .device.device import Device
from .device.state import DO_NOT_DISTURB
from .errors import InputError, UserError
from .gateway import Gateway, find_device, running_gateway
from .messages.sending import names, recipients
from .spoken.descriptions import say_list, say_time
from .spoken.language import Language, load_language
from .spoken.sentences import ALARM_SENTENCE, WORDS
from .spoken.understanding import Meaning, read, read_fields
from .texts.translated import async_text

_ENGLISH: Final = "en"
_DAYS_ONLY: Final = "today, tomorrow, monday to sunday, or a date such as 2026-11-25"
_REPETITIONS: Final = "daily, weekdays, weekends, weekly, monthly, yearly, or days such as MO,TH or MO-FR"
_HOURS: Final = vol.All(vol.Coerce(int), vol.Range(min=0, max=23))
_MINUTES: Final = vol.All(vol.Coerce(int), vol.Range(min=0, max=59))
_DAY: Final = vol.All(cv.string, vol.Match(r"^([0-9]{4}[-/.年].*|[^0-9]*)$", msg=f"allowed are {_DAYS_ONLY}"))
_DAY_AND_PERIOD: Final = {
    vol.Optional("minutes"): _MINUTES,
    vol.Optional("period", description="Only if the hours count to twelve."): vol.In(("am", "pm")),
    vol.Optional("day", description=f"One of: {_DAYS_ONLY}."): _DAY,
}


type Answer = tuple[str, dict[str, str]]
"""Key of the answer's text, and its placeholders."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaker:
    """A person who says something, and the devices that this person has a right to."""

    device: Device | None
    """The device to which it was said."""
    devices: list[Device]
    """The devices that this person may use."""
    gateway: Gateway
    language: Language

    @property
    def here(self) -> DeviceClock:
        """The clock of the device to which it was said. Raises `InputError` if there is none."""
        return self.gateway.clock(_known(self.device))

    def to_end(self, *, also_timers: bool = False) -> list[DeviceClock]:
        """Return the clocks to stop: of rings here, else of rings elsewhere, else of a snooze here.

        Raises `UserError` if there is no device here, and nothing rings.
        """
        clocks = {device: self.gateway.clock(device) for device in self.devices}
        ringing = [each for each, clock in clocks.items() if (clock if also_timers else clock.alarms).rings]
        if self.device is not None and (self.device in ringing or not ringing):
            ringing = [self.device]
        if not ringing:
            raise UserError("no_alarm_rings")
        return [clocks[device] for device in ringing]


async def _set(speaker: Speaker, meaning: Meaning) -> Answer:
    language, rule = speaker.language, meaning.rule().upper()
    if (start := meaning.start(wall_now(), is_reminder=bool(meaning.text))) is None:
        raise InputError("alarm_over")
    alarm, existed = await speaker.here.alarms.async_set(start, meaning.name, meaning.text, rule)
    if existed:
        return "alarm_already_set", {"alarm": described(language, alarm.next, alarm)}
    if alarm.text:
        time = described(language, alarm.next, replace(alarm, name="", text=""))
        return "reminder_set", {"time": time, "text": alarm.text}
    return "alarm_set", {"alarm": described(language, alarm.next, alarm)}


async def _list(speaker: Speaker, meaning: Meaning) -> Answer:
    alarms = upcoming(_known(speaker.device))
    found = find_alarms(meaning, alarms)
    shown = [described(speaker.language, at, alarm) for at, uid, alarm in alarms if uid in found]
    return ("alarms_listed", {"alarms": say_list(speaker.language, shown)}) if shown else ("no_alarms", {})


async def _next(speaker: Speaker, _meaning: Meaning) -> Answer:
    for at, _, alarm in upcoming(_known(speaker.device)):
        return "alarm_next", {"alarm": described(speaker.language, at, replace(alarm, rule=""))}
    return "no_alarms", {}


async def _delete(speaker: Speaker, meaning: Meaning, *, several: bool = False, once: bool = False) -> Answer:
    """Delete an alarm, or of a repeated alarm the time on the day that is meant, or with `once` the next."""
    language = speaker.language
    found = [*find_alarms(meaning, upcoming(_known(speaker.device))).items()]
    if once and not meaning.has_day:
        found = found[:1]
    if not found:
        raise InputError("unknown_alarm")
    if len(found) > 1 and not several:
        alarms = [described(language, moment_of(time), alarm) for _, (alarm, time) in found]
        raise InputError("several_alarms", alarms=say_list(language, alarms))
    once |= meaning.has_day and not meaning.repeat
    left = {uid: alarm.without(time) if once else None for uid, (alarm, time) in found}
    gone = [
        described(language, moment_of(time), replace(alarm, rule="" if once else alarm.rule))
        for _, (alarm, time) in found
    ]
    await speaker.here.alarms.async_store(left)
    stays = [described(language, alarm.next, alarm) for alarm in left.values() if alarm is not None]
    shown = {"alarms": say_list(language, gone)}
    return (
        ("alarm_skipped", {**shown, "rest": say_list(language, stays)}) if stays else ("alarm_deleted", shown)
    )


async def _snooze(speaker: Speaker, _meaning: Meaning) -> Answer:
    first, *_ = [await clock.async_snooze() for clock in speaker.to_end()]
    return "alarm_snoozed", {"time": say_time(speaker.language, wall_time(first))}


async def _stop(speaker: Speaker, _meaning: Meaning) -> Answer:
    were_alarms = [await clock.async_stop() for clock in speaker.to_end(also_timers=True)]
    return "alarm_stopped" if any(were_alarms) else "timer_stopped", {}


async def _send_message(speaker: Speaker, meaning: Meaning) -> Answer:
    if (device := speaker.device) is None:
        raise InputError("message_elsewhere")
    satellite = satellite_of(device.hass, device)
    languages = (speaker.language, await async_language(device.hass, _ENGLISH))
    called = devices_called(device.hass, meaning.text, speaker.devices, languages)
    meant = [speaker.gateway.messages(each) for each in called]
    to = recipients(device, meant)
    satellite.questions.check_free()

    async def record() -> None:
        # The device says why nothing was sent.
        with suppress(HomeAssistantError):
            await satellite.async_send_voice_message(meant)

    device.create_task(record(), "voice message")
    return "message_to", {"to": names(to)}


async def _disturb(speaker: Speaker, _meaning: Meaning) -> Answer:
    device = _known(speaker.device)
    await device.async_switch(DO_NOT_DISTURB, False)
    if kept := len(device.state.messages):
        return "messages_kept", {"count": str(kept)}
    return "do_not_disturb_off", {}


async def _be_quiet(speaker: Speaker, _meaning: Meaning) -> Answer:
    await _known(speaker.device).async_switch(DO_NOT_DISTURB, True)
    return "do_not_disturb_on", {}


def _known(device: Device | None) -> Device:
    if device is None:
        raise InputError("alarm_elsewhere")
    return device


_ACTIONS: Final[Mapping[str, Callable[[Speaker, Meaning], Awaitable[Answer]]]] = {
    "set": _set,
    "remind": _set,
    "list": _list,
    "next": _next,
    "delete": _delete,
    "delete_all": partial(_delete, several=True),
    "skip": partial(_delete, once=True),
    "snooze": _snooze,
    "stop": _stop,
    "message": _send_message,
    "quiet": _be_quiet,
    "disturb": _disturb,
}
"""Handlers by the names in the data of the languages. They raise `UserError`."""


class AlarmIntent(intent.IntentHandler):
    """An intent for alarms."""

    # Schema of a slot with spoken words.
    _part = "text"

    def __init__(self, intent_type: str, description: str, slots: dict[Any, Any]) -> None:
        self.intent_type = intent_type
        self.description = description
        self._slots = slots

    @property
    @override
    def slot_schema(self) -> dict[Any, Any]:
        """Return the schema of the slots."""
        return self._slots

    @override
    async def async_handle(self, intent_obj: intent.Intent) -> intent.IntentResponse:
        """Handle the intent; an error becomes the answer."""
        hass, language = intent_obj.hass, intent_obj.language
        response = intent_obj.create_response()
        code = intent.IntentResponseErrorCode.FAILED_TO_HANDLE
        try:
            words = await async_language(hass, language)
            speaker = await self._async_speaker(intent_obj, words)
            slots = self._checked(intent_obj.slots)
            action, meaning = await hass.async_add_executor_job(self._read, slots, words)
            key, placeholders = await _ACTIONS[action](speaker, meaning)
            response.async_set_speech(await async_text(hass, key, language, **placeholders))
        except UserError as err:
            if err.key in ("alarm_not_understood", "alarm_elsewhere", "message_elsewhere"):
                # A pipeline that prefers local commands hands it to its language model then.
                code = intent.IntentResponseErrorCode.NO_INTENT_MATCH
            text = await async_text(hass, err.key, language, **err.placeholders)
            response.async_set_error(code, text)
        return response

    def _read(self, slots: dict[str, Any], language: Language) -> tuple[str, Meaning]:
        """Return the action and the alarm that is meant. Raises `InputError`."""
        return slots["action"], read(language, slots["action"], slots)

    def _only_reads(self, slots: Mapping[str, Any]) -> bool:
        return slots.get("action", {}).get("value") in ("list", "next")

    async def _async_speaker(self, intent_obj: intent.Intent, language: Language) -> Speaker:
        """Return the speaker, if the user has sufficient rights. Raises `UserError`."""
        hass, context = intent_obj.hass, intent_obj.context
        if (gateway := running_gateway(hass)) is None:
            raise InputError("unknown_device", device_id="-")
        policy = POLICY_READ if self._only_reads(intent_obj.slots) else POLICY_CONTROL
        device = find_device(hass, intent_obj.device_id or "")
        allowed = await allowed_devices(hass, context, gateway.devices.values(), policy)
        if device is not None and device not in allowed:
            raise InputError("not_permitted", name=device.name)
        return Speaker(device=device, devices=allowed, gateway=gateway, language=language)

    def _checked(self, slots: dict[str, Any]) -> dict[str, Any]:
        """Return the values of slots. Raises `InputError`."""
        try:
            _check_numbers(slots)
            checked = self.async_validate_slots(slots)
            return {name: slot.get(self._part, slot["value"]) for name, slot in checked.items()}
        except vol.Invalid as err:
            problem = err.errors[0] if isinstance(err, vol.MultipleInvalid) else err
            slot = str(next(iter(problem.path), ""))
            raise InputError("slot_invalid", slot=slot, reason=problem.msg) from err


def _check_numbers(slots: dict[str, Any]) -> None:
    """Refuse 6.5 for half past six, which the schema would truncate. Raises `vol.Invalid`."""
    for name, slot in slots.items():
        if isinstance(value := slot.get("value"), float) and not value.is_integer():
            raise vol.Invalid("expected a whole number", [name])


class AlarmTool(AlarmIntent):
    """An intent that is also a tool of assistants, with a slot for each part of the request."""

    _part = "value"

    def __init__(
        self, name: str, action: str, description: str, slots: dict[Any, Any], annotations: ToolAnnotations
    ) -> None:
        super().__init__(f"Xiaozhi{name.title().replace('_', '')}", description, slots)
        self._action = action
        self.tool = IntentTool(
            f"{DOMAIN}__{name}",
            self,
            title=name.replace("_", " ").capitalize(),
            integration=DOMAIN,
            annotations=annotations,
        )

    @override
    def _only_reads(self, slots: Mapping[str, Any]) -> bool:
        return self.tool.annotations.read_only

    @override
    def _read(self, slots: dict[str, Any], language: Language) -> tuple[str, Meaning]:
        if self._action == "message":
            return self._action, Meaning(text=slots["to"])
        action = "delete_all" if slots.get("all") else "disturb" if slots.get("on") is False else self._action
        return action, read_fields((load_language(_ENGLISH), language), slots, wall_now().date())


_TOOLS: Final = (
    AlarmTool(
        "set_alarm",
        "set",
        "Sets an alarm or a reminder on this device. For a time from now, such as ten minutes, use a timer.",
        {
            vol.Required("hours"): _HOURS,
            **_DAY_AND_PERIOD,
            vol.Optional("name", description="What the user calls it."): cv.string,
            vol.Optional("text", description="For a reminder: the sentence to be said."): cv.string,
            vol.Optional(
                "repeat",
                description=f"One of: {_REPETITIONS}.",
            ): cv.string,
        },
        ToolAnnotations(destructive=False, open_world=False),
    ),
    AlarmTool(
        "list_alarms",
        "list",
        "Lists the alarms and reminders of this device.",
        {},
        ToolAnnotations(read_only=True, open_world=False),
    ),
    AlarmTool(
        "delete_alarm",
        "delete",
        "Deletes an alarm or a reminder of this device. With a day, only that time of a repeated one.",
        {
            vol.Optional("hours"): _HOURS,
            **_DAY_AND_PERIOD,
            vol.Optional("name", description="A part of its name or text."): cv.string,
            vol.Optional("all", description="Whether to delete several."): cv.boolean,
        },
        ToolAnnotations(open_world=False),
    ),
    AlarmTool(
        "snooze_alarm",
        "snooze",
        "Lets the alarm that rings, or was stopped just now, ring again in nine minutes.",
        {},
        ToolAnnotations(destructive=False, open_world=False),
    ),
    AlarmTool(
        "stop_alarm",
        "stop",
        "Stops the alarm that rings or is snoozed, on this device or elsewhere.",
        {},
        ToolAnnotations(idempotent=True, open_world=False),
    ),
    AlarmTool(
        "send_voice_message",
        "message",
        "Records what the user says next, and plays it on other devices. Ask for no text: the device does.",
        {vol.Required("to", description="Name of a room, a floor or a device, or: everyone."): cv.string},
        ToolAnnotations(destructive=False, open_world=False),
    ),
    AlarmTool(
        "do_not_disturb",
        "quiet",
        "Switches Do not disturb of this device on or off: on, only alarms, timers and answers are heard.",
        {vol.Required("on"): cv.boolean},
        ToolAnnotations(destructive=False, idempotent=True, open_world=False),
    ),
)


_SENTENCE: Final = AlarmIntent(
    ALARM_SENTENCE,
    "What somebody says about alarms and voice messages, in sentences that come with the integration.",
    {vol.Required("action"): vol.In(_ACTIONS), **{vol.Optional(name): cv.string for name in WORDS}},
)


async def async_setup_intents(hass: HomeAssistant) -> None:
    """Register the intents."""
    # It is cached: models write English in any language.
    await async_language(hass, _ENGLISH)
    for handler in (_SENTENCE, *_TOOLS):
        intent.async_register(hass, handler)


def alarm_tools() -> list[Tool]:
    """Return the intents as tools for an assistant."""
    return [handler.tool for handler in _TOOLS]
