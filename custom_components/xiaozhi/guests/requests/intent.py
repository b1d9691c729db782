"""Intents for alarms, voice messages and *Do not disturb*: for our sentences, and for assistants."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, override

from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.core import HomeAssistant
from homeassistant.helpers import config_validation as cv, intent
from homeassistant.helpers.llm import IntentTool, ToolAnnotations
import voluptuous as vol

from ...actions.rights import allowed_devices
from ...const import DOMAIN
from ...errors import InputError, UserError
from ...gateway import find_device, running_gateway
from ...texts.translated import async_text
from ...voice.answer import ASKS_BACK
from ...voice.own_intents import OwnIntent
from ..alarms.spoken_alarm import async_language, wall_now
from ..spoken.box_sentences import BOX_SENTENCE
from ..spoken.language import Language, load_language
from ..spoken.sentences import ALARM_SENTENCE, KINDS, WORDS
from ..spoken.understanding import SETTING, Meaning, read, read_fields
from .alarms import ALARM_ACTIONS
from .box_requests import ACTIONS, async_ask
from .device_requests import DEVICE_ACTIONS
from .speaker import Answer, AskBackError, Speaker

_ACTIONS: Final = {**ALARM_ACTIONS, **DEVICE_ACTIONS}
_LIGHT_SET: Final = "HassLightSet"
# Language models write English in any language.
_ENGLISH: Final = "en"
_DAYS_ONLY: Final = "today, tomorrow, monday to sunday, or a date such as 2026-11-25"
_REPETITIONS: Final = "daily, weekdays, weekends, weekly, monthly, yearly, or days such as MO,TH or MO-FR"
_HOURS: Final = vol.All(vol.Coerce(int), vol.Range(min=0, max=23))
_MINUTES: Final = vol.All(vol.Coerce(int), vol.Range(min=0, max=59))
_DAY: Final = vol.All(cv.string, vol.Match(r"^([0-9]{4}[-/.年].*|[^0-9]*)$", msg=f"allowed are {_DAYS_ONLY}"))
_KIND: Final = {
    vol.Optional("kind", description="What the user speaks of; both only if the user says so."): vol.In(KINDS)
}
_DAY_AND_PERIOD: Final = {
    vol.Optional("minutes"): _MINUTES,
    vol.Optional("period", description="Only if the hours count to twelve."): vol.In(("am", "pm")),
    vol.Optional("day", description=f"One of: {_DAYS_ONLY}."): _DAY,
}


class AlarmIntent(OwnIntent):
    """An intent for alarms."""

    # Part of a slot with its spoken words.
    _part = "text"
    _can_ask = True

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
        slots: dict[str, Any] = {}
        try:
            speaker = await self._async_speaker(intent_obj)
            slots = self._checked(intent_obj.slots)
            try:
                key, placeholders = await self._async_act(intent_obj, speaker, slots)
            except AskBackError as asked:
                await speaker.ask(asked)
                text = await async_text(hass, asked.key, language, **asked.placeholders)
                response.async_set_speech(text, extra_data={ASKS_BACK: True})
                return response
            response.async_set_speech(await async_text(hass, key, language, **placeholders))
        except UserError as err:
            given_back = slots.get("action") == "turn_off" and err.key == "no_alarm_rings"
            called = speaker.language.data["called"] if given_back else ()
            if (done := await _async_to_named(intent_obj, intent.INTENT_TURN_OFF, called)) is not None:
                done.async_set_speech(await async_text(hass, "switched_off", language))
                return done
            if err.key in ("alarm_not_understood", "box_cannot") or err.key.endswith("_elsewhere"):
                # A pipeline that prefers local commands hands it to its language model then.
                code = intent.IntentResponseErrorCode.NO_INTENT_MATCH
            text = await async_text(hass, err.key, language, **err.placeholders)
            response.async_set_error(code, text)
        return response

    async def _async_act(self, intent_obj: intent.Intent, speaker: Speaker, slots: dict[str, Any]) -> Answer:
        """Act, and return the answer. Raises `UserError`."""
        action, meaning = await intent_obj.hass.async_add_executor_job(self._read, slots, speaker.language)
        return await _ACTIONS[action](speaker, meaning)

    @override
    def lacks_words(self, slots: Mapping[str, str], language: str) -> bool:
        """Whether a sentence lacks a time."""
        action = slots["action"]
        try:
            return action in SETTING and not read(load_language(language), action, slots).has_time
        except InputError:
            return True

    def _read(self, slots: dict[str, Any], language: Language) -> tuple[str, Meaning]:
        """Return the action and the alarm that is meant. Raises `InputError`."""
        return slots["action"], read(language, slots["action"], slots)

    def _only_reads(self, slots: Mapping[str, Any]) -> bool:
        return slots.get("action", {}).get("value") in ("list", "next")

    async def _async_speaker(self, intent_obj: intent.Intent) -> Speaker:
        """Return the speaker, if the user has sufficient rights. Raises `UserError`."""
        hass, context = intent_obj.hass, intent_obj.context
        if (gateway := running_gateway(hass)) is None:
            raise InputError("unknown_device", device_id="-")
        policy = POLICY_READ if self._only_reads(intent_obj.slots) else POLICY_CONTROL
        device = find_device(hass, intent_obj.device_id or "")
        allowed = await allowed_devices(hass, context, gateway.devices.values(), policy)
        if device is not None and device not in allowed:
            raise InputError("not_permitted", name=device.name)
        language = await async_language(hass, intent_obj.language)
        return Speaker(
            hass=hass,
            device=device,
            devices=allowed,
            language=language,
            languages=(language, await async_language(hass, _ENGLISH)),
            is_heard=device is not None and device.conversation is not None and self._can_ask,
            model_turn="" if self._can_ask else context.id,
        )

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


async def _async_to_named(
    intent_obj: intent.Intent, intent_type: str, names: Iterable[str], **slots: int
) -> intent.IntentResponse | None:
    """Act upon what the owner calls by one of these names, as without us; None if there is none."""
    for name in names:
        with suppress(intent.IntentError):
            return await intent.async_handle(
                intent_obj.hass,
                intent_obj.platform,
                intent_type,
                {slot: {"value": value} for slot, value in {**slots, "name": name}.items()},
                intent_obj.text_input,
                intent_obj.context,
                intent_obj.language,
                intent_obj.assistant,
                intent_obj.device_id,
                intent_obj.satellite_id,
                intent_obj.conversation_agent_id,
            )
    return None


def _check_numbers(slots: dict[str, Any]) -> None:
    """Refuse 6.5 for half past six, which the schema would truncate. Raises `vol.Invalid`."""
    for name, slot in slots.items():
        if isinstance(value := slot.get("value"), float) and not value.is_integer():
            raise vol.Invalid("expected a whole number", [name])


class BoxIntent(AlarmIntent):
    """An intent for what the device that is spoken to can do itself."""

    _part = "value"

    @override
    def _only_reads(self, slots: Mapping[str, Any]) -> bool:
        return slots.get("action", {}).get("value") in ("battery", "read")

    @override
    async def _async_act(self, intent_obj: intent.Intent, speaker: Speaker, slots: dict[str, Any]) -> Answer:
        if slots.get("tool") == "screen" and (level := slots.get("value")) is not None:
            # It may be a light's name.
            called = speaker.language.data["box"]["called"]
            if await _async_to_named(intent_obj, _LIGHT_SET, called, brightness=level) is not None:
                return "box_done", {}
        return await async_ask(speaker, intent_obj.context, slots, intent_obj.text_input or "")


class AlarmTool(AlarmIntent):
    """An intent that is also a tool of assistants, with a slot for each part of the request."""

    _part = "value"
    # A language model asks by itself.
    _can_ask = False

    def __init__(
        self, name: str, action: str, description: str, slots: dict[Any, Any], annotations: ToolAnnotations
    ) -> None:
        super().__init__(f"Xiaozhi{name.title().replace('_', '')}", description, slots)
        self._action, self._reads = action, annotations.read_only
        self.tool = IntentTool(
            f"{DOMAIN}__{name}",
            self,
            title=name.replace("_", " ").capitalize(),
            integration=DOMAIN,
            annotations=annotations,
        )

    @override
    def _only_reads(self, slots: Mapping[str, Any]) -> bool:
        return self._reads

    @override
    def _read(self, slots: dict[str, Any], language: Language) -> tuple[str, Meaning]:
        if self._action == "message":
            return self._action, Meaning(place=slots["to"])
        action = "delete_all" if slots.get("all") else "disturb" if slots.get("on") is False else self._action
        meaning = read_fields((load_language(_ENGLISH), language), slots, wall_now().date())
        # Who speaks of all alarms does not mean the reminders.
        kind = "alarm" if action == "delete_all" else "both"
        return action, replace(meaning, kind=slots.get("kind", kind))


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
        _KIND,
        ToolAnnotations(read_only=True, open_world=False),
    ),
    AlarmTool(
        "delete_alarm",
        "delete",
        "Deletes an alarm or a reminder of this device. With a day, only that time of a repeated one. "
        "Before several, or a repeated one for good, it answers with a question: ask the user, "
        "and call it again after a yes.",
        {
            vol.Optional("hours"): _HOURS,
            **_DAY_AND_PERIOD,
            **_KIND,
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
    {
        vol.Required("action"): vol.In([*_ACTIONS, "unclear"]),
        **{vol.Optional(name): cv.string for name in WORDS},
    },
)

_BOX: Final = BoxIntent(
    BOX_SENTENCE,
    "What somebody asks a device itself to do, in sentences that come with the integration.",
    {
        vol.Required("action"): vol.In([*ACTIONS]),
        vol.Optional("tool"): cv.string,
        vol.Optional("value"): vol.Coerce(int),
    },
)


async def async_setup_intents(hass: HomeAssistant) -> None:
    """Register the intents."""
    # It is cached.
    await async_language(hass, _ENGLISH)
    for handler in (_SENTENCE, _BOX, *_TOOLS):
        intent.async_register(hass, handler)
