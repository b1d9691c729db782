"""Who may have a device do what: administrators, other users and automations."""

from typing import Any

from homeassistant.auth.const import GROUP_ID_READ_ONLY
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import Unauthorized, UnknownUser
from homeassistant.helpers import entity_registry as er
import pytest

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice
from simulator.board.tools import Tool
from tests.integration.boxes import MAC, Boot, wait_for_state
from tests.integration.tools.own_tools import announce, register
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

RESTART = "button.kitchen_box_restart"


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
        DOMAIN,
        action,
        {"device_id": device_id, **data},
        blocking=True,
        context=context,
        return_response=action == "read_resource",
    )


FIRMWARE = {"tool": "self.upgrade_firmware", "arguments": {"url": "http://192.168.1.66/bad.bin"}}


FOR_ADMINISTRATORS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("call_tool", FIRMWARE),
    ("call_tool", {"tool": "self.reboot"}),
    ("call_tool", {"tool": "self.get_system_info"}),
    ("call_tool", {"tool": "self.assets.set_download_url", "arguments": {"url": "http://192.168.1.66/a"}}),
    ("set_assets", {"url": "http://192.168.1.66/a"}),
    ("read_resource", {"uri": "sensor://room/air"}),
)


async def test_only_an_administrator_reaches_firmware_assets_and_user_tools(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, owner: Context, anna: Context
) -> None:
    """So do automations."""
    called = len(camera.events("tool"))
    for action, data in FOR_ADMINISTRATORS:
        with pytest.raises(Unauthorized):
            await call(hass, anna, action, device_id, **data)
    with pytest.raises(UnknownUser):
        await call(hass, Context(user_id="deleted"), "call_tool", device_id, tool="self.reboot")
    assert len(camera.events("tool")) == called
    volume = {"tool": "self.audio_speaker.set_volume", "arguments": {"volume": 35}}
    await call(hass, anna, "call_tool", device_id, **volume)
    assert camera.values["volume"] == 35
    for context in (owner, None):
        await call(hass, context, "call_tool", device_id, tool="self.get_system_info")
        await call(hass, context, "set_assets", device_id, url="http://192.168.1.10/a.bin")


async def test_only_an_administrator_calls_a_tool_whose_name_tells_of_such_a_risk(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, owner: Context, anna: Context, known: Device
) -> None:
    """Also where the device does not keep it for its users."""
    names = ["self.box.restart", "self.box.flash_firmware", "self.network.set_wifi"]
    register(camera, *(Tool(name=name, description="") for name in names))
    announce(camera)
    await until(lambda: names[-1] in known.tools)
    for name in names:
        with pytest.raises(Unauthorized):
            await call(hass, anna, "call_tool", device_id, tool=name)
        await call(hass, owner, "call_tool", device_id, tool=name)
        assert [event["name"] for event in camera.events("tool")].count(name) == 1


ACTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ask", {"question": "Shall I open the garage?"}),
    ("call_tool", {"tool": "self.audio_speaker.set_volume", "arguments": {"volume": 5}}),
    ("set_face", {"face": "sad"}),
    ("show_image", {"url": "http://192.168.1.66/a.png"}),
    ("show_text", {"message": "Out!"}),
    ("screenshot", {}),
    ("take_photo", {}),
)


async def test_a_user_who_may_only_read_has_a_device_do_nothing_but_sees_its_tools(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, owner: Context
) -> None:
    guest = await hass.auth.async_create_user("Guest", group_ids=[GROUP_ID_READ_ONLY])

    async def ask(action: str, user_id: str, **data: Any) -> Any:
        return await hass.services.async_call(
            DOMAIN,
            action,
            {"device_id": device_id, **data},
            blocking=True,
            context=Context(user_id=user_id),
            return_response=action in {"ask", "call_tool", "get_tools", "take_photo"},
        )

    def reached() -> int:
        shown = [event for event in camera.events("received") if event["message"]["type"] in {"alert", "llm"}]
        return len(camera.events("tool")) + len(shown)

    before = reached()
    for action, data in ACTIONS:
        for user_id in (guest.id, "deleted"):
            with pytest.raises(Unauthorized):
                await ask(action, user_id, **data)
    assert reached() == before
    assert not camera.announcements
    assert (await ask("get_tools", guest.id))["tools"]


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
