"""What is said in words is allowed to the same users as what is done by hand."""

import asyncio
from typing import Any

from aiohttp.test_utils import TestClient
from homeassistant.auth.models import User
from homeassistant.auth.permissions import PolicyPermissions
from homeassistant.core import HomeAssistant
from homeassistant.helpers import intent
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator, WebSocketGenerator

from custom_components.xiaozhi.guests.spoken.box_sentences import BOX_SENTENCE
from custom_components.xiaozhi.guests.spoken.sentences import ALARM_SENTENCE
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.voice.own_intents import own_intents
from tests.integration.boxes import TWO_DEVICES, alerts
from tests.integration.clock.alarms import has_rung, rings_no_more, set_alarm
from tests.integration.clock.conftest import Handle, handle
from tests.integration.names import SATELLITE, Boot

__all__ = ["handle"]

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("wall_clock")

REFUSED = "You do not have permission to do this with Kitchen box."
SLOTS: dict[str, Any] = {"hours": 7, "minutes": 30, "text": "Take the bins out", "all": True, "to": "all"}


async def token(hass: HomeAssistant, user: User) -> str:
    return hass.auth.async_create_access_token(
        await hass.auth.async_create_refresh_token(user, "https://example.com/app")
    )


def ours(hass: HomeAssistant) -> dict[str, bool]:
    """Return all our intents, with whether they only read."""
    reads = {own.intent_type: own.tool.annotations.read_only for own in own_intents(hass) if own.tool}
    reads |= dict.fromkeys((ALARM_SENTENCE, BOX_SENTENCE), False)
    return {
        handler.intent_type: reads[handler.intent_type]
        for handler in intent.async_get(hass)
        if type(handler).__module__.startswith("custom_components.xiaozhi.")
    }


async def said(client: TestClient[Any, Any], access: str, name: str, at: str | None, /, **slots: Any) -> str:
    """Return the answer to an intent over HTTP."""
    answer = await client.post(
        "/api/intent/handle",
        json={"name": name, "data": slots, "device_id": at, "language": "en"},
        headers={"Authorization": f"Bearer {access}"},
    )
    assert answer.status == 200, name
    return str((await answer.json())["speech"]["plain"]["speech"])


async def test_a_user_who_may_only_read_has_no_intent_do_anything(
    hass: HomeAssistant, boot: Boot, reader: User, hass_client_no_auth: ClientSessionGenerator
) -> None:
    device = await boot()
    await set_alarm(hass, 10)
    await set_alarm(hass, 3600, "Bread")
    await has_rung(device, 2)
    before = boot.known.state.owned["alarms"]
    client, access = await hass_client_no_auth(), await token(hass, reader)
    assert len(ours(hass)) >= 5
    for name, reads in ours(hass).items():
        for at in (boot.device_id, None):
            slots = {} if "Delete" in name else SLOTS
            answer = await said(client, access, name, at, **slots)
            assert answer, name
            assert reads or at is None or answer == REFUSED, name
            assert "Bread" not in answer or (reads and at == boot.device_id)
    assert boot.known.state.owned["alarms"] == before
    await has_rung(device, len(alerts(device)) + 2)


@TWO_DEVICES
async def test_elsewhere_is_where_a_user_may_control(
    hass: HomeAssistant, boot: Boot, reader: User, hass_client_no_auth: Any
) -> None:
    """The kitchen rings."""
    device = await boot()
    await set_alarm(hass, 10)
    await has_rung(device, 2)
    client, access = await hass_client_no_auth(), await token(hass, reader)

    def may_control(*satellites: str) -> None:
        policy = {"entities": {"entity_ids": dict.fromkeys(satellites, True)}}
        vars(reader)["permissions"] = PolicyPermissions(policy, None)  # type: ignore[arg-type]

    may_control("assist_satellite.bedroom_box")
    for at in (None, boot.device_ids[1]):
        assert await said(client, access, "XiaozhiStopAlarm", at) == "No alarm rings."
    may_control("assist_satellite.bedroom_box", SATELLITE)
    assert await said(client, access, "XiaozhiStopAlarm", boot.device_ids[1]) == "Alarm stopped."
    await asyncio.sleep(5)
    await rings_no_more(device, 60)


@pytest.fixture
async def sentence(hass: HomeAssistant) -> None:
    """A sentence of the owner's, and the socket of Home Assistant's page."""
    sentences = {"intents": {"XiaozhiStopAlarm": ["stop the alarm"]}}
    assert await async_setup_component(hass, "websocket_api", {})
    assert await async_setup_component(hass, "conversation", {"conversation": sentences})
    assert await async_setup_component(hass, "assist_pipeline", {})


@pytest.mark.own_home
async def test_a_text_that_a_user_types_has_the_rights_of_that_user(
    sentence: None, boot: Boot, reader: User, hass_ws_client: WebSocketGenerator
) -> None:
    device = await boot()
    await set_alarm(boot.hass, 10)
    await has_rung(device, 2)
    socket = await hass_ws_client(boot.hass, await token(boot.hass, reader))
    await socket.send_json_auto_id(
        {
            "type": "assist_pipeline/run",
            "start_stage": "intent",
            "end_stage": "intent",
            "input": {"text": "stop the alarm"},
            "device_id": boot.device_id,
        }
    )
    while (message := await socket.receive_json()).get("event", {}).get("type") != "intent-end":
        assert message.get("success", True)
    answer = message["event"]["data"]["intent_output"]["response"]["speech"]["plain"]["speech"]
    assert answer == REFUSED
    await has_rung(device, len(alerts(device)) + 2)


NONSENSE: tuple[tuple[dict[str, Any], str], ...] = (
    ({"hours": 99}, "hours"),
    ({"hours": 7, "minutes": -1}, "minutes"),
    ({"hours": 7, "text": {}}, "text"),
    ({"hours": 7, "name": ["Bread"]}, "name"),
    ({"hours": None}, "hours"),
    ({"hours": 6.5}, "hours"),
    ({"hours": "1e9"}, "hours"),
    ({"minutes": 5}, "hours"),
    ({"hours": 7, "period": "noon"}, "period"),
    ({"hours": 7, "day": {}}, "day"),
    ({"hours": 7, "repeat": []}, "repeat"),
)


async def test_slots_that_mean_nothing_are_named_in_the_answer(
    hass: HomeAssistant,
    boot: Boot,
    hass_admin_user: MockUser,
    handle: Handle,
    hass_client_no_auth: ClientSessionGenerator,
    caplog: pytest.LogCaptureFixture,
) -> None:
    await boot()
    client, access = await hass_client_no_auth(), await token(hass, hass_admin_user)
    for slots, wrong in NONSENSE:
        answer = await said(client, access, "XiaozhiSetAlarm", boot.device_id, **slots)
        assert f"“{wrong}”" in answer, slots
    assert "“all”" in await handle("XiaozhiDeleteAlarm", all="perhaps")
    assert not boot.known.state.owned["alarms"]
    assert "Traceback" not in caplog.text
