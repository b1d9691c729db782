"""The action that reads or follows a resource of a device, gets a prompt, or lists both."""

from functools import partial
from typing import Any, Final

from homeassistant.core import HomeAssistant, ServiceCall, ServiceResponse, SupportsResponse, callback
from homeassistant.helpers import config_validation as cv
import voluptuous as vol

from ...actions.rights import require_admin
from ...actions.targets import target_device
from ...const import DOMAIN
from ...device.device import Device
from ...errors import InputError
from ...protocol.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND
from ...protocol.mcp.client import McpClient
from ...protocol.mcp.model import (
    RESOURCE_NOT_FOUND,
    McpCallError,
    McpError,
)
from ...util.text import one_line
from .resources import MAX_URI, get_prompt, is_uri, list_prompts, list_resources, read_resource

SERVICE_READ_RESOURCE: Final = "read_resource"

ATTR_ARGUMENTS: Final = "arguments"
ATTR_FOLLOW: Final = "follow"
ATTR_PROMPT: Final = "prompt"
ATTR_URI: Final = "uri"

_MAX_VALUE: Final = 1024
_MAX_ARGUMENTS: Final = 32

_TEXTS: Final = vol.All(
    {cv.string: vol.All(cv.string, vol.Length(max=_MAX_VALUE))}, vol.Length(max=_MAX_ARGUMENTS)
)
_SCHEMA: Final = cv.make_entity_service_schema(
    {
        vol.Exclusive(ATTR_URI, "what"): vol.All(cv.string, vol.Length(min=1, max=MAX_URI)),
        vol.Exclusive(ATTR_PROMPT, "what"): vol.All(cv.string, vol.Length(min=1, max=MAX_URI)),
        vol.Optional(ATTR_ARGUMENTS, default=dict): _TEXTS,
        vol.Optional(ATTR_FOLLOW): cv.boolean,
    }
)

MAX_FOLLOWED: Final = 32
_GONE: Final = frozenset({INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND})


@callback
def async_follow_again(device: Device) -> None:
    """Subscribe on each new link to the resources that are followed.

    The device reports their updates, which become events like all its notifications.
    """
    device.handshake.steps.append(partial(_subscribe_again, device))


async def _subscribe_again(device: Device, mcp: McpClient) -> None:
    """Subscribe to all resources that are followed. Raises `McpError` if some are to be tried again."""
    refusal: McpCallError | None = None
    for uri in device.state.followed:
        try:
            await mcp.request("resources/subscribe", {"uri": uri})
        except McpCallError as err:
            if err.code in _GONE:
                # Other firmware, which does not have this resource.
                _remember(device, uri, followed=False)
            else:
                refusal = err
    if refusal is not None:
        raise McpError(f"a resource is refused for now: {refusal}")


async def _follow(device: Device, mcp: McpClient, uri: str, *, wanted: bool) -> None:
    """Begin or end to follow a resource. Raises `InputError` and `McpError`."""
    if not wanted:
        _remember(device, uri, followed=False)
        await mcp.request("resources/unsubscribe", {"uri": uri})
        return
    if len({*device.state.followed, uri}) > MAX_FOLLOWED:
        raise InputError("too_many_followed", name=device.name, limit=str(MAX_FOLLOWED))
    await mcp.request("resources/subscribe", {"uri": uri})
    _remember(device, uri, followed=True)


@callback
def _remember(device: Device, uri: str, *, followed: bool) -> None:
    others = (known for known in device.state.followed if known != uri)
    device.record.update(followed=(*others, uri) if followed else tuple(others))


@callback
def async_setup_read_action(hass: HomeAssistant) -> None:
    """Register the action."""
    hass.services.async_register(
        DOMAIN, SERVICE_READ_RESOURCE, _read, _SCHEMA, supports_response=SupportsResponse.ONLY
    )


async def _read(call: ServiceCall) -> ServiceResponse:
    device, data = target_device(call), call.data
    # A device may reserve some of it for its users.
    await require_admin(call.hass, call.context)
    if (uri := data.get(ATTR_URI)) is not None:
        if not is_uri(uri):
            raise InputError("uri_malformed", uri=one_line(uri))
        wanted = data.get(ATTR_FOLLOW)
        with device.commands.asking(one_line(uri)) as mcp:
            if wanted is not None:
                await _follow(device, mcp, uri, wanted=wanted)
            return {ATTR_URI: uri, "contents": await read_resource(mcp, uri)}
    if (prompt := data.get(ATTR_PROMPT)) is not None:
        with device.commands.asking(one_line(prompt)) as mcp:
            messages: list[Any] = await get_prompt(mcp, prompt, data[ATTR_ARGUMENTS])
        return {"messages": messages}
    with device.commands.asking("resources/list") as mcp:
        return await _list(mcp)


async def _list(mcp: McpClient) -> dict[str, Any]:
    """Return the lists of a device, which may have only one of them."""
    lists: dict[str, Any] = {"resources": [], "prompts": []}
    for name, fetch in (("resources", list_resources), ("prompts", list_prompts)):
        try:
            lists[name] = await fetch(mcp)
        except McpCallError:
            continue
    return lists
