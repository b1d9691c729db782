"""What the test of a broker's settings says, and servers that are no broker."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from custom_components.xiaozhi.protocol.transport.owner_broker.broker_login import check_broker
from custom_components.xiaozhi.protocol.transport.owner_broker.broker_settings import (
    BrokerError,
    BrokerProblem,
    BrokerSettings,
)


async def problem_of(**settings: Any) -> tuple[BrokerProblem, str]:
    with pytest.raises(BrokerError) as caught:
        await check_broker(BrokerSettings(host="127.0.0.1", **settings))
    return caught.value.problem, str(caught.value)


@asynccontextmanager
async def answering(answer: bytes | None) -> AsyncGenerator[int]:
    """Listen as something that is no broker: it answers once, or closes at once."""
    tasks, writers = set(), set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.current_task())
        writers.add(writer)
        if answer is not None:
            writer.write(answer)
            with suppress(ConnectionError):
                while await reader.read(4096):
                    pass
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for writer in writers:
        writer.transport.abort()
    await asyncio.gather(*filter(None, tasks))
