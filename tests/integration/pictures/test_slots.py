"""Pictures that come at the same time: each has a place before anything is read, until its work has ended."""

import asyncio
from contextlib import AsyncExitStack
import threading

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.guests.pictures.device_pictures import VISION_PATH, DevicePictures
from custom_components.xiaozhi.guests.pictures.picture_slots import PictureSlots
from tests.integration.names import CLIENT_ID, MAC
from tests.integration.pictures.eyes import sentence


async def test_who_hangs_up_keeps_the_slot_until_the_thread_is_done(hass: HomeAssistant) -> None:
    slots = PictureSlots(hass, MockConfigEntry())
    begun, ended, second_begun = threading.Event(), threading.Event(), threading.Event()

    def long_work() -> None:
        begun.set()
        ended.wait(10)

    first = asyncio.create_task(slots.decode(long_work))
    assert await asyncio.to_thread(begun.wait, 10)
    second = asyncio.create_task(slots.decode(second_begun.set))
    for _ in range(3):
        first.cancel()
        await asyncio.sleep(0)
    assert not first.done()
    assert not await asyncio.to_thread(second_begun.wait, 0.2)
    ended.set()
    with pytest.raises(asyncio.CancelledError):
        await first
    await second
    assert second_begun.is_set()


async def test_uploads_over_all_devices_are_bounded(hass: HomeAssistant) -> None:
    slots = PictureSlots(hass, MockConfigEntry())
    async with AsyncExitStack() as held:
        for _ in range(4):
            await held.enter_async_context(slots.upload())
        with pytest.raises(TimeoutError):
            await held.enter_async_context(slots.upload())
    async with slots.upload():
        pass


async def test_of_bodies_with_one_token_one_is_read_at_a_time(
    hass: HomeAssistant, linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """The second photo is refused before a byte of it has been sent."""
    url = (await hass_client_no_auth()).make_url(VISION_PATH)
    head = (
        f"POST {VISION_PATH} HTTP/1.1\r\nHost: box.local\r\nDevice-Id: {MAC}\r\nClient-Id: {CLIENT_ID}\r\n"
        f"Authorization: Bearer {linked_entry.runtime_data.devices[MAC].part(DevicePictures).token}\r\n"
        "Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 2000000\r\n\r\n"
    ).encode()
    connections = [await asyncio.open_connection(url.host, url.port) for _ in range(2)]
    answers = [asyncio.create_task(reader.readuntil(b"}")) for reader, _ in connections]
    try:
        for _, writer in connections:
            writer.write(head)
        done, waiting = await asyncio.wait(answers, timeout=30, return_when=asyncio.FIRST_COMPLETED)
        assert [sentence("photo_busy").encode() in answer.result() for answer in done] == [True]
        assert len(waiting) == 1
    finally:
        for answer, (_, writer) in zip(answers, connections, strict=True):
            answer.cancel()
            writer.transport.abort()
