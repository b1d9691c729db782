"""The forms of an access point."""

from typing import Any
from unittest.mock import AsyncMock

from homeassistant.config_entries import SOURCE_USER
from homeassistant.core import HomeAssistant
from homeassistant.data_entry_flow import FlowResultType
from homeassistant.exceptions import Unauthorized
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from simulator.access_point import Cloud, EndpointServer
from tests.integration.access_point.conftest import LIVE, TURN_ON, Apis, Offer, ScriptedApi, ScriptedTool
from tests.integration.boxes import state_of
from tests.integration.provisioning.forms import check_texts, suggested, texts


def checked(result: Any) -> Any:
    return check_texts(texts("config_subentries")["access_point"], result)


async def add(hass: HomeAssistant, entry: MockConfigEntry, url: str, name: str = "Robot") -> Any:
    """Press *Connect a XiaoZhi cloud* and submit the address."""
    form = checked(
        await hass.config_entries.subentries.async_init(
            (entry.entry_id, "access_point"), context={"source": SOURCE_USER}
        )
    )
    assert form["step_id"] == "user"
    assert form["data_schema"].schema["url"].config["type"] == "password"
    return await submit(hass, form, name=name, url=url)


async def submit(hass: HomeAssistant, form: Any, **user_input: Any) -> Any:
    return checked(await hass.config_entries.subentries.async_configure(form["flow_id"], user_input))


@pytest.fixture
async def entry(offer: Offer) -> MockConfigEntry:
    return await offer()


async def test_adding_an_access_point(hass: HomeAssistant, entry: MockConfigEntry, cloud: Cloud) -> None:
    """The address is typed like a password; what it tells is shown, its token never."""
    url = cloud.url()
    form = await add(hass, entry, url)
    assert form["step_id"] == "offer"
    told = form["description_placeholders"]
    assert told["agent"] == "1001"
    assert told["host"].startswith("127.0.0.1:")
    assert told["expires"].count("-") == 2
    assert "not encrypted" in told["encryption"]
    assert cloud.token() not in str(form)
    assert suggested(form)["llm_hass_api"] == ["assist"]
    form = await submit(hass, form, llm_hass_api=["assist"], questions_only=False)
    assert form["step_id"] == "tools"
    suggested_tools = suggested(form)["tools"]
    assert {TURN_ON, LIVE} <= set(suggested_tools)
    assert int(form["description_placeholders"]["count"]) == len(suggested_tools)
    assert float(form["description_placeholders"]["kilobytes"]) > 1
    assert all(
        option["label"].endswith(" B)") for option in form["data_schema"].schema["tools"].config["options"]
    )
    result = await submit(hass, form, tools=suggested_tools)
    assert (result["type"], result["title"]) == ("create_entry", "Robot")
    await hass.async_block_till_done()
    (subentry,) = entry.subentries.values()
    assert subentry.data == {"url": url, "llm_hass_api": ["assist"], "questions_only": False}
    session = await (await cloud.session(2)).ready()
    assert TURN_ON in session.tools
    assert state_of(hass, "binary_sensor.robot_connectivity").state == "on"


async def test_a_choice_of_tools_is_kept(
    hass: HomeAssistant, entry: MockConfigEntry, cloud: Cloud, apis: Apis
) -> None:
    apis(ScriptedApi(hass, ScriptedTool("remote_one"), ScriptedTool("remote_two")))
    form = await add(hass, entry, cloud.url())
    assert (await submit(hass, form, llm_hass_api=[], questions_only=False))["errors"] == {
        "llm_hass_api": "no_api"
    }
    form = await submit(hass, form, llm_hass_api=["scripted"], questions_only=False)
    assert suggested(form)["tools"] == []
    result = await submit(hass, form, tools=["remote_two"])
    assert result["data"]["tools"] == ["remote_two"]
    await hass.async_block_till_done()
    session = await (await cloud.session(2)).ready()
    assert set(session.tools) == {"remote_two"}


async def test_admin_apis_are_not_offered_and_a_failing_one_is_a_form_error(
    hass: HomeAssistant, entry: MockConfigEntry, cloud: Cloud, apis: Apis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Home Assistant takes *unauthorized* for a failed login of the browser."""
    of_admins, failing = ScriptedApi(hass, api_id="of_admins"), ScriptedApi(hass, api_id="failing")
    monkeypatch.setattr(of_admins, "requires_admin", True, raising=False)
    monkeypatch.setattr(failing, "async_get_api_instance", AsyncMock(side_effect=Unauthorized))
    apis(of_admins)
    apis(failing)
    form = await add(hass, entry, cloud.url())
    options = form["data_schema"].schema["llm_hass_api"].config["options"]
    assert {option["value"] for option in options} == {"assist", "failing"}
    assert form["description_placeholders"]["assist"] in {option["label"] for option in options}
    form = await submit(hass, form, llm_hass_api=["failing"], questions_only=False)
    assert (form["step_id"], form["errors"]) == ("offer", {"llm_hass_api": "api_failed"})
    assert suggested(form)["llm_hass_api"] == ["failing"]
    form = await submit(hass, form, llm_hass_api=["assist"], questions_only=False)
    assert form["step_id"] == "tools"


async def test_wrong_addresses_and_a_server_that_refuses(
    hass: HomeAssistant, entry: MockConfigEntry, cloud: Cloud
) -> None:
    for url, error in {
        "": "not_websocket",
        "wss://api.xiaozhi.me/mcp/": "no_token",
        "ws://127.0.0.1:1/mcp/?token=a": "cannot_connect",
    }.items():
        assert (await add(hass, entry, url))["errors"] == {"url": error}
    # The form says so, with the status, and can be sent again.
    cloud.opening.status = 502
    assert (await add(hass, entry, cloud.url()))["errors"] == {"url": "bad_status"}
    for status in (401, 404, 426):
        cloud.opening.status = status
        form = await add(hass, entry, cloud.url())
        assert form["errors"] == {"url": "refused"}
        assert form["description_placeholders"]["code"] == str(status)
    cloud.opening.status = None
    assert (await submit(hass, form, name="Robot", url=cloud.url()))["step_id"] == "offer"


async def test_a_newer_address_of_a_known_agent_updates_it(
    hass: HomeAssistant, offer: Offer, cloud: Cloud
) -> None:
    """The cloud makes a new one whenever its page is looked at."""
    entry = await offer(cloud.url(), questions_only=True)
    await (await cloud.session()).ready()
    newer = cloud.url(cloud.token(valid=1e9))
    result = await add(hass, entry, newer)
    assert (result["type"], result["reason"]) == (FlowResultType.ABORT, "address_updated")
    (subentry,) = entry.subentries.values()
    assert subentry.data == {"url": newer, "questions_only": True}
    assert (await (await cloud.session(3)).ready()).open
    assert cloud.attempts[-1].target.endswith(newer.split("token=")[1])


async def test_a_silent_self_hosted_server_is_healthy_and_not_tested_again(
    hass: HomeAssistant, entry: MockConfigEntry, server: EndpointServer
) -> None:
    """It would throw the connection out that is in use."""
    url = server.url()
    form = await add(hass, entry, url)
    assert form["step_id"] == "offer"
    assert form["description_placeholders"]["agent"] == "not stated in the address"
    form = await submit(hass, form, llm_hass_api=["assist"], questions_only=False)
    await submit(hass, form, tools=[LIVE])
    await server.wait_registered()
    attempts = len(server.attempts)
    assert (await add(hass, entry, url))["reason"] == "address_updated"
    assert len(server.attempts) == attempts


async def test_changing_everything(hass: HomeAssistant, offer: Offer, cloud: Cloud) -> None:
    """An empty address keeps the one that there is; the name, the APIs and the tools change."""
    url = cloud.url()
    entry = await offer(url)
    session = await (await cloud.session()).ready()
    (subentry,) = entry.subentries.values()
    form = checked(await entry.start_subentry_reconfigure_flow(hass, subentry.subentry_id))
    assert suggested(form)["name"] == "Robot"
    form = await submit(hass, form, name="Child's robot")
    form = await submit(hass, form, llm_hass_api=["assist"], questions_only=True)
    result = await submit(hass, form, tools=[LIVE])
    assert result["reason"] == "reconfigure_successful"
    # The list differs, and no call has come for a while: it is read again.
    renewed = await (await cloud.session(2)).ready()
    assert session.close_code == 1000
    assert set(renewed.tools) == {LIVE}
    (subentry,) = entry.subentries.values()
    assert subentry.title == "Child's robot"
    assert subentry.data["url"] == url
    assert subentry.data["tools"] == [LIVE]
    assert (await renewed.call(TURN_ON, {})).failed


async def test_an_address_of_another_access_point(hass: HomeAssistant, offer: Offer, cloud: Cloud) -> None:
    """It is told which one; an address of a new agent is taken."""
    first, second = cloud.url(cloud.token(1)), cloud.url(cloud.token(2))
    entry = await offer(first, second)
    await (await cloud.session(2)).ready()
    subentry = next(iter(entry.subentries.values()))
    form = checked(await entry.start_subentry_reconfigure_flow(hass, subentry.subentry_id))
    form = await submit(hass, form, name="Robot", url=second)
    assert form["errors"] == {"url": "agent_known"}
    # What was typed need not be typed again.
    assert suggested(form)["url"].startswith("ws")
    form = await submit(hass, form, name="Robot", url=cloud.url(cloud.token(3)))
    assert form["description_placeholders"]["agent"] == "3"
    form = await submit(hass, form, llm_hass_api=["assist"], questions_only=False)
    await submit(hass, form, tools=suggested(form)["tools"])
    changed = entry.subentries[subentry.subentry_id]
    assert changed.unique_id is not None
    assert changed.unique_id.endswith("agent_3")
