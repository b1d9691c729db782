"""One thing that cannot be closed does not keep the others open."""

import asyncio

import pytest

from custom_components.xiaozhi.protocol.tasks import close_all


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
