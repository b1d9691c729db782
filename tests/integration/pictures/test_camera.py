"""A device with a camera: its photos are kept, told, and looked at by the AI Task that the owner prefers."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from http import HTTPStatus
import json
from pathlib import Path
import sys
from typing import Any
from unittest.mock import AsyncMock

from aiohttp import FormData
from homeassistant.components.image import async_get_image
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.helpers.storage import Store
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import DOMAIN, EVENT_TOOL_CALL
from custom_components.xiaozhi.device.commands import DeviceCommands
from custom_components.xiaozhi.device.device import Device
from custom_components.xiaozhi.guests.pictures import vision
from custom_components.xiaozhi.guests.pictures.device_pictures import VISION_PATH, DevicePictures
from custom_components.xiaozhi.guests.pictures.picture_file import PictureKind
from custom_components.xiaozhi.guests.pictures.picture_slots import PictureTimeouts
from custom_components.xiaozhi.guests.pictures.vision import EVENT_PHOTO, NO_MODEL_ISSUE
from custom_components.xiaozhi.protocol.mcp.result import ToolResult
from custom_components.xiaozhi.protocol.transport.link import LinkKind
from custom_components.xiaozhi.tools.stock_tools import PHOTO_TOOL
from simulator import SimulatedDevice
from simulator.board.picture import jpeg
from tests.integration.boxes import act, call_action, state_of, wait_for_state
from tests.integration.http_device import TOKEN
from tests.integration.names import CLIENT_ID, CONNECTED, MAC
from tests.integration.pictures.eyes import FAILURE, ScriptedEyes, open_eyes, sentence
from tests.integration.provisioning.forms import change_device, submit_device
from tests.integration.tools.own_tools import announce, register
from tests.protocol.transport.udp.device import until

LINK = LinkKind.MQTT

pytestmark = [pytest.mark.usefixtures("all_enabled", "camera"), pytest.mark.own_home]

PHOTO = "image.kitchen_box_photo"
STORED = f"xiaozhi.{MAC.replace(':', '')}_photo"
QUESTION = "What do you see?"
SETTINGS = {"share_transcripts": False}


@pytest.fixture
async def core(hass: HomeAssistant, core: None) -> None:
    """AI Task has a view, which a running test client takes no more; Home Assistant's own server does."""
    assert await async_setup_component(hass, "ai_task", {})


@pytest.fixture
async def eyes(hass: HomeAssistant, linked_entry: MockConfigEntry) -> ScriptedEyes:
    """The owner has chosen a model that takes pictures."""
    return await open_eyes(hass)


async def take_photo(known: Device, question: str = QUESTION) -> dict[str, Any]:
    result = await known.commands.call_tool(PHOTO_TOOL, {"question": question})
    answer: dict[str, Any] = json.loads(result.text or "")
    return answer


async def test_a_photo_is_kept_told_and_answered_or_the_caller_learns_why_not(
    hass: HomeAssistant, eyes: ScriptedEyes, device_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = async_capture_events(hass, EVENT_PHOTO)
    answer = await call_action(hass, "take_photo", device_id, question=QUESTION)
    assert answer == {"answer": "A cat on the sofa.", "entity_id": PHOTO}
    assert eyes.questions == [QUESTION]
    assert eyes.photos == [jpeg(320, 240)]
    assert eyes.tools == [None], "what is written on a photo must not be able to do anything"
    assert (await async_get_image(hass, PHOTO)).content == jpeg(320, 240)
    assert state_of(hass, PHOTO).state.startswith("20")
    assert [photo.data for photo in photos] == [{"device_id": device_id, "entity_id": PHOTO}]
    assert await call_action(hass, "take_photo", device_id) == {"answer": None, "entity_id": PHOTO}
    eyes.sees = FAILURE
    calls = async_capture_events(hass, EVENT_TOOL_CALL)
    with pytest.raises(HomeAssistantError, match="could not look at the photo"):
        await call_action(hass, "take_photo", device_id, question="And now?")
    # In Activity: the photo itself was taken.
    assert [call.data["outcome"] for call in calls] == ["done"]
    # A firmware of somebody's own may upload its photo elsewhere, and tell what it got there; or have none.
    none = {"type": "text", "text": '{"success": false, "message": "Failed to capture photo"}'}
    for content, words in (
        ([], "did not send its photo to Home Assistant"),
        ([none], "refused .*: Failed to capture photo"),
    ):
        result = ToolResult.from_dict({"content": content})
        monkeypatch.setattr(DeviceCommands, "call_tool", AsyncMock(return_value=result))
        with pytest.raises(HomeAssistantError, match=words):
            await call_action(hass, "take_photo", device_id)


async def on_disk(hass: HomeAssistant) -> Path:
    """Return the file of the photo, which a test's storage does not write."""
    file = Path(hass.config.path(".storage", STORED))
    await asyncio.to_thread(file.parent.mkdir, exist_ok=True)
    await asyncio.to_thread(file.touch)
    return file


async def test_the_first_photo_adds_its_entity_which_keeps_it(
    hass: HomeAssistant, linked_entry: MockConfigEntry, hass_storage: dict[str, Any]
) -> None:
    assert hass.states.get(PHOTO) is None
    await act(hass, "button", "press", "button.kitchen_box_take_photo")
    before = state_of(hass, PHOTO)
    # Saved for the disk's sake in a while, and when the gateway stops.
    assert STORED not in hass_storage
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await wait_for_state(hass, PHOTO, before.state)
    assert (await async_get_image(hass, PHOTO)).content == jpeg(320, 240)
    er.async_get(hass).async_remove(PHOTO)
    await hass.async_block_till_done()
    assert STORED not in hass_storage
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await wait_for_state(hass, CONNECTED, "on")
    # Of another one, also while its entity is disabled.
    await act(hass, "button", "press", "button.kitchen_box_take_photo")
    er.async_get(hass).async_update_entity(PHOTO, disabled_by=er.RegistryEntryDisabler.USER)
    await hass.async_block_till_done()
    assert STORED in hass_storage
    file = await on_disk(hass)
    (subentry_id,) = linked_entry.subentries
    assert hass.config_entries.async_remove_subentry(linked_entry, subentry_id)
    await asyncio.sleep(10)
    assert not file.exists()


async def test_a_screenshot_is_stored_as_a_photo_is(
    hass: HomeAssistant, linked_entry: MockConfigEntry
) -> None:
    await act(hass, "button", "press", "button.kitchen_box_take_screenshot")
    before = state_of(hass, "image.kitchen_box_screen")
    assert await hass.config_entries.async_reload(linked_entry.entry_id)
    await wait_for_state(hass, "image.kitchen_box_screen", before.state)


async def test_a_picture_that_is_damaged_on_the_disk_leaves_room_for_the_next(
    hass: HomeAssistant,
    linked_entry: MockConfigEntry,
    hass_storage: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    await act(hass, "button", "press", "button.kitchen_box_take_photo")
    for damage in (
        *({"taken": taken} for taken in (None, "yesterday", 7)),
        *({"jpeg": data} for data in (None, "x", 7)),
        *(None, [], 7),
    ):
        assert await hass.config_entries.async_unload(linked_entry.entry_id)
        stored = hass_storage[STORED]
        stored["data"] = stored["data"] | damage if isinstance(damage, dict) else damage
        assert await hass.config_entries.async_setup(linked_entry.entry_id)
        await wait_for_state(hass, CONNECTED, "on")
        state_of(hass, PHOTO)
        await act(hass, "button", "press", "button.kitchen_box_take_photo")
        assert (await async_get_image(hass, PHOTO)).content == jpeg(320, 240)
    caplog.clear()


@pytest.mark.parametrize("deleted", ["device", "integration"])
async def test_the_photo_of_a_device_deleted_while_connected_stays_deleted(
    hass: HomeAssistant,
    linked_entry: MockConfigEntry,
    hass_storage: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    deleted: str,
) -> None:
    """Deleting a file takes a moment, in which the device leaves."""
    await act(hass, "button", "press", "button.kitchen_box_take_photo")
    remove, file = Store.async_remove, await on_disk(hass)

    async def remove_slowly(store: Store[Any]) -> None:
        await asyncio.sleep(0.1)
        await remove(store)

    # Undone before the storage of the test is.
    with monkeypatch.context() as patched:
        patched.setattr(Store, "async_remove", remove_slowly)
        if deleted == "device":
            (subentry_id,) = linked_entry.subentries
            hass.config_entries.async_remove_subentry(linked_entry, subentry_id)
        else:
            await hass.config_entries.async_remove(linked_entry.entry_id)
        await asyncio.sleep(10)
    assert not file.exists()
    assert deleted == "integration" or STORED not in hass_storage


async def test_the_owner_decides_whether_a_model_looks_at_photos(
    hass: HomeAssistant,
    eyes: ScriptedEyes,
    known: Device,
    linked_entry: MockConfigEntry,
) -> None:
    """A part of the form of a device with a camera; its photos are kept all the same."""
    form = await change_device(hass, linked_entry)
    part = form["data_schema"].schema["permissions"]
    assert list(map(str, part.schema.schema)) == ["assistant_tools", "look_at_photos"]
    chosen = {"look_at_photos": False}
    await submit_device(hass, form, **SETTINGS, permissions=chosen)
    assert await take_photo(known) == {"success": False, "message": sentence("photo_not_allowed")}
    assert eyes.questions == []
    assert (await async_get_image(hass, PHOTO)).content == jpeg(320, 240)


async def test_without_a_model_the_device_says_so_and_the_owner_is_told(
    hass: HomeAssistant, known: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = await take_photo(known)
    assert answer["success"] is False
    assert "no AI model" in answer["message"]
    registry = ir.async_get(hass)
    assert registry.async_get_issue(DOMAIN, NO_MODEL_ISSUE)
    await open_eyes(hass)
    assert (await take_photo(known))["success"]
    assert not registry.async_get_issue(DOMAIN, NO_MODEL_ISSUE)
    # Where Home Assistant does not show which model is preferred, it is asked.
    monkeypatch.setitem(sys.modules, "homeassistant.components.ai_task.const", None)
    assert (await take_photo(known))["success"]


# Of the vision model's time the same part as of the device's.
@pytest.mark.timeouts(PictureTimeouts, answer=0.2)
async def test_a_model_that_is_slow_is_not_waited_for(eyes: ScriptedEyes, known: Device) -> None:
    eyes.ready.clear()
    assert await take_photo(known) == {"success": False, "message": sentence("photo_too_slow")}


async def test_a_failing_model_is_told_in_plain_words_and_a_long_answer_cut(
    eyes: ScriptedEyes, camera: SimulatedDevice, known: Device
) -> None:
    for eyes.sees in (FAILURE, KeyError("a bug")):
        assert await take_photo(known) == {"success": False, "message": sentence("photo_failed")}
    eyes.sees = "很长" * 10_000
    answer = await take_photo(known)
    assert answer["success"]
    assert eyes.sees.startswith(answer["result"])
    assert len(answer["result"]) > 1500
    assert camera.crash is None


@pytest.mark.parametrize("name", ["take_photo", "self_camera_take_photo"])
async def test_the_camera_of_another_program_is_one(
    hass: HomeAssistant, eyes: ScriptedEyes, camera: SimulatedDevice, known: Device, name: str
) -> None:
    tools = register(camera)
    (at,) = [index for index, tool in enumerate(tools) if tool.name == PHOTO_TOOL]
    tools[at] = replace(tools[at], name=name)
    announce(camera)
    await until(lambda: name in known.tools)
    await hass.async_block_till_done()
    await act(hass, "button", "press", "button.kitchen_box_take_photo")
    assert (await async_get_image(hass, PHOTO)).content == jpeg(320, 240)
    answer = await act(hass, DOMAIN, "take_photo", PHOTO, returns=True, question=QUESTION)
    assert answer == {"answer": "A cat on the sofa.", "entity_id": PHOTO}


async def test_a_disabled_entity_is_named(hass: HomeAssistant, eyes: ScriptedEyes, known: Device) -> None:
    await take_photo(known, "")
    er.async_get(hass).async_update_entity(PHOTO, disabled_by=er.RegistryEntryDisabler.USER)
    await hass.async_block_till_done()
    assert (await take_photo(known))["message"] == sentence("photo_no_entity")
    # That of a program that does not list its camera as devices do was never there.
    er.async_get(hass).async_remove(PHOTO)
    assert (await take_photo(known))["message"] == sentence("photo_no_camera")


def form_of(photo: bytes = jpeg(320, 240), question: str = QUESTION, name: str = "file") -> FormData:
    form = FormData({"question": question})
    form.add_field(name, photo, filename="camera.jpg", content_type="image/jpeg")
    return form


async def test_any_caller_of_the_photo_address_is_answered_and_not_believed(
    known: Device, hass_client_no_auth: ClientSessionGenerator
) -> None:
    client = await hass_client_no_auth()
    token = known.part(DevicePictures).token
    headers = {"Device-Id": MAC, "Client-Id": CLIENT_ID, "Authorization": f"Bearer {token}"}

    async def message(data: Any, **more: str) -> str:
        response = await client.post(VISION_PATH, headers=headers | more, data=data)
        assert response.status == HTTPStatus.OK
        assert int(response.headers["Content-Length"]) < 8192
        answer = await response.json()
        response.close()
        assert answer["success"] is False
        text: str = answer["message"]
        return text

    for change in (
        {"Authorization": f"Bearer {TOKEN}"},
        {"Authorization": ""},
        {"Authorization": "Bearer ü"},
        {"Device-Id": "24:6f:28:aa:bb:02"},
        {"Device-Id": ""},
    ):
        response = await client.post(VISION_PATH, headers=headers | change, data=form_of())
        assert response.status == HTTPStatus.FORBIDDEN, "a stranger, who is not banned"
    for photo, said in (
        (b"GIF89a" + bytes(100), "photo_broken"),
        (jpeg(320, 240)[:400], "photo_broken"),
        (jpeg(5008, 4000), "photo_too_costly"),
        (bytes(2 * 1024 * 1024 + 20_000), "photo_not_complete"),
    ):
        assert await message(form_of(photo)) == sentence(said)
    assert await message(jpeg(320, 240)) == sentence("photo_broken"), "no form"

    async def stalling() -> AsyncGenerator[bytes]:
        yield b"--x\r\n"
        await asyncio.Event().wait()

    stalled = await message(stalling(), **{"Content-Type": "multipart/form-data; boundary=x"})
    assert stalled == sentence("photo_not_complete")
    assert not known.part(DevicePictures).last
    # After another, it is told to wait.
    await asyncio.sleep(600)
    for number in range(vision._PHOTOS_AT_ONCE):
        # Some programs give it another name.
        form = form_of(question="", name=("file", "image")[number % 2])
        response = await client.post(VISION_PATH, headers=headers, data=form)
        assert (await response.json())["success"] is True
    last = known.part(DevicePictures).last[PictureKind.PHOTO]
    assert await message(form_of(question="")) == sentence("photo_busy")
    assert known.part(DevicePictures).last[PictureKind.PHOTO] is last
