"""A process that executes commands of another one: one line of JSON for each command and each answer."""

import asyncio
import json
import sys
import traceback
from typing import Any


async def serve(handler: Any) -> None:
    """Execute the commands of the standard input until it ends.

    `handler` has an async method for each, whose arguments and results are JSON, and `power_off` for the end.
    """
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
