"""Slots for pictures: they are taken before anything is read, and held until the work has ended."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
import threading
from typing import Any

from aiohttp import FormData
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import VISION_PATH
from custom_components.xiaozhi.pictures.slots import PICTURE_SLOTS, NoSlotError, PictureSlots
from simulator.board.picture import jpeg
from tests.integration.boxes import CLIENT_ID, MAC
from tests.integration.pictures.eyes import sentence


async def test_who_hangs_up_keeps_the_slot_until_the_thread_is_done(hass: HomeAssistant) -> None:
    slots = PictureSlots()
    begun, ended, second_begun = threading.Event(), threading.Event(), threading.Event()
    order: list[str] = []

    def long_work() -> None:
        begun.set()
        ended.wait(10)
        order.append("first")

    def short_work() -> None:
        second_begun.set()
        order.append("second")

    first = asyncio.create_task(slots.decode(hass, long_work))
    assert await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(slots.decode(hass, short_work))
    for _ in range(3):
        first.cancel()
        await asyncio.sleep(0)
    assert not first.done()
    assert not await asyncio.to_thread(second_begun.wait, 0.2)
    ended.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert order == ["first", "second"]


async def test_uploads_over_all_devices_are_bounded() -> None:
    slots = PictureSlots()
    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(slots.upload(seconds=5))
        with pytest.raises(NoSlotError):
            await held.enter_async_context(slots.upload(seconds=0.01))
    async with slots.upload(seconds=0.01):
        pass


async def test_the_body_of_a_photo_that_has_to_wait_is_not_read(
    hass: HomeAssistant, linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    client = await hass_client_no_auth()
    device = linked_entry.runtime_data.devices[MAC]
    headers = {
        "Device-Id": MAC,
        "Client-Id": CLIENT_ID,
        "Authorization": f"Bearer {device.settings.vision_token}",
    }
    going_on = asyncio.Event()

    async def stalling() -> AsyncGenerator[bytes]:
        yield b"--x\r\n"
        await going_on.wait()

    async def post(data: Any) -> dict[str, Any]:
        extra = {} if isinstance(data, FormData) else {"Content-Type": "multipart/form-data; boundary=x"}
        response = await client.post(VISION_PATH, headers=headers | extra, data=data)
        answer: dict[str, Any] = await response.json()
        return answer

    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(hass.data[PICTURE_SLOTS].upload(seconds=5))
        async with asyncio.timeout(20):
            answers = await asyncio.gather(post(stalling()), post(stalling()))
        assert {answer["message"] for answer in answers} == {
            sentence("photo_busy"),
            sentence("photo_crowded"),
        }
    going_on.set()
    form = FormData({"question": ""})
    form.add_field("file", jpeg(320, 240), filename="camera.jpg", content_type="image/jpeg")
    assert (await post(form))["success"]
