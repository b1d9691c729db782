"""The actions of the integration."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from itertools import chain
import logging
import re
from typing import Any, Final

from hassil import parse_sentence
from hassil.parser import ParseError
from hassil.util import PUNCTUATION_END, PUNCTUATION_END_WORD, PUNCTUATION_START, PUNCTUATION_START_WORD
from homeassistant.auth.permissions.const import POLICY_READ
from homeassistant.const import CONF_ID, CONF_TIMEOUT
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.helpers import config_validation as cv
import voluptuous as vol

from .actions.action import Action, check_arguments_of, on_each
from .actions.options import OPTION_FIELDS, async_set_options
from .actions.rights import check_call, check_device, require_admin
from .actions.targets import require_tool, target_device, target_devices
from .announcements.announcer import Announcer
from .assist_satellite import satellite_of
from .const import DOMAIN, MAX_MESSAGE, MAX_STATUS
from .device.call_log import logged_call
from .device.device import Device
from .device.guest import Guest, async_files
from .device.state import SHOWN
from .protocol import messages
from .protocol.faces import Face
from .protocol.mcp.model import Progress
from .protocol.mcp.tool import Tool, ToolProperty
from .util.event_loop import loop_time
from .util.limits import TokenBucket
from .util.text import clean_data, one_line

_LOGGER = logging.getLogger(__name__)

EVENT_PROGRESS: Final = "xiaozhi_progress"

ATTR_ANSWERS: Final = "answers"
ATTR_ARGUMENTS: Final = "arguments"
ATTR_FACE: Final = "face"
ATTR_MESSAGE: Final = "message"
ATTR_QUESTION: Final = "question"
ATTR_SENTENCES: Final = "sentences"
ATTR_STATUS: Final = "status"
ATTR_TOOL: Final = "tool"

_FACE: Final = vol.In([*Face])
_MAX_ANSWERS: Final = 100
# Characters of a question, and of each answer to it.
_MAX_SENTENCE: Final = 1000
_LIST_REFERENCE: Final = re.compile(r"(?<!\\)\{[^{}]*\}")
_PUNCTUATION: Final = (PUNCTUATION_START, PUNCTUATION_END, PUNCTUATION_START_WORD, PUNCTUATION_END_WORD)


def _sentence(text: str) -> str:
    """Check a sentence of an answer, as Home Assistant does in *Ask question*."""
    words = _LIST_REFERENCE.sub("", text)
    if any(punctuation.search(words) for punctuation in _PUNCTUATION):
        raise vol.Invalid("a sentence must not contain punctuation, which nobody says")
    try:
        parse_sentence(text)
    except ParseError as err:
        raise vol.Invalid(f"not a sentence: {err}") from err
    return text


_ANSWER: Final = vol.Schema(
    {
        vol.Required(CONF_ID): vol.All(cv.string, vol.Length(min=1, max=100)),
        vol.Required(ATTR_SENTENCES): vol.All(
            cv.ensure_list,
            [vol.All(cv.string, vol.Length(min=1, max=_MAX_SENTENCE), _sentence)],
            vol.Length(min=1, max=_MAX_ANSWERS),
        ),
    }
)


async def async_setup_services(hass: HomeAssistant, guests: Iterable[Guest]) -> None:
    """Register the actions, with those of guests."""
    of_guests = [file.ACTIONS.items() for file in await async_files(hass, guests, "services")]
    for name, action in chain(_ACTIONS.items(), *of_guests):
        schema = cv.make_entity_service_schema(action.fields)
        run = partial(_run_permitted, action)
        hass.services.async_register(DOMAIN, name, run, schema, supports_response=action.response)


async def _run_permitted(action: Action, call: ServiceCall) -> ServiceResponse | None:
    if action.admin:
        await require_admin(call.hass, call.context)
    for device in target_devices(call)[0]:
        await check_device(call.hass, call.context, device, action.policy)
    return await action.run(call)


async def _ask(call: ServiceCall) -> ServiceResponse:
    data = call.data
    satellite = satellite_of(call.hass, target_device(call))
    satellite.async_set_context(call.context)
    answer = await satellite.async_ask_user(data[ATTR_QUESTION], data[ATTR_ANSWERS], data[CONF_TIMEOUT])
    return asdict(answer) if answer is not None else {"id": None, "sentence": None, "slots": {}}


async def _get_tools(call: ServiceCall) -> ServiceResponse:
    device = target_device(call)
    if not device.tools and device.session is not None:
        await device.session.readings.wait_listed()
    return {"tools": [tool_data(tool) for tool in device.tools.values()]}


def tool_data(tool: Tool) -> dict[str, Any]:
    """Return a tool with its arguments. All texts are cut to one line."""
    return {
        "tool": tool.name,
        "title": tool.title,
        "description": one_line(tool.description, 1000),
        "for_users_only": tool.user_only,
        "arguments": _described_arguments(tool),
    }


def _described_arguments(of: Tool | ToolProperty) -> list[dict[str, Any]]:
    return [
        {"name": one_line(name), "required": name in of.required}
        | ({} if name in of.required else {"default": clean_data(argument.default)})
        | _described(argument)
        for name, argument in of.properties.items()
    ]


def _described(argument: ToolProperty) -> dict[str, Any]:
    facts = {
        "description": argument.description,
        "minimum": argument.minimum,
        "maximum": argument.maximum,
        "choices": clean_data(list(argument.choices)),
        "items": argument.items and _described(argument.items),
        "arguments": _described_arguments(argument),
    }
    return {"type": argument.kind} | {key: fact for key, fact in facts.items() if fact not in (None, "", [])}


async def _call_tool(call: ServiceCall) -> ServiceResponse:
    device = target_device(call)
    name = call.data[ATTR_TOOL]
    require_tool(device, name)
    await check_call(call.hass, call.context, device, name)
    arguments = check_arguments_of(device, name, call.data[ATTR_ARGUMENTS])
    reports = TokenBucket(rate=1, burst=20)

    @callback
    def progressed(progress: Progress) -> None:
        if not reports.take(loop_time()):
            return
        data = {"device_id": device.registry_id, "tool": name, **asdict(progress)}
        call.hass.bus.async_fire(EVENT_PROGRESS, data, context=call.context)

    with logged_call(device, name, call.context):
        result = await device.commands.call_tool(name, arguments, on_progress=progressed)
    answer: dict[str, Any] = {"result": result.value}
    if result.text is not None and result.structured is not None:
        answer["structured"] = result.structured
    if result.items and result.value not in (result.items[0], list(result.items)):
        answer["content"] = list(result.items)
    return answer


async def _show_text(call: ServiceCall) -> None:
    data = call.data
    text = {"status": data[ATTR_STATUS], "message": data[ATTR_MESSAGE], "emotion": data[ATTR_FACE]}

    async def show(device: Device) -> None:
        device.part(Announcer).check_may_disturb()
        await device.commands.show(**text)
        device.record.notify(SHOWN)

    await on_each(call, show)


async def _set_face(call: ServiceCall) -> None:
    message = messages.face(call.data[ATTR_FACE])
    await on_each(call, lambda device: device.commands.send(message))


_ACTIONS: Final[Mapping[str, Action]] = {
    "ask": Action(
        run=_ask,
        fields={
            vol.Required(ATTR_QUESTION): vol.All(cv.string, vol.Length(min=1, max=_MAX_SENTENCE)),
            vol.Optional(ATTR_ANSWERS, default=list): vol.All([_ANSWER], vol.Length(max=_MAX_ANSWERS)),
            vol.Optional(CONF_TIMEOUT, default=120): vol.All(vol.Coerce(float), vol.Range(min=5, max=600)),
        },
        response=SupportsResponse.ONLY,
    ),
    "call_tool": Action(
        run=_call_tool,
        fields={vol.Required(ATTR_TOOL): cv.string, vol.Optional(ATTR_ARGUMENTS, default=dict): dict},
        response=SupportsResponse.OPTIONAL,
    ),
    "get_tools": Action(run=_get_tools, response=SupportsResponse.ONLY, policy=POLICY_READ),
    "set_options": Action(
        run=async_set_options, fields=OPTION_FIELDS, response=SupportsResponse.OPTIONAL, admin=True
    ),
    "set_face": Action(run=_set_face, fields={vol.Required(ATTR_FACE): _FACE}),
    "show_text": Action(
        run=_show_text,
        fields={
            vol.Optional(ATTR_STATUS, default="Home Assistant"): vol.All(
                cv.string, vol.Length(max=MAX_STATUS)
            ),
            vol.Required(ATTR_MESSAGE): vol.All(cv.string, vol.Length(min=1, max=MAX_MESSAGE)),
            vol.Optional(ATTR_FACE, default=Face.NEUTRAL): _FACE,
        },
    ),
}
