"""The clock of everything that waits: the event loop's."""

import asyncio

__all__ = ["loop_time", "sleep_until"]


def loop_time() -> float:
    """Return the seconds of the running event loop's clock, which only moves forwards."""
    return asyncio.get_running_loop().time()


async def sleep_until(time: float) -> None:
    """Sleep until a time of `loop_time`."""
    await asyncio.sleep(max(0.0, time - loop_time()))
