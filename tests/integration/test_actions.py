"""The actions: what they do on a device, what they answer, how they fail, and who may use them."""

from contextlib import AsyncExitStack
from typing import Any

from homeassistant.auth.models import User
from homeassistant.components.homeassistant.exposed_entities import async_should_expose
from homeassistant.components.image import async_get_image
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError, Unauthorized, UnknownUser
from homeassistant.helpers import entity_registry as er
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser
import voluptuous as vol

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.pictures.picture_slots import PictureSlots
from custom_components.xiaozhi.guests.pictures.screen import Upload
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from simulator import SimulatedDevice
from simulator.board.picture import jpeg
from tests.integration.boxes import call_action, wait_for_state
from tests.integration.names import CONNECTED, MAC, Boot
from tests.integration.tools.own_tools import register, tool
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("all_enabled")

PHOTO = "image.kitchen_box_photo"
SCREEN = "image.kitchen_box_screen"


async def test_a_tool_is_called_and_its_faults_are_named_before_anything_is_sent(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str
) -> None:
    answer = await call_action(hass, "call_tool", device_id, tool="self.screen.get_info")
    assert answer == {"result": {"width": 320, "height": 240, "monochrome": False}}
    answer = await call_action(
        hass, "call_tool", device_id, tool="self.audio_speaker.set_volume", arguments={"volume": 35.0}
    )
    assert answer == {"result": True}
    assert camera.values["volume"] == 35
    for name, arguments, reason in WRONG:
        with pytest.raises(ServiceValidationError, match=reason):
            await call_action(hass, "call_tool", device_id, tool=name, arguments=arguments)
    assert camera.values["volume"] == 35
    for service, data in NONSENSE:
        with pytest.raises(vol.Invalid):
            await call_action(hass, service, device_id, **data)


WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("self.audio_speaker.set_volume", {"volume": 101}, "volume must be a whole number from 0 to 100"),
    ("self.audio_speaker.set_volume", {"volume": "loud"}, "volume must be a whole number from 0 to 100"),
    ("self.audio_speaker.set_volume", {}, "volume must be"),
    ("self.audio_speaker.set_volume", {"volume": b"35"}, "must be numbers, texts"),
    ("self.audio_speaker.set_volume", {"volume": 1, "fade": 2}, "fade is not an argument"),
    ("self.flying.take_off", {}, "has no “Flying take off”"),
)


NONSENSE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("show_text", {"message": "x" * 501}),
    ("show_text", {"message": "Hello", "status": "x" * 61}),
    ("show_text", {"message": "Hello", "face": "grim"}),
    ("set_face", {"face": "grim"}),
    ("take_photo", {"question": "x" * 1001}),
    ("show_image", {"url": "file:///etc/passwd"}),
    ("show_image", {"image": "light.kitchen"}),
    ("set_assets", {"url": "no address"}),
)


@pytest.mark.parametrize("sources", [{}, {"url": "http://127.0.0.1/", "image": PHOTO}])
async def test_a_picture_has_one_source(hass: HomeAssistant, device_id: str, sources: dict[str, str]) -> None:
    with pytest.raises(HomeAssistantError, match="Name one source of the picture"):
        await call_action(hass, "show_image", device_id, **sources)


async def test_the_screen_becomes_a_picture_unless_it_sends_none(
    hass: HomeAssistant,
    camera: SimulatedDevice,
    device_id: str,
    linked_entry: MockConfigEntry,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert hass.states.get(SCREEN) is None
    await call_action(hass, "screenshot", device_id)
    assert (await async_get_image(hass, SCREEN)).content == jpeg(320, 240)
    [call] = [event for event in camera.events("tool") if event["name"] == "self.screen.snapshot"]
    gateway = linked_entry.runtime_data
    assert gateway.transfers.find(Upload, call["arguments"]["url"].rpartition("/")[2]) is None
    monkeypatch.setattr("simulator.application.device_tools.jpeg", lambda _width, _height: b"no picture")
    with pytest.raises(HomeAssistantError, match="did not send a picture"):
        await call_action(hass, "screenshot", device_id)
    async with AsyncExitStack() as others:
        for _ in range(4):
            await others.enter_async_context(gateway.part(PictureSlots).upload())
        with pytest.raises(HomeAssistantError, match="Failed to connect"):
            await call_action(hass, "screenshot", device_id)


async def test_all_devices_are_tried_although_one_is_out_of_reach(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(ServiceValidationError, match="nobody"):
        await call_action(hass, "set_face", ["nobody", device_id], face="sleepy")
    await camera.wait_for(lambda: camera.screen.emotion == "sleepy", 3)
    await camera.power_off()
    await wait_for_state(hass, CONNECTED, "off")
    for service, data in (
        ("call_tool", {"tool": "self.reboot"}),
        ("show_text", {"message": "Hello"}),
        ("set_face", {"face": "happy"}),
        ("take_photo", {}),
        ("screenshot", {}),
        ("set_assets", {"url": "http://192.168.1.10/assets.bin"}),
    ):
        with pytest.raises(HomeAssistantError) as problem:
            await call_action(hass, service, device_id, **data)
        assert problem.value.translation_key == "not_connected", service
    with pytest.raises(HomeAssistantError) as problem:
        await call_action(hass, "set_face", ["nobody", device_id], face="happy")
    assert problem.value.translation_key == "not_connected"
    assert "set_face failed for another device, too" in caplog.text


async def test_a_tool_of_a_device_that_has_never_connected_is_called_in_vain(
    hass: HomeAssistant, device_id: str
) -> None:
    with pytest.raises(HomeAssistantError) as problem:
        await call_action(hass, "call_tool", device_id, tool="self.arm.wave", arguments={"times": 2})
    assert problem.value.translation_key == "only_in_conversation"


RESTART = "button.kitchen_box_restart"


@pytest.fixture
def owner(hass_admin_user: MockUser) -> Context:
    return Context(user_id=hass_admin_user.id)


@pytest.fixture
async def anna(hass: HomeAssistant, owner: Context) -> Context:
    """Somebody who lives in the house and is no administrator."""
    user = await hass.auth.async_create_user("Anna", group_ids=["system-users"])
    return Context(user_id=user.id)


FIRMWARE = {"tool": "self.upgrade_firmware", "arguments": {"url": "http://192.168.1.66/bad.bin"}}
# By their names; the device does not keep them for its users.
RISKY = ("self.box.restart", "self.box.flash_firmware", "self.network.set_wifi")
FOR_ADMINISTRATORS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("call_tool", FIRMWARE),
    ("call_tool", {"tool": "self.reboot"}),
    ("call_tool", {"tool": "self.get_system_info"}),
    ("call_tool", {"tool": "self.assets.set_download_url", "arguments": {"url": "http://192.168.1.66/a"}}),
    ("set_assets", {"url": "http://192.168.1.66/a"}),
    ("read_resource", {"uri": "sensor://room/air"}),
    *(("call_tool", {"tool": name}) for name in RISKY),
)


async def test_only_an_administrator_reaches_risky_and_user_only_tools(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, owner: Context, anna: Context, known: Device
) -> None:
    """So do automations."""
    register(camera, *map(tool, RISKY))
    await until(lambda: RISKY[-1] in known.tools)
    called = len(camera.events("tool"))
    for action, data in FOR_ADMINISTRATORS:
        with pytest.raises(Unauthorized):
            await call_action(hass, action, device_id, anna, **data)
    with pytest.raises(UnknownUser):
        await call_action(hass, "call_tool", device_id, Context(user_id="deleted"), tool="self.reboot")
    assert len(camera.events("tool")) == called
    volume = {"tool": "self.audio_speaker.set_volume", "arguments": {"volume": 35}}
    await call_action(hass, "call_tool", device_id, anna, **volume)
    assert camera.values["volume"] == 35
    for context in (owner, None):
        await call_action(hass, "call_tool", device_id, context, tool="self.get_system_info")
        await call_action(hass, "set_assets", device_id, context, url="http://192.168.1.10/a.bin")
        for name in RISKY:
            await call_action(hass, "call_tool", device_id, context, tool=name)
    calls = camera.events("tool")
    assert {"url": "http://192.168.1.10/a.bin"} in [call["arguments"] for call in calls]
    assert all([call["name"] for call in calls].count(name) == 2 for name in RISKY)


OF_USERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("ask", {"question": "Shall I open the garage?"}),
    ("call_tool", {"tool": "self.audio_speaker.set_volume", "arguments": {"volume": 5}}),
    ("send_voice_message", {"sender": "any"}),
    ("set_face", {"face": "sad"}),
    ("show_image", {"url": "http://192.168.1.66/a.png"}),
    ("show_text", {"message": "Out!"}),
    ("screenshot", {}),
    ("take_photo", {}),
)


async def test_a_user_who_may_only_read_controls_nothing_but_sees_the_tools(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, reader: User
) -> None:
    def reached() -> int:
        shown = [event for event in camera.events("received") if event["message"]["type"] in {"alert", "llm"}]
        return len(camera.events("tool")) + len(shown)

    before = reached()
    for action, data in OF_USERS:
        for user_id in (reader.id, "deleted"):
            with pytest.raises(Unauthorized):
                await call_action(hass, action, device_id, Context(user_id=user_id), **data)
    assert reached() == before
    assert not camera.announcements
    assert (await call_action(hass, "get_tools", device_id, Context(user_id=reader.id)))["tools"]


async def test_a_user_presses_restart_and_only_an_administrator_wifi_set_up(
    hass: HomeAssistant, boot: Boot, owner: Context, anna: Context
) -> None:
    name = "self.system.reconfigure_wifi"
    # It is disabled at first.
    button = er.async_get(hass).async_get_or_create(
        "button", DOMAIN, f"{MAC}_tool_{name}", suggested_object_id="wifi_setup", disabled_by=None
    )
    device = await boot()
    await wait_for_state(hass, "number.kitchen_box_volume", "70")
    register(device, tool(name, "Open the access point."))
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
    await hass.services.async_call("button", "press", {"entity_id": RESTART}, blocking=True, context=anna)


async def test_home_assistant_does_not_expose_entities_of_user_tools(
    hass: HomeAssistant, camera: SimulatedDevice
) -> None:
    """It exposes switches by itself: of these three, only what anybody may use and what does no harm."""
    switches = ("tune", "maintenance", "gate")
    for name in switches:
        pair = (
            tool(f"self.{name}.{verb}", user_only=name == "maintenance") for verb in ("enable", "disable")
        )
        register(camera, *pair)
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
