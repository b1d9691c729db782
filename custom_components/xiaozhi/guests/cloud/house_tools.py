"""The tools of the house: those of Home Assistant's LLM APIs that the owner lets an access point offer."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
import logging
from typing import Any, Final, override

from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.util import slugify
import probatio
import voluptuous as vol

from ...const import DOMAIN
from ...protocol.access_point.tools import OfferedTool, ToolError
from ...protocol.messages import JsonObject
from ...protocol.timeouts import AccessPointTimeouts

_LOGGER = logging.getLogger(__name__)

# Scripts of the owner do not state how far they reach.
_WRITTEN_BY_OWNER: Final = frozenset({"script", "intent_script"})
# It creates an LLM API from a server elsewhere, whose claims about its tools are not trusted.
_REMOTE: Final = "mcp"
# Lists of about 25 tools and more were refused by some clouds.
_MANY: Final = 40
_FAILED: Final = "The tool failed without saying why."
# Faults that are in the log already: the list is made again whenever something changes in the house.
_LOGGED: Final = set[str]()


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseTool(OfferedTool):
    """A tool of an LLM API."""

    names: frozenset[str]
    """Its name, and those with the API in front by which its owner may have chosen it: until 2026.10, Home
    Assistant put the API's name in front of all tools of several APIs, since then its id where two APIs have
    the name."""
    label: str
    """Its title, if it has one, and its name."""
    written_by_owner: bool
    """Whether it is a script of the owner, of which there may be hundreds."""
    reaches_out: bool
    """Whether the tool acts beyond the house, or does not say that it does not."""
    tool: llm.Tool
    api: llm.APIInstance

    @override
    def schema(self) -> JsonObject:
        """Return the JSON schema of its arguments, as Home Assistant's own MCP server gives it."""
        tool, api, converted = self.tool, self.api, dict[str, Any]()
        try:
            converted = probatio.to_openapi(
                tool.parameters, custom_serializer=api.custom_serializer, openapi_version="3.1.0"
            )
        except Exception:  # noqa: BLE001 - logged with its traceback
            # One tool of another integration must not take all the others with it.
            _log_once(f"The arguments of the tool {tool.name} cannot be described")
        schema = {"type": "object", "properties": converted.get("properties", {})}
        if required := converted.get("required"):
            schema["required"] = required
        return schema

    @override
    async def call(self, arguments: JsonObject) -> Any:
        """Call it. Raises `ToolError` with the words of Home Assistant."""
        # Language models give null for an argument that they leave out.
        given = {name: value for name, value in arguments.items() if value is not None}
        # A context of its own, so that logbook and traces show one chain for each call.
        api = replace(self.api, llm_context=replace(self.api.llm_context, context=Context()))
        try:
            result = await api.async_call_tool(llm.ToolInput(tool_name=self.tool.name, tool_args=given))
        except (HomeAssistantError, vol.Invalid, probatio.Invalid) as err:
            raise ToolError(str(err) or _FAILED) from err
        if result.error:
            raise ToolError(str(result.data.get("error") or _FAILED))
        return result.data


def offerable_apis(hass: HomeAssistant) -> dict[str, str]:
    """Return the names of the LLM APIs by id, without those for administrators."""
    # Added in 2026.11.
    return {api.id: api.name for api in llm.async_get_apis(hass) if not getattr(api, "requires_admin", False)}


def _house_tool(tool: llm.Tool, api: llm.APIInstance, *, taken: bool) -> HouseTool:
    """Describe a tool. If its name is `taken` by another API, its own API stands in front."""
    by_id, by_name = (f"{slugify(part)}__{tool.name}" for part in (api.api.id, api.api.name))
    name = by_id if taken else tool.name
    written_by_owner, remote = tool.integration in _WRITTEN_BY_OWNER, tool.integration == _REMOTE
    return HouseTool(
        name=name,
        names=frozenset({name, by_id, by_name}),
        label=" · ".join(filter(None, (tool.title, name))),
        description=tool.description or tool.title or tool.name,
        changes_nothing=tool.annotations.read_only and not remote,
        written_by_owner=written_by_owner,
        reaches_out=remote or (tool.annotations.open_world and not written_by_owner),
        tool=tool,
        api=api,
    )


def _log_once(fault: str) -> None:
    """Log the exception that is being handled."""
    _LOGGER.log(logging.DEBUG if fault in _LOGGED else logging.ERROR, "%s", fault, exc_info=True)
    _LOGGED.add(fault)


async def async_house(
    hass: HomeAssistant, apis: Iterable[str], device_id: str | None
) -> tuple[list[HouseTool], tuple[str, ...]]:
    """Return the tools of these LLM APIs at this moment, and the ids of those that cannot be offered.

    `device_id` is the service device of the access point, whose area is where "the light" is.
    """
    apis, known = tuple(apis), offerable_apis(hass)
    context = llm.LLMContext(
        platform=DOMAIN,
        context=Context(),
        language=hass.config.language,
        assistant=CONVERSATION_DOMAIN,
        device_id=device_id,
    )
    tools: list[HouseTool] = []
    missing = [api for api in apis if api not in known]
    for api_id in filter(known.__contains__, apis):
        taken = {tool.name for tool in tools}
        try:
            async with asyncio.timeout(AccessPointTimeouts.api):
                api = await llm.async_get_api(hass, api_id, context)
            tools += [_house_tool(tool, api, taken=tool.name in taken) for tool in api.tools]
        except Exception:  # noqa: BLE001 - logged with its traceback
            # One API of another integration must not take all the others with it.
            _log_once(f"The tools of {known[api_id]} cannot be listed")
            missing.append(api_id)
    return tools, tuple(missing)


def automatic_tools(tools: Iterable[HouseTool]) -> list[str]:
    """Return the names of the tools in the automatic choice: those that stay in the house."""
    return [tool.name for tool in tools if not tool.reaches_out]


def proposed_tools(tools: Sequence[HouseTool]) -> list[str]:
    """Return the names of the tools that a form proposes: the automatic choice, unless clouds refuse so many.

    Then it is without the owner's scripts: to search for some is less work than to take away hundreds.
    """
    automatic = set(automatic_tools(tools))
    many = len(automatic) > _MANY
    return [tool.name for tool in tools if tool.name in automatic and not (many and tool.written_by_owner)]


def offered_tools(
    tools: Iterable[HouseTool], chosen: Iterable[str] | None, *, questions_only: bool
) -> list[HouseTool]:
    """Return the tools that are offered. `chosen` are names, None for the automatic choice."""
    tools = tuple(tools)
    names = set(automatic_tools(tools) if chosen is None else chosen)
    return [tool for tool in tools if tool.names & names and (tool.changes_nothing or not questions_only)]
