"""The action that reads or follows a resource of a device, gets a prompt, or lists both."""

from typing import Any, Final

from homeassistant.core import ServiceCall, ServiceResponse, SupportsResponse
from homeassistant.helpers import config_validation as cv
import voluptuous as vol

from ...actions.action import Action
from ...actions.targets import target_device
from ...errors import InputError
from ...protocol.mcp.client import McpClient
from ...protocol.mcp.model import McpCallError
from ...util.text import one_line
from .followed import follow
from .resources import MAX_URI, get_prompt, is_uri, list_prompts, list_resources, read_resource

ATTR_ARGUMENTS: Final = "arguments"
ATTR_FOLLOW: Final = "follow"
ATTR_PROMPT: Final = "prompt"
ATTR_URI: Final = "uri"


_TEXTS: Final = vol.All({cv.string: vol.All(cv.string, vol.Length(max=1024))}, vol.Length(max=32))
_FIELDS: Final = {
    vol.Exclusive(ATTR_URI, "what"): vol.All(cv.string, vol.Length(min=1, max=MAX_URI)),
    vol.Exclusive(ATTR_PROMPT, "what"): vol.All(cv.string, vol.Length(min=1, max=MAX_URI)),
    vol.Optional(ATTR_ARGUMENTS, default=dict): _TEXTS,
    vol.Optional(ATTR_FOLLOW): cv.boolean,
}


async def _read(call: ServiceCall) -> ServiceResponse:
    device, data = target_device(call), call.data
    if (uri := data.get(ATTR_URI)) is not None:
        if not is_uri(uri):
            raise InputError("uri_malformed", uri=one_line(uri))
        wanted = data.get(ATTR_FOLLOW)
        with device.commands.asking(one_line(uri)) as mcp:
            if wanted is not None:
                await follow(device, mcp, uri, wanted=wanted)
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


# A device may reserve some of it for its users.
ACTIONS: Final = {
    "read_resource": Action(run=_read, fields=_FIELDS, response=SupportsResponse.ONLY, admin=True)
}
