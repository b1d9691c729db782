"""The actions: what they do on a device, what they answer, and how they fail."""

import asyncio
from functools import partial
import io
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

from homeassistant.components.image import async_get_image
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from homeassistant.setup import async_setup_component
from PIL import Image
import pytest
import voluptuous as vol

from custom_components.xiaozhi.const import DOMAIN
from custom_components.xiaozhi.device.commands import DeviceCommands
from custom_components.xiaozhi.device_http.transfers import TRANSFERS, Upload
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.services import (
    SERVICE_CALL_TOOL,
    SERVICE_SCREENSHOT,
    SERVICE_SET_ASSETS,
    SERVICE_SET_FACE,
    SERVICE_SHOW_IMAGE,
    SERVICE_SHOW_TEXT,
    SERVICE_TAKE_PHOTO,
)
from simulator import SimulatedDevice
from simulator.board.picture import jpeg
from tests.integration.boxes import wait_for_state
from tests.integration.pictures.eyes import FAILURE, open_eyes

LINK = LinkKind.MQTT

pytestmark = pytest.mark.usefixtures("all_enabled")

PHOTO = "image.kitchen_box_photo"
SCREEN = "image.kitchen_box_screen"
CONNECTED = "binary_sensor.kitchen_box_connectivity"


@pytest.fixture
async def core(hass: HomeAssistant, core: None) -> None:
    """AI Task has a view, which a running test client takes no more; Home Assistant's own server does."""
    assert await async_setup_component(hass, "ai_task", {})


async def act(hass: HomeAssistant, service: str, device_id: str, **data: Any) -> None:
    await hass.services.async_call(DOMAIN, service, {"device_id": device_id, **data}, blocking=True)


async def ask(hass: HomeAssistant, service: str, device_id: str, **data: Any) -> Any:
    return await hass.services.async_call(
        DOMAIN, service, {"device_id": device_id, **data}, blocking=True, return_response=True
    )


def png(width: int, height: int) -> bytes:
    output = io.BytesIO()
    Image.new("RGBA", (width, height), (200, 30, 30, 128)).save(output, "PNG")
    return output.getvalue()


def pictures_on(device: SimulatedDevice) -> list[Image.Image]:
    return [Image.open(io.BytesIO(event["image"])) for event in device.events("screen") if "image" in event]


async def test_a_tool_is_called_and_its_answer_parsed(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str
) -> None:
    answer = await ask(hass, SERVICE_CALL_TOOL, device_id, tool="self.screen.get_info")
    assert answer == {"result": {"width": 320, "height": 240, "monochrome": False}}
    answer = await ask(
        hass, SERVICE_CALL_TOOL, device_id, tool="self.audio_speaker.set_volume", arguments={"volume": 35.0}
    )
    assert answer == {"result": True}
    assert camera.values["volume"] == 35


WRONG: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("self.audio_speaker.set_volume", {"volume": 101}, "volume must be a whole number from 0 to 100"),
    ("self.audio_speaker.set_volume", {"volume": "loud"}, "volume must be a whole number from 0 to 100"),
    ("self.audio_speaker.set_volume", {}, "volume must be"),
    ("self.audio_speaker.set_volume", {"volume": 1, "fade": 2}, "fade is not an argument"),
    ("self.flying.take_off", {}, "has no “Flying take off”"),
)


async def test_wrong_arguments_are_named_before_anything_is_sent(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str
) -> None:
    for tool, arguments, reason in WRONG:
        with pytest.raises(ServiceValidationError, match=reason):
            await ask(hass, SERVICE_CALL_TOOL, device_id, tool=tool, arguments=arguments)
    assert camera.values["volume"] == 70


async def test_a_text_is_shown_with_title_and_face(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str
) -> None:
    await act(hass, SERVICE_SHOW_TEXT, device_id, message="The post is here", status="Door", face="happy")
    await camera.wait_for(lambda: camera.screen.system_text == "The post is here", 3)
    assert (camera.screen.status, camera.screen.emotion) == ("Door", "happy")
    await act(hass, SERVICE_SET_FACE, device_id, face="sleepy")
    await camera.wait_for(lambda: camera.screen.emotion == "sleepy", 3)


NONSENSE: tuple[tuple[str, dict[str, Any]], ...] = (
    (SERVICE_SHOW_TEXT, {"message": "x" * 501}),
    (SERVICE_SHOW_TEXT, {"message": "Hello", "status": "x" * 61}),
    (SERVICE_SHOW_TEXT, {"message": "Hello", "face": "grim"}),
    (SERVICE_SET_FACE, {"face": "grim"}),
    (SERVICE_TAKE_PHOTO, {"question": "x" * 1001}),
    (SERVICE_SHOW_IMAGE, {}),
    (SERVICE_SHOW_IMAGE, {"url": "http://127.0.0.1/", "image": PHOTO}),
    (SERVICE_SHOW_IMAGE, {"url": "file:///etc/passwd"}),
    (SERVICE_SHOW_IMAGE, {"image": "light.kitchen"}),
    (SERVICE_SET_ASSETS, {"url": "no address"}),
)


async def test_what_makes_no_sense_is_not_taken(hass: HomeAssistant, device_id: str) -> None:
    for service, data in NONSENSE:
        with pytest.raises(vol.Invalid):
            await act(hass, service, device_id, **data)


async def test_a_photo_is_taken_with_an_answer_and_without(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A firmware of somebody's own may upload its photo elsewhere and tell what it got there."""
    assert await ask(hass, SERVICE_TAKE_PHOTO, device_id) == {"answer": None, "entity_id": PHOTO}
    eyes = await open_eyes(hass)
    answer = await ask(hass, SERVICE_TAKE_PHOTO, device_id, question="What is there?")
    assert answer == {"answer": "A cat on the sofa.", "entity_id": PHOTO}
    eyes.sees = FAILURE
    with pytest.raises(HomeAssistantError, match="could not look at the photo"):
        await ask(hass, SERVICE_TAKE_PHOTO, device_id, question="And now?")
    monkeypatch.setattr(
        DeviceCommands, "call_tool", AsyncMock(return_value=ToolResult.from_dict({"content": []}))
    )
    with pytest.raises(HomeAssistantError, match="did not send its photo to Home Assistant"):
        await ask(hass, SERVICE_TAKE_PHOTO, device_id)


async def test_the_screen_becomes_a_picture(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str
) -> None:
    assert hass.states.get(SCREEN) is None
    await act(hass, SERVICE_SCREENSHOT, device_id)
    assert (await async_get_image(hass, SCREEN)).content == jpeg(320, 240)
    [call] = [event for event in camera.events("tool") if event["name"] == "self.screen.snapshot"]
    transfers = hass.data[TRANSFERS]
    assert transfers.take(Upload, call["arguments"]["url"].rpartition("/")[2]) is None


async def test_a_screen_that_sends_nothing_is_said_to(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("simulator.application.device_tools.jpeg", lambda _width, _height: b"no picture")
    with pytest.raises(HomeAssistantError, match="did not send a picture"):
        await act(hass, SERVICE_SCREENSHOT, device_id)
    assert hass.states.get(SCREEN) is None


async def test_a_picture_of_the_media_library_is_fitted_into_the_screen(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str, tmp_path: Path
) -> None:
    await act(hass, SERVICE_SCREENSHOT, device_id)
    await act(
        hass, SERVICE_SHOW_IMAGE, device_id, media={"media_content_id": f"media-source://image/{SCREEN}"}
    )
    hass.config.media_dirs["local"] = str(tmp_path)
    file = tmp_path / "cat.png"
    show = partial(
        act,
        hass,
        SERVICE_SHOW_IMAGE,
        device_id,
        media={"media_content_id": "media-source://media_source/local/cat.png", "metadata": {}},
    )
    for size in ((640, 240), (32, 64)):
        await asyncio.to_thread(file.write_bytes, png(*size))
        await show()
    assert [picture.size for picture in pictures_on(camera)] == [(320, 240), (320, 120), (120, 240)]
    await asyncio.to_thread(file.write_bytes, b"<html>")
    with pytest.raises(ServiceValidationError, match="not a picture that can be shown"):
        await show()


async def test_assets_are_set_for_the_next_start(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str
) -> None:
    url = "http://192.168.1.10/assets.bin"
    await act(hass, SERVICE_SET_ASSETS, device_id, url=url)
    calls = [event["arguments"] for event in camera.events("tool")]
    assert {"url": url} in calls


async def test_all_devices_are_tried_although_one_is_out_of_reach(
    hass: HomeAssistant, camera: SimulatedDevice, device_id: str
) -> None:
    with pytest.raises(ServiceValidationError, match="nobody"):
        await hass.services.async_call(
            DOMAIN, SERVICE_SET_FACE, {"device_id": ["nobody", device_id], "face": "sleepy"}, blocking=True
        )
    await camera.wait_for(lambda: camera.screen.emotion == "sleepy", 3)
    await camera.power_off()
    await wait_for_state(hass, CONNECTED, "off")
    for service, data in (
        (SERVICE_CALL_TOOL, {"tool": "self.reboot"}),
        (SERVICE_SHOW_TEXT, {"message": "Hello"}),
        (SERVICE_SET_FACE, {"face": "happy"}),
        (SERVICE_TAKE_PHOTO, {}),
        (SERVICE_SCREENSHOT, {}),
        (SERVICE_SET_ASSETS, {"url": "http://192.168.1.10/assets.bin"}),
    ):
        with pytest.raises(HomeAssistantError) as problem:
            await act(hass, service, device_id, **data)
        assert problem.value.translation_key == "not_connected", service
