"""What has not arrived over TCP."""

import asyncio

import pytest

from custom_components.xiaozhi.protocol.transport.tcp_backlog import unacknowledged


@pytest.mark.usefixtures("socket_enabled")
async def test_a_connection_that_is_being_closed_has_nothing_to_wait_for() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.close()
        assert unacknowledged(writer.transport) == 0
        await writer.wait_closed()
