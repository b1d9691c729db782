"""What the owner is told to mend, and that it goes away."""

import asyncio
from datetime import timedelta

from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util import dt as dt_util
import pytest
from pytest_homeassistant_custom_component.common import async_fire_time_changed

from simulator.access_point import Cloud, EndpointServer
from tests.integration.access_point.conftest import Apis, Offer
from tests.integration.access_point.house import ScriptedApi, ScriptedTool, state, until
from tests.integration.issues import open_issues
from tests.integration.provisioning.forms import texts

DAY = timedelta(days=1).total_seconds()


def issues(hass: HomeAssistant) -> set[str]:
    """Return the keys of the issues that there are, after checking that their texts are complete."""
    found = set()
    for issue in open_issues(hass):
        assert issue.translation_key
        text = texts("issues")[issue.translation_key]
        placeholders = issue.translation_placeholders or {}
        for part in ("title", "description"):
            text[part].format_map(placeholders)
        found.add(issue.translation_key.removeprefix("access_point_"))
    return found


@pytest.mark.parametrize(
    ("valid", "expected"),
    [(None, set()), (400 * DAY, set()), (20 * DAY, {"expiring"}), (-10.0, {"expired"})],
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
    assert state(hass, "binary_sensor.robot_connectivity") == "on"
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


async def test_an_api_that_is_gone(hass: HomeAssistant, offer: Offer, cloud: Cloud, apis: Apis) -> None:
    """The others are offered as before."""
    gone = llm.async_register_api(hass, ScriptedApi(hass, ScriptedTool("one", open_world=False)))
    await offer(cloud.url(), llm_hass_api=["assist", "scripted"])
    session = await (await cloud.session()).ready()
    assert "scripted__one" in session.tools
    assert "assist__intent__HassTurnOn" in session.tools
    assert issues(hass) == set()
    gone()
    await asyncio.sleep(6)
    await session.call("assist__intent__HassTurnOn", {"name": "Kitchen light"})
    assert issues(hass) == {"api_gone"}
    apis(ScriptedApi(hass))
    await asyncio.sleep(6)
    await session.call("assist__intent__HassTurnOn", {"name": "Kitchen light"})
    assert issues(hass) == set()


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
    assert "scripted__one" in renewed.tools
