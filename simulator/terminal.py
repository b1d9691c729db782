"""Shared parts of the commands at the terminal."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
import signal
import sys
from typing import Any


def tell(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def typed_lines() -> AsyncIterator[str]:
    """Yield the lines of the standard input; after its end, wait until cancelled."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async for line in reader:
        yield line.decode(errors="replace").strip()
    await asyncio.Event().wait()


async def until_signal(*works: Coroutine[Any, Any, object]) -> None:
    """Run these until one ends, or until Ctrl-C or SIGTERM. Raises what the first one raises."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    tasks = {asyncio.ensure_future(work) for work in (stop.wait(), *works)}
    done, others = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in others:
        task.cancel()
    for task in done:
        task.result()
