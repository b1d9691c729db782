"""What the tests of access points share."""

from typing import Any

from homeassistant.components.homeassistant.llm import GetLiveContextTool
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
import probatio

TURN_ON = "intent__HassTurnOn"
LIGHT_SET = "light__HassLightSet"
# Its name differs between versions of Home Assistant.
LIVE = GetLiveContextTool.name
LAMP = {"name": "Kitchen light"}


class ScriptedTool(llm.Tool):
    """A tool of another integration."""

    parameters = probatio.Schema({probatio.Optional("text"): str})

    def __init__(self, name: str, result: Any = None, **annotations: bool) -> None:
        self.name = name
        self.description = f"Does {name}."
        self.integration = "mcp" if name.startswith("remote") else "scripted"
        self.annotations = llm.ToolAnnotations(**annotations)
        self.result: Any = result if result is not None else {"ok": True}
        self.contexts: list[llm.LLMContext] = []

    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> llm.ToolResult:
        self.contexts.append(llm_context)
        if isinstance(self.result, Exception):
            raise self.result
        if isinstance(self.result, llm.ToolResult):
            return self.result
        return llm.ToolResult(data=self.result)


class ScriptedApi(llm.API):
    """An LLM API of another integration."""

    def __init__(self, hass: HomeAssistant, *tools: llm.Tool, api_id: str = "scripted") -> None:
        super().__init__(hass=hass, id=api_id, name=api_id.title())
        self.tools = list(tools)
        self.serializer: Any = None
        self.made = 0

    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        self.made += 1
        return llm.APIInstance(
            api=self,
            api_prompt="",
            llm_context=llm_context,
            tools=list(self.tools),
            custom_serializer=self.serializer,
        )
