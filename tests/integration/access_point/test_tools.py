"""What is offered, and how its results and failures look to a cloud."""

import asyncio
from datetime import timedelta
import json
import logging
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import area_registry as ar, llm
from homeassistant.setup import async_setup_component
from homeassistant.util import dt as dt_util
import probatio
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from simulator.access_point import Cloud, EndpointServer
from tests.integration.access_point.conftest import Apis, Offer, ScriptedApi, ScriptedTool
from tests.integration.boxes import open_issues, state_of
from tests.protocol.access_point.site import until

HOME = {"open_world": False}


async def test_outreaching_tools_are_off_at_first_and_only_chosen_ones_offered(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    """Those of remote servers reach out whatever they say."""
    tools = [
        ScriptedTool("at_home", **HOME),
        ScriptedTool("undeclared"),
        ScriptedTool("remote_claims_home", **HOME),
    ]
    apis(ScriptedApi(hass, *tools))
    entry = await offer(cloud.url(), llm_hass_api=["scripted"])
    session = await (await cloud.session()).ready()
    assert set(session.tools) == {"at_home"}
    (subentry,) = entry.subentries.values()
    chosen = {**subentry.data, "tools": ["undeclared", "remote_claims_home", "gone"]}
    hass.config_entries.async_update_subentry(entry, subentry, data=chosen)
    session = await (await cloud.session(2)).ready()
    assert set(session.tools) == {"undeclared", "remote_claims_home"}
    assert (await session.call("at_home", {})).failed
    assert tools[0].contexts == []
    assert not (await session.call("remote_claims_home", {})).failed


@pytest.mark.parametrize(
    ("chosen", "offered"),
    [
        (["one", "assist__one"], {"one"}),
        (["second_api__one", "first__two"], {"second_api__one", "two"}),
        (["later__one", "first__one", "second_api__two"], {"second_api__one", "one"}),
    ],
    ids=["as they are", "by id", "by name, as before 2026.11"],
)
async def test_tools_of_several_apis_are_found_by_every_former_name(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis, chosen: list[str], offered: set[str]
) -> None:
    """Another API's tool of the same name is another tool."""
    first, second = ScriptedTool("one", 1), ScriptedTool("one", 2)
    apis(ScriptedApi(hass, first, ScriptedTool("two"), api_id="first"))
    later = ScriptedApi(hass, second, api_id="second-api")
    later.name = "Later"
    apis(later)
    await offer(cloud.url(), llm_hass_api=["first", "second-api"], tools=chosen)
    session = await (await cloud.session()).ready()
    assert set(session.tools) == offered
    for name, tool in {"one": first, "second_api__one": second}.items():
        if name in offered:
            assert json.loads((await session.call(name, {})).text) == tool.result


async def test_scripts_of_the_owner_are_offered(hass: HomeAssistant, offer: Offer, cloud: Cloud) -> None:
    """They do not say how far they reach, but the owner has exposed each of them, until the next call."""
    script = {"sequence": [], "description": "Closes everything", "fields": {"room": {"required": True}}}
    assert await async_setup_component(hass, "script", {"script": {"good_night": script}})
    async_expose_entity(hass, "conversation", "script.good_night", True)
    await offer(cloud.url())
    session = await (await cloud.session()).ready()
    tool = session.tools["script__good_night"]
    assert tool["description"].startswith("Closes everything")
    assert tool["inputSchema"]["required"] == ["room"]
    assert not (await session.call("script__good_night", {"room": "all"})).failed
    async_expose_entity(hass, "conversation", "script.good_night", False)
    assert (await session.call("script__good_night", {"room": "all"})).failed


async def test_each_call_has_its_own_context_without_listing_the_tools_again(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    """With the service device, so that the owner's area counts."""
    tool = ScriptedTool("one", **HOME)
    api = ScriptedApi(hass, tool)
    apis(api)
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
    # In a house of 10,000 entities that takes a sixth of a second of Home Assistant's time.
    await asyncio.sleep(30)
    before = api.made
    for _ in range(20):
        assert not (await session.call("one", {})).failed
    assert api.made - before <= 2
    await asyncio.sleep(6)
    await session.call("one", {})
    assert api.made - before <= 3


async def test_results_are_texts_and_an_indescribable_tool_is_left_out(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis, caplog: pytest.LogCaptureFixture
) -> None:
    results: tuple[tuple[Any, Any], ...] = (
        (llm.ToolResult(data={"error": "The oven is hot."}, error=True), {"error": "The oven is hot."}),
        (llm.ToolResult(data={}, error=True), {"error": "The tool failed without saying why."}),
        (HomeAssistantError("No such oven."), {"error": "No such oven."}),
        (HomeAssistantError(), {"error": "The tool failed without saying why."}),
        (probatio.Invalid("expected str"), {"error": "expected str"}),
        ({"action": "bake"}, {"result": {"action": "bake"}}),
    )
    tools = [ScriptedTool(f"tool_{at}", one, **HOME) for at, (one, _) in enumerate(results)]
    broken = ScriptedTool("broken", **HOME)
    unreadable = object()
    broken.parameters = probatio.Schema({"text": unreadable})

    def serialize(value: Any) -> Any:
        if value is unreadable:
            raise RuntimeError
        return probatio.UNSUPPORTED

    api = ScriptedApi(hass, broken, *tools)
    api.serializer = serialize
    apis(api)
    await offer(cloud.url(), llm_hass_api=["scripted"])
    session = await (await cloud.session()).ready()
    assert session.tools["broken"]["inputSchema"] == {"type": "object", "properties": {}}
    assert "text" in session.tools["tool_0"]["inputSchema"]["properties"]
    for at, (_, text) in enumerate(results):
        answer = await session.call(f"tool_{at}", {})
        assert not answer.failed
        assert json.loads(answer.text) == text
    # The list is made again and again.
    for number in range(3):
        ar.async_get(hass).async_create(f"Room {number}")
        await asyncio.sleep(20)
    errors = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert errors == ["The arguments of the tool broken cannot be described"]


DAY = timedelta(days=1).total_seconds()


def issues(hass: HomeAssistant) -> set[str]:
    """Return what the issues are that there are."""
    return {str(issue.translation_key).removeprefix("access_point_") for issue in open_issues(hass)}


@pytest.mark.parametrize(
    ("valid", "expected"), [(None, set()), (400 * DAY, set()), (20 * DAY, {"expiring"}), (-10.0, {"expired"})]
)
async def test_an_address_that_expires(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, valid: float | None, expected: set[str]
) -> None:
    """Once it has, the refusal needs no message of its own."""
    await offer(cloud.url(cloud.token(valid=valid)))
    await asyncio.sleep(10)
    assert issues(hass) == expected


async def test_a_refused_address(hass: HomeAssistant, offer: Offer, cloud: Cloud) -> None:
    """It is tried again every five minutes, and the message goes away when it is accepted."""
    cloud.opening.status = 403
    entry = await offer(cloud.url())
    await until(lambda: issues(hass) == {"refused"})
    await asyncio.sleep(200)
    assert len(cloud.attempts) == 1
    cloud.opening.status = None
    await (await cloud.session()).ready()
    await until(lambda: not issues(hass))
    assert state_of(hass, "binary_sensor.robot_connectivity").state == "on"
    cloud.opening.status = 403
    await cloud.agent().sessions[0].close(1001)
    await until(lambda: issues(hass) == {"refused"})
    assert await hass.config_entries.async_unload(entry.entry_id)
    assert issues(hass) == set()


async def test_too_many_tools(hass: HomeAssistant, offer: Offer, cloud: Cloud) -> None:
    cloud.faults.max_tools = 2
    await offer(cloud.url())
    await until(lambda: issues(hass) == {"too_many_tools"})
    cloud.faults.max_tools = None
    await until(lambda: not issues(hass))


async def test_an_address_that_is_used_elsewhere(
    hass: HomeAssistant, offer: Offer, server: EndpointServer
) -> None:
    """Two houses with one address would throw each other out all the time."""
    url = server.url()
    await offer(url, url)
    await until(lambda: "used_elsewhere" in issues(hass))
    attempts = len(server.attempts)
    await asyncio.sleep(280)
    assert len(server.attempts) - attempts <= 8


async def test_an_api_that_comes_back_unseen(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis
) -> None:
    """The server of a remote API was away when Home Assistant started; nobody calls a tool meanwhile."""
    await offer(cloud.url(), llm_hass_api=["assist", "scripted"])
    await (await cloud.session()).ready()
    await asyncio.sleep(100)
    assert issues(hass) == {"api_gone"}
    # The entities of the gateway, which are set up meanwhile, may have renewed the connection already.
    before = len(cloud.sessions)
    apis(ScriptedApi(hass, ScriptedTool("one", open_world=False)))
    async_fire_time_changed(hass, dt_util.utcnow() + timedelta(hours=1))
    await until(lambda: not issues(hass), seconds=60)
    async with asyncio.timeout(100):
        renewed = await (await cloud.session(before + 1)).ready()
    assert "one" in renewed.tools


class HangingApi(ScriptedApi):
    """Never answers."""

    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        await asyncio.Event().wait()
        raise AssertionError


class RaisingApi(ScriptedApi):
    """Has a fault."""

    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        raise KeyError("a fault of another integration")


class WrongApi(ScriptedApi):
    """Gives something else than tools."""

    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        return llm.APIInstance(api=self, api_prompt="", llm_context=llm_context, tools=[None])  # type: ignore[list-item]


@pytest.mark.parametrize("kind", [HangingApi, RaisingApi, WrongApi])
async def test_an_api_that_fails_costs_no_tool_of_another_and_is_reported(
    hass: HomeAssistant,
    offer: Offer,
    cloud: Cloud,
    apis: Apis,
    caplog: pytest.LogCaptureFixture,
    kind: type[ScriptedApi],
) -> None:
    apis(kind(hass, api_id="failing"))
    apis(ScriptedApi(hass, ScriptedTool("one", **HOME)))
    await offer(cloud.url(), llm_hass_api=["failing", "scripted"])
    session = await (await cloud.session()).ready()
    assert set(session.tools) == {"one"}
    assert not (await session.call("one", {})).failed
    assert issues(hass) == {"api_gone"}
    assert caplog.text.count("The tools of Failing cannot be listed") >= 1
    errors = [record.message for record in caplog.records if record.levelname == "ERROR"]
    assert errors.count("The tools of Failing cannot be listed") <= 1
