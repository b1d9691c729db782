"""The tools of the house: those of Home Assistant's LLM APIs that the owner lets an access point offer."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
import logging
from typing import Any, Final, override

from homeassistant.components.conversation import DOMAIN as CONVERSATION_DOMAIN
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
import probatio
import voluptuous as vol

from ..const import DOMAIN
from ..protocol.access_point.tools import OfferedTool, ToolError
from ..protocol.messages import JsonObject

_LOGGER = logging.getLogger(__name__)

# What the owner has written does not say of itself how far it reaches.
_WRITTEN_BY_OWNER: Final = frozenset({"script", "intent_script"})
# It makes an LLM API of a server somewhere else, whose word about its tools does not count.
_REMOTE: Final = "mcp"
# Lists of about 25 tools and more were refused by some clouds.
_MANY: Final = 40
_FAILED: Final = "The tool failed without saying why."


class HouseTool(OfferedTool):
    """A tool of an LLM API."""

    def __init__(self, tool: llm.Tool, api: llm.APIInstance) -> None:
        self._tool = tool
        self._api = api

    @property
    @override
    def name(self) -> str:
        return self._tool.name

    @property
    def label(self) -> str:
        """Return what people know it by: its title, if it has one, and its name."""
        return " · ".join(filter(None, (self._tool.title, self.name)))

    @property
    @override
    def description(self) -> str:
        return self._tool.description or self._tool.title or self._tool.name

    @property
    @override
    def schema(self) -> JsonObject:
        """Return the JSON schema of its arguments, as Home Assistant's own MCP server gives it."""
        converted: dict[str, Any] = {}
        try:
            converted = probatio.to_openapi(
                self._tool.parameters,
                custom_serializer=self._api.custom_serializer,
                openapi_version="3.1.0",
            )
        except Exception:
            # One tool of another integration must not take all the others with it.
            _LOGGER.exception("The arguments of the tool %s cannot be described", self.name)
        schema = {"type": "object", "properties": converted.get("properties", {})}
        if required := converted.get("required"):
            schema["required"] = required
        return schema

    @property
    @override
    def changes_nothing(self) -> bool:
        """Whether the tool only answers questions; the word of a remote server does not count."""
        return self._tool.annotations.read_only and self._tool.integration != _REMOTE

    @property
    def written_by_owner(self) -> bool:
        """Whether it is a script of the owner, of which there may be hundreds."""
        return self._tool.integration in _WRITTEN_BY_OWNER

    @property
    def reaches_out(self) -> bool:
        """Whether the tool acts beyond the house, or does not say that it does not."""
        origin = self._tool.integration
        return origin == _REMOTE or (self._tool.annotations.open_world and not self.written_by_owner)

    @override
    async def call(self, arguments: JsonObject) -> Any:
        """Call it. Raises `ToolError` with the words of Home Assistant."""
        # A context of its own, so that logbook and traces show one chain for each call.
        api = replace(self._api, llm_context=replace(self._api.llm_context, context=Context()))
        tool_input = llm.ToolInput(tool_name=self.name, tool_args=arguments)
        try:
            result = await api.async_call_tool(tool_input)
        except (HomeAssistantError, vol.Invalid, probatio.Invalid) as err:
            raise ToolError(str(err) or _FAILED) from err
        if result.error:
            raise ToolError(str(result.data.get("error") or _FAILED))
        return result.data


async def async_house(
    hass: HomeAssistant, apis: Iterable[str], device_id: str | None
) -> tuple[list[HouseTool], tuple[str, ...]]:
    """Return the tools of these LLM APIs at this moment, and the ids of the APIs that there are not.

    `device_id` is the service device of the access point, whose area is where "the light" is.
    """
    known = {api.id for api in llm.async_get_apis(hass)}
    missing = tuple(api for api in apis if api not in known)
    present = [api for api in apis if api in known]
    if not present:
        return [], missing
    context = llm.LLMContext(
        platform=DOMAIN,
        context=Context(),
        language=hass.config.language,
        assistant=CONVERSATION_DOMAIN,
        device_id=device_id,
    )
    api = await llm.async_get_api(hass, present, context)
    return [HouseTool(tool, api) for tool in api.tools], missing


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
    return [tool for tool in tools if tool.name in names and (tool.changes_nothing or not questions_only)]
