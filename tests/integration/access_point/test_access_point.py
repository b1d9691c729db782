"""An assistant in a cloud uses the house: over real sockets, in a real Home Assistant."""

import asyncio
import json
import logging
import sys

from homeassistant.components.homeassistant import exposed_entities
from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.config_entries import ConfigEntryState
from homeassistant.core import CoreState, HomeAssistant
from homeassistant.helpers import device_registry as dr
from mcp_types import CallToolResult, ListToolsResult
import pytest
from pytest_homeassistant_custom_component.common import async_capture_events

from custom_components.xiaozhi.diagnostics import (
    async_get_config_entry_diagnostics,
    async_get_device_diagnostics,
)
from custom_components.xiaozhi.guests.cloud.access_point import EVENT_ACCESS_POINT_CALL
from custom_components.xiaozhi.guests.cloud.access_points import AccessPoints
from simulator.access_point import Cloud
from tests.integration.access_point.conftest import LAMP, LIGHT_SET, LIVE, TURN_ON, Offer, access_point
from tests.integration.boxes import activity, state_of
from tests.integration.changed_parts import refuses
from tests.integration.http_device import add_to
from tests.integration.names import LIGHT
from tests.protocol.access_point.site import until


async def test_a_cloud_turns_on_the_lamp_and_the_logbook_names_its_calls(
    hass: HomeAssistant, offer: Offer, cloud: Cloud
) -> None:
    """And the owner sees it: connected, how many tools, when the last call came, and which; no arguments."""
    events = async_capture_events(hass, EVENT_ACCESS_POINT_CALL)
    lines = activity(hass, EVENT_ACCESS_POINT_CALL)
    await offer(cloud.url())
    session = await (await cloud.session()).ready()
    assert state_of(hass, LIGHT).state == "off"
    assert state_of(hass, "binary_sensor.robot_connectivity").state == "on"
    answer = await session.call(TURN_ON, LAMP)
    assert not answer.failed
    assert json.loads(answer.text)["response_type"] == "action_done"
    assert state_of(hass, LIGHT).state == "on"
    # What the official SDK would read.
    assert answer.reply is not None
    CallToolResult.model_validate(answer.reply["result"])
    offered_tools = ListToolsResult.model_validate({"tools": [*session.tools.values()]}).tools
    assert "name" in next(tool for tool in offered_tools if tool.name == TURN_ON).input_schema["properties"]
    await hass.async_block_till_done()
    assert int(state_of(hass, "sensor.robot_tools_offered").state) == len(session.tools) > 3
    offered = state_of(hass, "sensor.robot_tools_offered")
    compact = json.dumps([*session.tools.values()], ensure_ascii=False, separators=(",", ":"))
    assert offered.attributes["bytes"] == len(compact.encode())
    assert state_of(hass, "sensor.robot_last_call").state != "unknown"
    called = state_of(hass, "event.robot_tool_called")
    assert (called.attributes["event_type"], called.attributes["tool"]) == ("done", TURN_ON)
    (event,) = events
    assert event.data.keys() == {"device_id", "name", "tool", "outcome", "milliseconds"}
    assert not session.violations
    await session.call(TURN_ON, {"name": "nothing"})
    await session.call("no_such_tool", {})
    await hass.async_block_till_done()
    assert lines == [
        f"was asked by its cloud to use {TURN_ON}",
        f"was asked by its cloud to use {TURN_ON}, which failed",
        "was asked by its cloud to use no_such_tool, and refused",
    ]
    assert event.data["name"] == "Robot"


@pytest.mark.own_home
async def test_the_house_is_seen_as_it_is(hass: HomeAssistant, offer: Offer, cloud: Cloud) -> None:
    """Each request sees at once what is exposed; when it is quiet, the list is read again as well."""
    await offer(cloud.url())
    session = await (await cloud.session()).ready()
    assert LIGHT_SET not in session.tools
    hass.states.async_set("light.desk", "on", {"friendly_name": "Desk lamp"})
    async_expose_entity(hass, "conversation", LIGHT, False)
    async_expose_entity(hass, "conversation", "light.desk", True)
    # As language models leave out an argument.
    live = (await session.call(LIVE, {"name": None, "area": None})).text
    assert "Desk lamp" in live
    assert "Kitchen light" not in live
    assert "error" in json.loads((await session.call(TURN_ON, LAMP)).text)
    assert state_of(hass, LIGHT).state == "off"
    async with asyncio.timeout(120):
        session = await (await cloud.session(2)).ready()
    assert LIGHT_SET in session.tools


async def test_access_points_come_and_go_without_the_others(
    hass: HomeAssistant, offer: Offer, cloud: Cloud
) -> None:
    """A second one is added, and the first is removed, with its device and entities."""
    entry = await offer(cloud.url(cloud.token(1)))
    first = await (await cloud.session()).ready()
    (known,) = entry.subentries.values()
    await add_to(hass, entry, access_point(cloud.url(cloud.token(2)), "Second"))
    second = await (await cloud.session(2)).ready()
    assert first.open
    await hass.async_block_till_done()
    assert state_of(hass, "binary_sensor.second_connectivity").state == "on"
    assert hass.config_entries.async_remove_subentry(entry, known.subentry_id)
    await until(lambda: not first.open)
    await hass.async_block_till_done()
    assert first.close_code == 1000
    assert second.open
    assert hass.states.get("binary_sensor.robot_connectivity") is None
    assert not (await second.call(TURN_ON, LAMP)).failed


@pytest.mark.parametrize("is_gone", [True, False])
async def test_it_dials_after_the_start_of_home_assistant_and_hangs_up_after_it(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, monkeypatch: pytest.MonkeyPatch, *, is_gone: bool
) -> None:
    """Earlier, the list of tools would be half empty; and some servers would go on believing in it.

    Also where Home Assistant does not say any more, or in another way, when another entity is exposed.
    """
    if is_gone:
        monkeypatch.setitem(sys.modules, "homeassistant.components.homeassistant.exposed_entities", None)
    else:
        refuses(exposed_entities, "async_listen_entity_updates", more="reason")(monkeypatch)
    hass.set_state(CoreState.starting)
    await offer(cloud.url())
    await asyncio.sleep(30)
    assert not cloud.attempts
    hass.set_state(CoreState.running)
    hass.bus.async_fire("homeassistant_started")
    session = await (await cloud.session()).ready()
    hass.bus.async_fire("homeassistant_stop")
    await until(lambda: not session.open)
    assert session.close_code == 1000


async def test_the_button_reconnects_at_once_beside_an_unreadable_address(
    hass: HomeAssistant, offer: Offer, cloud: Cloud
) -> None:
    entry = await offer(cloud.url())
    await (await cloud.session()).ready()
    await cloud.stop()
    await asyncio.sleep(3000)
    assert state_of(hass, "binary_sensor.robot_connectivity").state == "off"
    await cloud.start()
    await hass.services.async_call("button", "press", {"entity_id": "button.robot_reconnect"}, blocking=True)
    await until(lambda: state_of(hass, "binary_sensor.robot_connectivity").state == "on", seconds=5)
    # It was stored by another version; the gateway and the other access points run.
    session = cloud.sessions[-1]
    (subentry,) = entry.subentries.values()
    assert await hass.config_entries.async_unload(entry.entry_id)
    await until(lambda: not session.open)
    hass.config_entries.async_update_subentry(entry, subentry, data={"url": "nonsense"})
    assert await hass.config_entries.async_setup(entry.entry_id)
    assert entry.state is ConfigEntryState.LOADED
    assert entry.runtime_data.part(AccessPoints).all == []


async def test_the_token_is_nowhere(
    hass: HomeAssistant, offer: Offer, cloud: Cloud, caplog: pytest.LogCaptureFixture
) -> None:
    """Not in logs, states, registries, events or diagnostics."""
    caplog.set_level(logging.DEBUG)
    token = cloud.token()
    entry = await offer(cloud.url(token))
    session = await (await cloud.session()).ready()
    await session.call(TURN_ON, LAMP)
    await session.close(4004)
    await (await cloud.session(2)).ready()
    await hass.async_block_till_done()
    registered = dr.async_entries_for_config_entry(dr.async_get(hass), entry.entry_id)
    (device,) = (each for each in registered if each.model == "MCP access point")
    diagnostics = await async_get_config_entry_diagnostics(hass, entry)
    of_device = await async_get_device_diagnostics(hass, entry, device)
    (described,) = diagnostics["access_points"]
    assert described["agent"] == "1001"
    assert described["last_ending"]["code"] == 4004
    assert described["connections"] == 2
    assert of_device["host"] == described["host"]
    seen = [str(diagnostics), str(of_device), str(device), str([*hass.states.async_all()])]
    seen += [record.getMessage() for record in caplog.records if not record.name.startswith("websockets")]
    text = "".join(seen)
    assert token not in text
    assert token.split(".")[2] not in text
    assert "Kitchen light" not in str(described)
