"""One thing that fails does not end what goes on beside it."""

import asyncio
import logging

import pytest

from custom_components.xiaozhi.util.event_loop import LogAndGoOn, close_all, first_of, within


async def test_one_that_fails_and_one_that_hangs_keep_no_other_open(caplog: pytest.LogCaptureFixture) -> None:
    closed: list[int] = []

    async def fail() -> None:
        raise ZeroDivisionError

    async def hang() -> None:
        await asyncio.Event().wait()

    async def close(number: int) -> None:
        await asyncio.sleep(0)
        closed.append(number)

    await close_all(fail(), close(1), hang(), close(2), patience=0.05)
    assert closed == [1, 2]
    assert caplog.text.count("could not be closed") == 2


async def test_each_has_begun_also_if_it_is_given_up_at_once() -> None:
    begun: list[int] = []

    async def close(number: int) -> None:
        begun.append(number)
        await asyncio.Event().wait()

    closing = asyncio.create_task(close_all(close(1), close(2)))
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled()
    assert begun == [1, 2]


async def test_the_first_of_two_ends_the_other_and_waits_for_its_end() -> None:
    ended: list[str] = []
    shared: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("hang")

    async def quick() -> int:
        return 3

    async with first_of(quick(), hang()) as (one, other):
        assert one.result() == 3
        assert not other.done()
    assert ended == ["hang"]
    async with first_of(quick(), shared):
        pass
    assert not shared.cancelled(), "others wait for it, too"
    waiting = asyncio.create_task(first_of(hang(), shared).__aenter__())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert ended == ["hang"] * 2


async def test_something_ends_within_a_time_or_not() -> None:
    assert await within(1, asyncio.sleep(0))
    assert not await within(0.01, asyncio.Event().wait())
    assert not await within(-1, asyncio.Event().wait())

    async def give_up() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await within(1, give_up())


async def test_a_loop_lives_on_and_each_kind_of_error_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    go_on = LogAndGoOn(logging.getLogger("loop"), "It could not be read")
    for error in (IndexError("a"), IndexError("b"), KeyError("c")):
        with go_on:
            raise error
    assert [record.exc_text is not None for record in caplog.records] == [True, True]
    assert caplog.text.count("It could not be read") == 2
    with pytest.raises(asyncio.CancelledError), go_on:
        raise asyncio.CancelledError
