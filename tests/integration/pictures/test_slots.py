"""Pictures that come at the same time: each has a place before anything is read, until its work has ended."""

import asyncio
from contextlib import AsyncExitStack, suppress
import threading
import tracemalloc

from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import VISION_PATH
from custom_components.xiaozhi.pictures.slots import PictureSlots
from tests.integration.names import CLIENT_ID, MAC


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
        with pytest.raises(TimeoutError):
            await held.enter_async_context(slots.upload(seconds=0.01))
    async with slots.upload(seconds=0.01):
        pass


CALLERS = 150
BODY = bytes(2 * 1024 * 1024)
MIB = 1024 * 1024
# With what the callers themselves hold; all bodies are 300 MiB.
LIMIT = 128 * MIB


@pytest.mark.real_time
async def test_many_bodies_with_one_token_are_not_held_at_the_same_time(
    hass: HomeAssistant, linked_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    """All are sent but for the last byte, unless the server answers before."""
    url = (await hass_client_no_auth()).make_url(VISION_PATH)
    head = (
        f"POST {VISION_PATH} HTTP/1.1\r\nHost: box.local\r\nDevice-Id: {MAC}\r\nClient-Id: {CLIENT_ID}\r\n"
        f"Authorization: Bearer {linked_entry.runtime_data.devices[MAC].settings.vision_token}\r\n"
        f"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: {len(BODY) + 1}\r\n\r\n"
    ).encode()
    writers: list[asyncio.StreamWriter] = []

    async def post() -> None:
        reader, writer = await asyncio.open_connection(url.host, url.port)
        writers.append(writer)
        answer = asyncio.create_task(reader.readline())

        async def send() -> None:
            writer.write(head)
            for start in range(0, len(BODY), 64 * 1024):
                writer.write(BODY[start : start + 64 * 1024])
                with suppress(ConnectionError):
                    await writer.drain()

        sending = asyncio.create_task(send())
        await asyncio.wait((answer, sending), return_when=asyncio.FIRST_COMPLETED)
        for task in (answer, sending):
            task.cancel()
        await asyncio.wait((answer, sending))

    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        async with asyncio.timeout(120):
            await asyncio.gather(*(post() for _ in range(CALLERS)))
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
        for writer in writers:
            writer.transport.abort()
    assert peak < LIMIT, f"{peak / MIB:.0f} MiB"
