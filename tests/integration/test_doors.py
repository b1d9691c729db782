"""Each door to a device asks for the rights of its user. The doors are found, and all asked as a reader."""

from typing import Any, Final

from homeassistant.auth.models import User
from homeassistant.components import media_source, websocket_api
from homeassistant.core import Context, HomeAssistant, SupportsResponse
from homeassistant.exceptions import HomeAssistantError, Unauthorized
from homeassistant.helpers import entity_registry as er, llm
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator, WebSocketGenerator
import voluptuous as vol

from custom_components.xiaozhi.const import DOMAIN, OTA_PATH
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, get_profile
from tests.integration.boxes import alerts
from tests.integration.clock.alarms import CALENDAR, set_alarm
from tests.integration.names import SATELLITE, Boot
from tests.integration.tools.own_tools import calls

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("all_enabled", "speech")

REFUSED = "You do not have permission to do this with Kitchen box"
# What a required field of an action may hold, each tried in its turn.
VALUES: Final = (
    "any",
    5,
    True,
    0.5,
    "http://192.168.1.66/a",
    "sad",
    "off",
    SATELLITE,
    {"media_content_id": "any"},
)
# Of actions that require one of several fields.
ONE_OF: Final[dict[str, dict[str, Any]]] = {
    "show_image": {"url": "http://192.168.1.66/a"},
    "announce": {"message": "Out!"},
    "ask_question": {"question": "Out?"},
    "start_conversation": {"start_message": "Out!"},
    "create_event": {"start_date_time": "2027-01-01T07:00:00", "end_date_time": "2027-01-01T07:01:00"},
    "get_events": {"duration": {"days": 1}},
}


async def test_the_assistant_does_for_a_reader_only_what_reads(
    hass: HomeAssistant, boot: Boot, camera: SimulatedDevice, reader: User
) -> None:
    await set_alarm(hass, 3600)

    def asked_by(context: Context) -> llm.LLMContext:
        return llm.LLMContext(
            platform="test", context=context, language="en", assistant="", device_id=boot.device_id
        )

    async def offered(context: Context) -> dict[str, llm.Tool]:
        api = await llm.async_get_api(hass, llm.LLM_API_ASSIST, asked_by(context))
        return {tool.name: tool for tool in api.tools if tool.integration == DOMAIN}

    context = Context(user_id=reader.id)
    everything, before = await offered(Context()), (calls(camera), boot.known.state.owned["alarms"])
    reads = {name for name, tool in everything.items() if tool.annotations.read_only}
    assert len(reads) >= 1
    assert len(everything) - len(reads) >= 10
    assert {*await offered(context)} == reads
    for name, tool in everything.items():
        use = tool.async_call(hass, llm.ToolInput(tool_name=name, tool_args={}), asked_by(context))
        try:
            answer = str((await use).data)
        except HomeAssistantError as err:
            answer = str(err)
        assert (REFUSED in answer) is (name not in reads), name
    assert (calls(camera), boot.known.state.owned["alarms"]) == before


async def refuses(hass: HomeAssistant, domain: str, action: str, reader: User, **target: str) -> bool:
    """Whether an action refuses a reader, called with the fields that it says it requires."""
    data = {**target, **ONE_OF.get(action, {})}
    answers = hass.services.supports_response(domain, action) is not SupportsResponse.NONE
    for value in VALUES * 2:
        try:
            await hass.services.async_call(
                domain,
                action,
                data,
                blocking=True,
                context=Context(user_id=reader.id),
                return_response=answers,
            )
        except Unauthorized:
            return True
        except vol.MultipleInvalid as err:
            if any(each.path[:1] == ["entity_id"] for each in err.errors):
                # It is for no entities.
                return True
            data |= {str(each.path[0]): value for each in err.errors}
        else:
            return False
    raise AssertionError(f"{domain}.{action} takes none of the values here: {data}")


async def test_every_action_of_ours_and_for_our_entities_refuses_a_reader(
    hass: HomeAssistant, boot: Boot, camera: SimulatedDevice, reader: User
) -> None:
    ours = [each for each in er.async_get(hass).entities.values() if each.platform == DOMAIN]
    entities = {each.domain: each.entity_id for each in ours}
    targets = {DOMAIN: {"device_id": boot.device_id}} | {
        domain: {"entity_id": entity_id} for domain, entity_id in entities.items()
    }
    before = calls(camera), len(alerts(camera)), boot.known.state.owned["alarms"]
    doors = [
        (domain, action) for domain in targets for action in hass.services.async_services_for_domain(domain)
    ]
    passed = [door for door in doors if not await refuses(hass, *door, reader, **targets[door[0]])]
    assert len(doors) > 40
    assert passed == [(DOMAIN, "get_tools")]
    assert (calls(camera), len(alerts(camera)), boot.known.state.owned["alarms"]) == before


@pytest.fixture
async def page(hass: HomeAssistant) -> None:
    """What Home Assistant's page talks to, which must be there before the first client."""
    for name in ("websocket_api", "media_source"):
        assert await async_setup_component(hass, name, {})


@pytest.mark.own_home
async def test_views_and_the_socket_of_the_page_do_nothing_for_a_reader(
    page: None,
    reader: User,
    boot: Boot,
    hass_client: ClientSessionGenerator,
    hass_ws_client: WebSocketGenerator,
) -> None:
    """Our views are for devices' keys, and no user's. Commands and sources of media of ours are none."""
    hass, camera = boot.hass, await boot(get_profile("camera"))
    await set_alarm(hass, 3600)
    before, [uid] = (calls(camera), boot.known.state.owned["alarms"]), boot.known.state.owned["alarms"]
    token = await hass.auth.async_create_refresh_token(reader, "https://example.com/app")
    access = hass.auth.async_create_access_token(token)
    client = await hass_client(access)
    routes = [(each.method, each.resource) for each in hass.http.app.router.routes()]
    views = {(method, of.canonical) for method, of in routes if of and DOMAIN in of.canonical}
    assert len(views) > 8
    for method, path in views:
        answer = await client.request(method, path)
        # It says to people that this is the address for devices.
        assert answer.status >= 400 or path.rstrip("/") == OTA_PATH, path
    commands = {
        name for name, (run, _) in hass.data[websocket_api.DOMAIN].items() if DOMAIN in run.__module__
    }
    assert (commands, DOMAIN in hass.data.get(media_source.DOMAIN, ())) == (set(), False)
    socket = await hass_ws_client(hass, access)
    event = {"summary": "Out", "dtstart": "2027-01-01T07:00:00", "dtend": "2027-01-01T08:00:00"}
    for name, fields in (
        ("create", {"event": event}),
        ("update", {"uid": uid, "event": event}),
        ("delete", {"uid": uid}),
    ):
        await socket.send_json_auto_id({"type": f"calendar/event/{name}", "entity_id": CALENDAR, **fields})
        assert (await socket.receive_json())["error"]["code"] == "unauthorized", name
    assert (calls(camera), boot.known.state.owned["alarms"]) == before
