"""Who may have a device do what: administrators, other users and automations."""

from typing import Any

from homeassistant.auth.const import GROUP_ID_READ_ONLY
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import Unauthorized, UnknownUser
from homeassistant.helpers import entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice, get_profile
from simulator.board.tools import Tool
from tests.integration.boxes import MAC, Boot, wait_for_state
from tests.integration.tools.own_tools import announce, register
from tests.protocol.transport.udp.device import until

SCREEN = "image.kitchen_box_screen"
RESTART = "button.kitchen_box_restart"


@pytest.fixture
def link() -> LinkKind:
    """Actions are for devices that can be reached at any time."""
    return LinkKind.MQTT


@pytest.fixture
async def camera(hass: HomeAssistant, boot: Boot) -> SimulatedDevice:
    """A device with camera and screen that Home Assistant knows."""
    device = await boot(get_profile("camera"))
    await wait_for_state(hass, SCREEN, "unknown")
    return device


@pytest.fixture
async def owner(hass: HomeAssistant) -> Context:
    """An administrator; Home Assistant makes the first user the owner."""
    user = await hass.auth.async_create_user("Owner", group_ids=["system-admin"])
    return Context(user_id=user.id)


@pytest.fixture
async def anna(hass: HomeAssistant, owner: Context) -> Context:
    """Somebody who lives in the house and is no administrator."""
    user = await hass.auth.async_create_user("Anna", group_ids=["system-users"])
    return Context(user_id=user.id)


async def call(
    hass: HomeAssistant, context: Context | None, action: str, device_id: str, **data: Any
) -> None:
    await hass.services.async_call(
        DOMAIN, action, {"device_id": device_id, **data}, blocking=True, context=context
    )


FIRMWARE = {"tool": "self.upgrade_firmware", "arguments": {"url": "http://192.168.1.66/bad.bin"}}


@pytest.mark.parametrize(
    ("action", "data"),
    [
        ("call_tool", FIRMWARE),
        ("call_tool", {"tool": "self.reboot"}),
        ("call_tool", {"tool": "self.get_system_info"}),
        (
            "call_tool",
            {"tool": "self.assets.set_download_url", "arguments": {"url": "http://192.168.1.66/a"}},
        ),
        ("set_assets", {"url": "http://192.168.1.66/a"}),
    ],
)
async def test_only_an_administrator_reaches_firmware_assets_and_user_tools(
    hass: HomeAssistant,
    camera: SimulatedDevice,
    device_id: str,
    anna: Context,
    action: str,
    data: dict[str, Any],
) -> None:
    called = len(camera.events("tool"))
    with pytest.raises(Unauthorized):
        await call(hass, anna, action, device_id, **data)
    assert len(camera.events("tool")) == called


@pytest.mark.parametrize("name", ["self.box.restart", "self.box.flash_firmware", "self.network.set_wifi"])
async def test_only_an_administrator_calls_a_tool_whose_name_tells_of_such_a_risk(
    hass: HomeAssistant,
    camera: SimulatedDevice,
    device_id: str,
    owner: Context,
    anna: Context,
    linked_entry: MockConfigEntry,
    name: str,
) -> None:
    """Also where the device does not keep it for its users."""
    register(camera, Tool(name=name, description=""))
    announce(camera)
    known = linked_entry.runtime_data.devices[MAC]
    await until(lambda: name in known.tools)
    with pytest.raises(Unauthorized):
        await call(hass, anna, "call_tool", device_id, tool=name)
    await call(hass, owner, "call_tool", device_id, tool=name)
    assert [event["name"] for event in camera.events("tool")].count(name) == 1


async def test_a_user_calls_harmless_tools(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, anna: Context
) -> None:
    volume = {"tool": "self.audio_speaker.set_volume", "arguments": {"volume": 35}}
    await call(hass, anna, "call_tool", device_id, **volume)
    assert camera.values["volume"] == 35


@pytest.mark.parametrize(
    ("action", "data"),
    [
        ("ask", {"question": "Shall I open the garage?"}),
        ("call_tool", {"tool": "self.audio_speaker.set_volume", "arguments": {"volume": 5}}),
        ("set_face", {"face": "sad"}),
        ("show_image", {"url": "http://192.168.1.66/a.png"}),
        ("show_text", {"message": "Out!"}),
        ("screenshot", {}),
        ("take_photo", {}),
    ],
)
async def test_a_user_who_may_only_read_has_a_device_do_nothing(
    hass: HomeAssistant,
    camera: SimulatedDevice,
    device_id: str,
    owner: Context,
    action: str,
    data: dict[str, Any],
) -> None:
    guest = await hass.auth.async_create_user("Guest", group_ids=[GROUP_ID_READ_ONLY])

    def reached() -> int:
        shown = [event for event in camera.events("received") if event["message"]["type"] in {"alert", "llm"}]
        return len(camera.events("tool")) + len(shown)

    before = reached()
    for context in (Context(user_id=guest.id), Context(user_id="deleted")):
        with pytest.raises(Unauthorized):
            await hass.services.async_call(
                DOMAIN,
                action,
                {"device_id": device_id, **data},
                blocking=True,
                context=context,
                return_response=action in {"ask", "call_tool", "take_photo"},
            )
    assert reached() == before
    assert not camera.announcements


async def test_a_user_who_may_only_read_sees_what_tools_a_device_has(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, owner: Context
) -> None:
    guest = await hass.auth.async_create_user("Guest", group_ids=[GROUP_ID_READ_ONLY])
    answer = await hass.services.async_call(
        DOMAIN,
        "get_tools",
        {"device_id": device_id},
        blocking=True,
        context=Context(user_id=guest.id),
        return_response=True,
    )
    assert answer is not None
    assert answer["tools"]


async def test_somebody_whose_account_is_gone_calls_nothing_that_is_for_administrators(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str
) -> None:
    with pytest.raises(UnknownUser):
        await call(hass, Context(user_id="deleted"), "call_tool", device_id, tool="self.reboot")


async def test_administrators_and_automations_call_everything(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, owner: Context
) -> None:
    for context in (owner, None):
        await call(hass, context, "call_tool", device_id, tool="self.get_system_info")
        await call(hass, context, "set_assets", device_id, url="http://192.168.1.10/a.bin")


async def test_a_user_may_press_restart_as_with_other_devices(
    hass: HomeAssistant, camera: SimulatedDevice, anna: Context
) -> None:
    await hass.services.async_call("button", "press", {"entity_id": RESTART}, blocking=True, context=anna)


async def test_only_an_administrator_presses_wifi_set_up(
    hass: HomeAssistant, boot: Boot, owner: Context, anna: Context
) -> None:
    name = "self.system.reconfigure_wifi"
    # It is disabled at first.
    button = er.async_get(hass).async_get_or_create(
        "button", DOMAIN, f"{MAC}_tool_{name}", suggested_object_id="wifi_setup", disabled_by=None
    )
    device = await boot()
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    register(device, Tool(name=name, description="Open the access point."))
    announce(device)
    await wait_for_state(hass, button.entity_id, "unknown")

    def pressed() -> list[dict[str, Any]]:
        return [event for event in device.events("tool") if event["name"] == name]

    press = {"entity_id": button.entity_id}
    with pytest.raises(Unauthorized):
        await hass.services.async_call("button", "press", press, blocking=True, context=anna)
    assert not pressed()
    for count, context in enumerate((owner, None), 1):
        await hass.services.async_call("button", "press", press, blocking=True, context=context)
        assert len(pressed()) == count


async def test_home_assistant_does_not_expose_entities_of_user_tools(
    hass: HomeAssistant, camera: SimulatedDevice
) -> None:
    """It exposes switches by itself: of these three, only what anybody may use and what does no harm."""
    switches = ("tune", "maintenance", "gate")
    for name in switches:
        pair = (
            Tool(name=f"self.{name}.{verb}", description="", user_only=name == "maintenance")
            for verb in ("enable", "disable")
        )
        register(camera, *pair)
    announce(camera)
    registry = er.async_get(hass)

    def made() -> dict[str, str | None]:
        return {
            name: registry.async_get_entity_id("switch", DOMAIN, f"{MAC}_tool_self.{name}.enable")
            for name in switches
        }

    await until(lambda: all(made().values()))
    exposed = {name: async_should_expose(hass, "conversation", entity) for name, entity in made().items()}
    assert exposed == {"tune": True, "maintenance": False, "gate": False}
    assert not async_should_expose(hass, "conversation", RESTART)
