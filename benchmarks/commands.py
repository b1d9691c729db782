"""A process that executes commands of another one: one line of JSON for each command and each answer."""

import asyncio
import json
import sys
import traceback
from typing import Protocol


class CommandHandler(Protocol):
    """Has an async method for every command; arguments and results are JSON."""

    async def power_off(self) -> None:
        """End everything that still runs. Called when the commands end."""


async def serve(handler: CommandHandler) -> None:
    """Execute the commands of the standard input until it ends."""
    async for line in await _lines():
        command = json.loads(line)
        try:
            result = await getattr(handler, command.pop("do"))(**command)
            answer = {"result": result}
        except Exception as err:  # noqa: BLE001 - the other process must hear of any failure
            traceback.print_exc()
            answer = {"error": repr(err)}
        print(json.dumps(answer), flush=True)
    await handler.power_off()


async def _lines() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=1 << 20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader
