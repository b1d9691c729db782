"""The actions of the integration."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
import logging
import re
from typing import Any, Final

from hassil import parse_sentence
from hassil.parser import ParseError
from hassil.util import PUNCTUATION_END, PUNCTUATION_END_WORD, PUNCTUATION_START, PUNCTUATION_START_WORD
from homeassistant.auth.permissions.const import POLICY_CONTROL, POLICY_READ
from homeassistant.components.media_source import is_media_source_id
from homeassistant.const import CONF_ID, CONF_TIMEOUT, CONF_URL
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.exceptions import Unauthorized
from homeassistant.helpers import config_validation as cv
from homeassistant.helpers.json import json_bytes
from homeassistant.util.json import json_loads_object
import voluptuous as vol

from .actions.options import OPTION_FIELDS, async_set_options
from .actions.recorded_conversation import async_record_conversation
from .actions.rights import check_call, check_device, require_admin, restricted_user
from .actions.targets import target_device, target_devices
from .assist_satellite import satellite_of
from .const import DOMAIN, MAX_MESSAGE, MAX_STATUS
from .device.call_log import logged_call
from .device.device import Device
from .device.state import SHOWN
from .errors import InputError
from .gateway import find_device, running_gateway
from .guests.messages.sending import async_send_voice_message
from .guests.pictures.screen import async_open_picture, async_screenshot, async_show_image, require_tool
from .guests.pictures.sources import async_fetch_entity, async_fetch_media, async_fetch_url, entity_of
from .guests.pictures.vision import MAX_QUESTION, async_take_photo
from .protocol import messages
from .protocol.faces import Face
from .protocol.mcp.model import Progress
from .protocol.mcp.tool import ArgumentError, Tool, ToolProperty, check_arguments
from .texts.translated import argument_error
from .tools.stock_tools import ASSETS_TOOL, PHOTO_TOOL, PREVIEW_TOOL, SNAPSHOT_TOOL
from .util.event_loop import loop_time
from .util.limits import TokenBucket
from .util.text import clean_data, one_line

_LOGGER = logging.getLogger(__name__)

EVENT_PROGRESS: Final = "xiaozhi_progress"

ATTR_ANSWERS: Final = "answers"
ATTR_ARGUMENTS: Final = "arguments"
ATTR_FACE: Final = "face"
ATTR_IMAGE: Final = "image"
ATTR_MEDIA: Final = "media"
ATTR_MESSAGE: Final = "message"
ATTR_QUESTION: Final = "question"
ATTR_SENDER: Final = "sender"
ATTR_SENTENCES: Final = "sentences"
ATTR_SOUND: Final = "sound"
ATTR_STATUS: Final = "status"
ATTR_TOOL: Final = "tool"

_FACE: Final = vol.In([*Face])
_MAX_ANSWERS: Final = 100
# Characters of a question, and of each answer to it.
_MAX_SENTENCE: Final = 1000
_LIST_REFERENCE: Final = re.compile(r"(?<!\\)\{[^{}]*\}")
_PUNCTUATION: Final = (PUNCTUATION_START, PUNCTUATION_END, PUNCTUATION_START_WORD, PUNCTUATION_END_WORD)
_SOURCES: Final = {ATTR_IMAGE, ATTR_MEDIA, CONF_URL}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Action:
    """An action. Its target is one device or several, as its function asks for."""

    run: Callable[[ServiceCall], Coroutine[Any, Any, ServiceResponse | None]]
    fields: dict[Any, Any] = field(default_factory=dict)
    response: SupportsResponse = SupportsResponse.NONE
    admin: bool = False
    """Whether only an administrator may use it."""
    policy: str = POLICY_CONTROL
    """The right to the satellite of each device that the user needs."""


@callback
def async_setup_services(hass: HomeAssistant) -> None:
    """Register the actions."""
    for name, action in _ACTIONS.items():
        schema = cv.make_entity_service_schema(action.fields)
        run = partial(_run_permitted, action)
        hass.services.async_register(DOMAIN, name, run, schema, supports_response=action.response)


async def _run_permitted(action: _Action, call: ServiceCall) -> ServiceResponse | None:
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


async def _send_voice_message(call: ServiceCall) -> None:
    devices, refusal = target_devices(call)
    sender = find_device(call.hass, call.data[ATTR_SENDER])
    gateway = running_gateway(call.hass)
    if refusal is not None or sender is None or gateway is None:
        raise refusal or InputError("unknown_device", device_id=call.data[ATTR_SENDER])
    await check_device(call.hass, call.context, sender, POLICY_CONTROL)
    gateway.announcer(sender).check_may_disturb(call.context)
    to = [gateway.messages(device) for device in devices]
    await async_send_voice_message(satellite_of(call.hass, sender), to)


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
    arguments = _check_arguments(device, name, call.data[ATTR_ARGUMENTS])
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


async def _take_photo(call: ServiceCall) -> ServiceResponse:
    device = target_device(call)
    with logged_call(device, PHOTO_TOOL, call.context):
        text, entry = await async_take_photo(call.hass, device, call.data[ATTR_QUESTION].strip())
    return {"answer": text or None, "entity_id": entry.entity_id if entry else None}


async def _show_text(call: ServiceCall) -> None:
    data = call.data
    text = {"status": data[ATTR_STATUS], "message": data[ATTR_MESSAGE], "emotion": data[ATTR_FACE]}
    gateway = running_gateway(call.hass)

    async def show(device: Device) -> None:
        if gateway is not None:
            gateway.announcer(device).check_may_disturb()
        await device.commands.show(**text)
        device.record.notify(SHOWN)

    await _on_each(call, show)


async def _set_face(call: ServiceCall) -> None:
    message = messages.face(call.data[ATTR_FACE])
    await _on_each(call, lambda device: device.commands.send(message))


async def _record_conversation(call: ServiceCall) -> ServiceResponse:
    return await async_record_conversation(target_device(call), with_sound=call.data[ATTR_SOUND])


async def _screenshot(call: ServiceCall) -> None:
    async def take_one(device: Device) -> None:
        with logged_call(device, SNAPSHOT_TOOL, call.context):
            await async_screenshot(call.hass, device)

    await _on_each(call, take_one)


async def _show_image(call: ServiceCall) -> None:
    devices, refusal = target_devices(call)
    if not devices:
        raise refusal or InputError("no_device_in_target")
    if len(call.data.keys() & _SOURCES) != 1:
        raise InputError("one_picture")
    transfers = devices[0].transfers
    async with transfers.pictures.shown:
        picture = await async_open_picture(call.hass, transfers, await _fetch_picture(call))

    async def show_one(device: Device) -> None:
        with logged_call(device, PREVIEW_TOOL, call.context):
            await async_show_image(call.hass, device, picture)

    await _on_each(call, show_one)


async def _fetch_picture(call: ServiceCall) -> bytes:
    """Return the picture that a call names, if its user may see it. Raises `HomeAssistantError`."""
    hass, data = call.hass, call.data
    user = await restricted_user(hass, call.context)
    media_id: str = data.get(ATTR_MEDIA, {}).get("media_content_id", "")
    entity_id: str | None = data.get(ATTR_IMAGE) or entity_of(media_id)
    if entity_id is not None:
        if user is not None and not user.permissions.check_entity(entity_id, POLICY_READ):
            raise Unauthorized(context=call.context, entity_id=entity_id, permission=POLICY_READ)
        return await async_fetch_entity(hass, entity_id)
    if is_media_source_id(media_id):
        return await async_fetch_media(hass, media_id)
    if user is not None:
        raise InputError("address_not_allowed")
    return await async_fetch_url(hass, media_id or data[CONF_URL])


async def _set_assets(call: ServiceCall) -> None:
    async def set_one(device: Device) -> None:
        require_tool(device, ASSETS_TOOL)
        arguments = _check_arguments(device, ASSETS_TOOL, {"url": call.data[CONF_URL]})
        with logged_call(device, ASSETS_TOOL, call.context):
            await device.commands.change(ASSETS_TOOL, arguments)

    await _on_each(call, set_one)


async def _on_each(call: ServiceCall, work: Callable[[Device], Awaitable[None]]) -> None:
    """Run `work` for all devices, even if some fail; then raise the first error and log the others."""
    devices, refusal = target_devices(call)
    results = await asyncio.gather(*(work(device) for device in devices), return_exceptions=True)
    errors = [result for result in (*results, refusal) if result is not None]
    for error in errors[1:]:
        _LOGGER.warning("%s failed for another device, too: %s", call.service, one_line(str(error)))
    if errors:
        raise errors[0]


def _check_arguments(device: Device, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if (tool := device.tools.get(name)) is None:
        return arguments
    try:
        # Templates give dictionaries of their own kind; what is sent must be plain JSON.
        return check_arguments(tool, json_loads_object(json_bytes(arguments)))
    except ArgumentError as err:
        raise argument_error(err, tool=device.commands.words_for(name), argument=err.name) from err
    except (TypeError, ValueError) as err:
        raise InputError("arguments_not_json", tool=device.commands.words_for(name)) from err


_ACTIONS: Final[Mapping[str, _Action]] = {
    "ask": _Action(
        run=_ask,
        fields={
            vol.Required(ATTR_QUESTION): vol.All(cv.string, vol.Length(min=1, max=_MAX_SENTENCE)),
            vol.Optional(ATTR_ANSWERS, default=list): vol.All([_ANSWER], vol.Length(max=_MAX_ANSWERS)),
            vol.Optional(CONF_TIMEOUT, default=120): vol.All(vol.Coerce(float), vol.Range(min=5, max=600)),
        },
        response=SupportsResponse.ONLY,
    ),
    "call_tool": _Action(
        run=_call_tool,
        fields={vol.Required(ATTR_TOOL): cv.string, vol.Optional(ATTR_ARGUMENTS, default=dict): dict},
        response=SupportsResponse.OPTIONAL,
    ),
    "get_tools": _Action(run=_get_tools, response=SupportsResponse.ONLY, policy=POLICY_READ),
    "send_voice_message": _Action(run=_send_voice_message, fields={vol.Required(ATTR_SENDER): cv.string}),
    # Assets hold the wake words, fonts and faces.
    "set_assets": _Action(run=_set_assets, fields={vol.Required(CONF_URL): cv.url}, admin=True),
    "set_options": _Action(
        run=async_set_options, fields=OPTION_FIELDS, response=SupportsResponse.OPTIONAL, admin=True
    ),
    "set_face": _Action(run=_set_face, fields={vol.Required(ATTR_FACE): _FACE}),
    "show_image": _Action(
        run=_show_image,
        fields={
            vol.Optional(ATTR_IMAGE): cv.entity_domain(["camera", "image"]),
            vol.Optional(ATTR_MEDIA): vol.Schema(
                {vol.Required("media_content_id"): cv.string}, extra=vol.REMOVE_EXTRA
            ),
            vol.Optional(CONF_URL): cv.url,
        },
    ),
    "show_text": _Action(
        run=_show_text,
        fields={
            vol.Optional(ATTR_STATUS, default="Home Assistant"): vol.All(
                cv.string, vol.Length(max=MAX_STATUS)
            ),
            vol.Required(ATTR_MESSAGE): vol.All(cv.string, vol.Length(min=1, max=MAX_MESSAGE)),
            vol.Optional(ATTR_FACE, default=Face.NEUTRAL): _FACE,
        },
    ),
    "record_conversation": _Action(
        run=_record_conversation,
        fields={vol.Optional(ATTR_SOUND, default=False): cv.boolean},
        response=SupportsResponse.OPTIONAL,
        admin=True,
    ),
    "screenshot": _Action(run=_screenshot),
    "take_photo": _Action(
        run=_take_photo,
        fields={vol.Optional(ATTR_QUESTION, default=""): vol.All(cv.string, vol.Length(max=MAX_QUESTION))},
        response=SupportsResponse.OPTIONAL,
    ),
}
