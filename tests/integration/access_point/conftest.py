"""A house with a gateway, and access points of clouds that are doubles."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import ExitStack
from typing import Any

from homeassistant.components.homeassistant.llm import GetLiveContextTool
from homeassistant.config_entries import ConfigSubentryData
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
import probatio
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.guests.cloud.access_point import SUBENTRY_ACCESS_POINT
from custom_components.xiaozhi.protocol.access_point.address import AccessPointAddress
from simulator.access_point import Cloud, EndpointServer
from tests.integration.http_device import MakeEntry, running

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


type Apis = Callable[[llm.API], object]
type Offer = Callable[..., Awaitable[MockConfigEntry]]


@pytest.fixture
async def cloud(home_assistant: None) -> AsyncGenerator[Cloud]:
    async with Cloud() as cloud:
        yield cloud


@pytest.fixture
async def server(home_assistant: None) -> AsyncGenerator[EndpointServer]:
    async with EndpointServer() as server:
        yield server


@pytest.fixture
def apis(hass: HomeAssistant) -> Generator[Apis]:
    """Return what registers an LLM API, until the test ends."""
    with ExitStack() as registered:
        yield lambda api: registered.callback(llm.async_register_api(hass, api))


def access_point(url: str, title: str = "Robot", **data: Any) -> ConfigSubentryData:
    """Return the subentry of an access point."""
    return ConfigSubentryData(
        subentry_type=SUBENTRY_ACCESS_POINT,
        unique_id=AccessPointAddress.parse(url).identity,
        title=title,
        data={"url": url, **data},
    )


@pytest.fixture
async def offer(hass: HomeAssistant, core: None, make_entry: MakeEntry) -> Offer:
    """Return what starts a gateway with an access point at each address."""

    async def start(*urls: str, **data: Any) -> MockConfigEntry:
        points = (
            access_point(url, f"Robot {number}" if number else "Robot", **data)
            for number, url in enumerate(urls)
        )
        return await running(hass, make_entry(*points))

    return start
