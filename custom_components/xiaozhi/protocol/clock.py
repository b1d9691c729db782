"""The event loop's clock."""

import asyncio


def loop_time() -> float:
    """Return the monotonic seconds of the running event loop."""
    return asyncio.get_running_loop().time()


async def sleep_until(time: float) -> None:
    """Sleep until `loop_time` reaches a time."""
    await asyncio.sleep(max(0.0, time - loop_time()))
