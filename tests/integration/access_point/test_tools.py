"""What is offered, and how its results and failures look to a cloud."""

import asyncio
import json
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.setup import async_setup_component
import probatio

from simulator.access_point import Cloud
from tests.integration.access_point.conftest import Apis, Offer
from tests.integration.access_point.house import LIVE, TURN_ON, ScriptedApi, ScriptedTool, state

HOME = {"open_world": False}


async def test_tools_that_reach_out_are_off_at_first(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    """Those of remote servers whatever they say; on when the owner has chosen them."""
    apis(
        ScriptedApi(
            hass,
            ScriptedTool("at_home", **HOME),
            ScriptedTool("undeclared"),
            ScriptedTool("remote_claims_home", **HOME),
        ),
    )
    await offer(cloud.url(cloud.token(1)), llm_hass_api=["scripted"])
    session = await (await cloud.session()).ready()
    assert set(session.tools) == {"at_home"}


async def test_chosen_tools_are_offered_and_no_others(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    tools = [ScriptedTool("one", **HOME), ScriptedTool("remote_two"), ScriptedTool("three", **HOME)]
    apis(ScriptedApi(hass, *tools))
    await offer(cloud.url(), llm_hass_api=["scripted"], tools=["one", "remote_two", "gone"])
    session = await (await cloud.session()).ready()
    assert set(session.tools) == {"one", "remote_two"}
    assert (await session.call("three", {})).failed
    assert tools[2].contexts == []
    assert not (await session.call("remote_two", {})).failed


async def test_scripts_of_the_owner_are_offered(hass: HomeAssistant, offer: Offer, cloud: Cloud) -> None:
    """They do not say how far they reach, but the owner has exposed each of them."""
    script = {"sequence": [], "description": "Closes everything", "fields": {"room": {"required": True}}}
    assert await async_setup_component(hass, "script", {"script": {"good_night": script}})
    async_expose_entity(hass, "conversation", "script.good_night", True)
    await offer(cloud.url())
    session = await (await cloud.session()).ready()
    tool = session.tools["script__good_night"]
    assert tool["description"].startswith("Closes everything")
    assert tool["inputSchema"]["required"] == ["room"]
    assert not (await session.call("script__good_night", {"room": "all"})).failed


async def test_questions_only(hass: HomeAssistant, offer: Offer, cloud: Cloud) -> None:
    """Only what changes nothing is listed, and only that can be called."""
    await offer(cloud.url(), questions_only=True)
    session = await (await cloud.session()).ready()
    assert LIVE in session.tools
    assert TURN_ON not in session.tools
    assert (await session.call(TURN_ON, {"name": "Kitchen light"})).failed
    assert state(hass, "input_boolean.kitchen_light") == "off"


async def test_each_call_has_its_own_context(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    """With the service device, so that the owner's area counts."""
    tool = ScriptedTool("one", **HOME)
    apis(ScriptedApi(hass, tool))
    await offer(cloud.url(), llm_hass_api=["scripted"])
    session = await (await cloud.session()).ready()
    for _ in range(2):
        await session.call("one", {})
    first, second = tool.contexts
    assert first.context is not None
    assert second.context is not None
    assert first.context.id != second.context.id
    assert (first.platform, first.assistant, first.language) == ("xiaozhi", "conversation", "en")
    assert first.device_id == second.device_id is not None


async def test_results_and_failures_are_texts(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    results: tuple[tuple[Any, Any], ...] = (
        (llm.ToolResult(data={"error": "The oven is hot."}, error=True), {"error": "The oven is hot."}),
        (llm.ToolResult(data={}, error=True), {"error": "The tool failed without saying why."}),
        (HomeAssistantError("No such oven."), {"error": "No such oven."}),
        (HomeAssistantError(), {"error": "The tool failed without saying why."}),
        (probatio.Invalid("expected str"), {"error": "expected str"}),
        (ValueError("secret detail"), {"error": "The tool failed. The log of Home Assistant says why."}),
        ({"action": "bake"}, {"result": {"action": "bake"}}),
    )
    apis(ScriptedApi(hass, *(ScriptedTool(f"tool_{at}", one, **HOME) for at, (one, _) in enumerate(results))))
    await offer(cloud.url(), llm_hass_api=["scripted"])
    session = await (await cloud.session()).ready()
    for at, (_, text) in enumerate(results):
        answer = await session.call(f"tool_{at}", {})
        assert not answer.failed
        assert json.loads(answer.text) == text


async def test_a_tool_that_cannot_be_described_does_not_take_the_others_with_it(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    broken, good = ScriptedTool("broken", **HOME), ScriptedTool("good", **HOME)
    unreadable = object()
    broken.parameters = probatio.Schema({"text": unreadable})

    def serialize(value: Any) -> Any:
        if value is unreadable:
            raise RuntimeError
        return probatio.UNSUPPORTED

    api = ScriptedApi(hass, broken, good)
    api.serializer = serialize
    apis(api)
    await offer(cloud.url(), llm_hass_api=["scripted"])
    session = await (await cloud.session()).ready()
    assert session.tools["broken"]["inputSchema"] == {"type": "object", "properties": {}}
    assert "text" in session.tools["good"]["inputSchema"]["properties"]


async def test_the_tools_are_not_made_again_for_each_request(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    """In a house of 10,000 entities that takes a sixth of a second of Home Assistant's time."""
    api = ScriptedApi(hass, ScriptedTool("one", **HOME))
    apis(api)
    await offer(cloud.url(), llm_hass_api=["scripted"])
    session = await (await cloud.session()).ready()
    await asyncio.sleep(30)
    before = api.made
    for _ in range(20):
        assert not (await session.call("one", {})).failed
    assert api.made - before <= 2
    await asyncio.sleep(6)
    await session.call("one", {})
    assert api.made - before <= 3
