"""Slots for pictures: they are taken before anything is read, and held until the work has ended."""

import asyncio
from contextlib import AsyncExitStack
import threading

from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.pictures.slots import NoSlotError, PictureSlots


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
