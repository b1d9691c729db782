"""The actions for resources and prompts of a device."""

import base64
from collections.abc import Mapping
from typing import Any, Final

from homeassistant.components.assist_satellite import DOMAIN as SATELLITE_DOMAIN
from homeassistant.components.conversation import async_converse
from homeassistant.const import ATTR_ENTITY_ID, CONF_LANGUAGE
from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.helpers import config_validation as cv, entity_registry as er
import voluptuous as vol

from ..actions.targets import action_schema, target_device
from ..const import DOMAIN
from ..device.device import Device
from ..protocol.mcp.client import Prompt, PromptResult, ResourceContents
from ..protocol.mcp.model import is_bounded
from ..protocol.mcp.prompt import PromptArgumentError, check_prompt_arguments
from ..protocol.mcp.resource import MAX_URI, is_uri
from ..protocol.mcp.uri_template import expand, variables_of
from ..protocol.text import clean_text, one_line
from ..protocol.untrusted_json import parse_json
from ..rights import require_admin

__all__ = ["async_setup_mcp_actions"]

SERVICE_COMPLETE: Final = "complete_argument"
SERVICE_GET_PROMPT: Final = "get_prompt"
SERVICE_READ_RESOURCE: Final = "read_resource"
SERVICE_RUN_PROMPT: Final = "run_prompt"

ATTR_AGENT: Final = "agent_id"
ATTR_ARGUMENT: Final = "argument"
ATTR_ARGUMENTS: Final = "arguments"
ATTR_PROMPT: Final = "prompt"
ATTR_SPEAK: Final = "speak"
ATTR_URI: Final = "uri"
ATTR_VALUE: Final = "value"

_MAX_VALUE: Final = 1024
_MAX_ARGUMENTS: Final = 32
# What a language model is given at most.
_MAX_PROMPT: Final = 16 * 1024
_MAX_SHOWN: Final = 10

_TEXTS: Final = vol.All(
    {cv.string: vol.All(cv.string, vol.Length(max=_MAX_VALUE))}, vol.Length(max=_MAX_ARGUMENTS)
)
_ARGUMENTS: Final = {vol.Optional(ATTR_ARGUMENTS, default=dict): _TEXTS}
_URI: Final = vol.All(cv.string, vol.Length(min=1, max=MAX_URI))
_PROMPT: Final = {vol.Required(ATTR_PROMPT): cv.string}

_READ_RESOURCE: Final = action_schema({vol.Required(ATTR_URI): _URI, **_ARGUMENTS})
_GET_PROMPT: Final = action_schema({**_PROMPT, **_ARGUMENTS})
_RUN_PROMPT: Final = action_schema(
    {
        **_PROMPT,
        **_ARGUMENTS,
        vol.Optional(ATTR_AGENT): cv.string,
        vol.Optional(CONF_LANGUAGE): cv.string,
        vol.Optional(ATTR_SPEAK, default=False): cv.boolean,
    }
)
_COMPLETE: Final = action_schema(
    {
        vol.Exclusive(ATTR_PROMPT, "what"): cv.string,
        vol.Exclusive(ATTR_URI, "what"): _URI,
        vol.Required(ATTR_ARGUMENT): cv.string,
        vol.Optional(ATTR_VALUE, default=""): vol.All(cv.string, vol.Length(max=_MAX_VALUE)),
        **_ARGUMENTS,
    },
    cv.has_at_least_one_key(ATTR_PROMPT, ATTR_URI),
)


@callback
def async_setup_mcp_actions(hass: HomeAssistant) -> None:
    """Register the actions."""
    for service, handler, schema in (
        (SERVICE_READ_RESOURCE, _read_resource, _READ_RESOURCE),
        (SERVICE_GET_PROMPT, _get_prompt, _GET_PROMPT),
        (SERVICE_RUN_PROMPT, _run_prompt, _RUN_PROMPT),
        (SERVICE_COMPLETE, _complete, _COMPLETE),
    ):
        hass.services.async_register(
            DOMAIN, service, handler, schema, supports_response=SupportsResponse.ONLY
        )


async def _read_resource(call: ServiceCall) -> ServiceResponse:
    device = target_device(call)
    if not device.state.capabilities.resources:
        raise _fault("no_resources", name=device.name)
    uri = await _filled(device, call.data[ATTR_URI], call.data[ATTR_ARGUMENTS])
    listed = device.state.offers.resource(uri)
    template = device.state.offers.template(call.data[ATTR_URI])
    if (listed is None and template is None) or (listed is not None and listed.user_only):
        # As with tools: what is reserved for users, and what nobody has listed.
        await require_admin(call.hass, call.context)
    contents = await device.commands.ask(one_line(uri), lambda mcp: mcp.read_resource(uri))
    return {ATTR_URI: uri, "contents": [_content(content) for content in contents]}


async def _get_prompt(call: ServiceCall) -> ServiceResponse:
    result = await _prompted(call)
    return {
        "description": result.description,
        "messages": [
            {"role": message.role}
            | ({"content": message.item} if message.text is None else {"text": message.text})
            for message in result.messages
        ],
    }


async def _run_prompt(call: ServiceCall) -> ServiceResponse:
    hass, device = call.hass, target_device(call)
    result = await _prompted(call)
    try:
        answer = await async_converse(
            hass,
            _as_text(result),
            None,
            call.context,
            language=call.data.get(CONF_LANGUAGE),
            agent_id=call.data.get(ATTR_AGENT),
        )
    except ValueError as err:
        raise _fault("agent_unknown", agent=call.data.get(ATTR_AGENT, "")) from err
    speech = answer.response.speech.get("plain", {}).get("speech")
    text = speech if isinstance(speech, str) else ""
    if call.data[ATTR_SPEAK] and text:
        entity_id = er.async_get(hass).async_get_entity_id(
            SATELLITE_DOMAIN, DOMAIN, f"{device.mac}_{SATELLITE_DOMAIN}"
        )
        if entity_id is None:
            raise _fault("no_satellite", name=device.name)
        await hass.services.async_call(
            SATELLITE_DOMAIN,
            "announce",
            {ATTR_ENTITY_ID: entity_id, "message": text},
            blocking=True,
            context=call.context,
        )
    return {"answer": text}


async def _complete(call: ServiceCall) -> ServiceResponse:
    device, data = target_device(call), call.data
    if not device.state.capabilities.completions:
        raise _fault("no_completions", name=device.name)
    if ATTR_PROMPT in data:
        _known_prompt(device, data[ATTR_PROMPT])
        reference = {"type": "ref/prompt", "name": data[ATTR_PROMPT]}
    else:
        if device.state.offers.template(data[ATTR_URI]) is None:
            raise _fault("template_unknown", name=device.name, uri=one_line(data[ATTR_URI]))
        reference = {"type": "ref/resource", "uri": data[ATTR_URI]}
    argument = data[ATTR_ARGUMENT]
    values = await device.commands.ask(
        one_line(argument),
        lambda mcp: mcp.complete(reference, argument, data[ATTR_VALUE], data[ATTR_ARGUMENTS]),
    )
    return {"values": list(values)}


async def _prompted(call: ServiceCall) -> PromptResult:
    device, name, arguments = target_device(call), call.data[ATTR_PROMPT], call.data[ATTR_ARGUMENTS]
    prompt = _known_prompt(device, name)
    try:
        check_prompt_arguments(prompt, arguments)
    except PromptArgumentError as err:
        reference = {"type": "ref/prompt", "name": name}
        raise _fault(
            f"prompt_argument_{err.reason}",
            prompt=prompt.shown,
            argument=one_line(err.name),
            values=await _proposed(device, reference, err.name) if err.reason == "missing" else "",
        ) from err
    return await device.commands.ask(prompt.shown, lambda mcp: mcp.get_prompt(name, arguments))


def _known_prompt(device: Device, name: str) -> Prompt:
    if (prompt := device.state.offers.prompt(name)) is None:
        raise _fault("prompt_unknown", name=device.name, prompt=one_line(name))
    return prompt


async def _filled(device: Device, uri: str, arguments: Mapping[str, str]) -> str:
    """Return a URI, or that of a listed template with its arguments. Raises `ServiceValidationError`."""
    if device.state.offers.template(uri) is None:
        if arguments:
            raise _fault("template_unknown", name=device.name, uri=one_line(uri))
        filled = uri
    else:
        for variable in variables_of(uri):
            if variable not in arguments:
                reference = {"type": "ref/resource", "uri": uri}
                values = await _proposed(device, reference, variable)
                raise _fault("template_argument_missing", argument=variable, uri=uri, values=values)
        filled = expand(uri, arguments)
    if not is_uri(filled):
        raise _fault("uri_malformed", uri=one_line(filled))
    return filled


async def _proposed(device: Device, reference: dict[str, Any], argument: str) -> str:
    """Return the values that the device proposes, as a text for an error; a dash without any."""
    values: tuple[str, ...] = ()
    if device.state.capabilities.completions:
        try:
            values = await device.commands.ask(argument, lambda mcp: mcp.complete(reference, argument, ""))
        except HomeAssistantError:
            values = ()
    return ", ".join(values[:_MAX_SHOWN]) or "–"


def _content(content: ResourceContents) -> dict[str, Any]:
    shown: dict[str, Any] = {ATTR_URI: content.uri, "mime_type": content.mime_type}
    if content.data is not None:
        return shown | {"data": base64.b64encode(content.data).decode()}
    return shown | {"text": content.text, "value": _parsed(content.text or "")}


def _parsed(text: str) -> Any:
    try:
        value = parse_json(text)
    except ValueError:
        return text
    return value if is_bounded(value, size=len(text) + 2, depth=16) else text


def _as_text(result: PromptResult) -> str:
    """Return the messages as one text; other content than text is left out."""
    roles = {message.role for message in result.messages}
    texts = [
        message.text if roles == {"user"} else f"{message.role}: {message.text}"
        for message in result.messages
        if message.text
    ]
    return clean_text("\n\n".join(texts), _MAX_PROMPT)


def _fault(key: str, **placeholders: str) -> ServiceValidationError:
    return ServiceValidationError(
        translation_domain=DOMAIN, translation_key=key, translation_placeholders=placeholders
    )
