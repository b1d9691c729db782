"""Fixtures of the simulator's tests: real sockets on loopback."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.simulator.fake_mqtt import MqttServer
from tests.simulator.fake_server import Server
from tests.simulator.talk import answer


@pytest.fixture(autouse=True)
def _sockets(socket_enabled: None) -> None:
    """Allow sockets."""


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server that only answers hellos by itself."""
    async with Server.serving() as running:
        yield running


@pytest.fixture
async def broker() -> AsyncIterator[MqttServer]:
    """A server that sends its devices to MQTT, and only answers hellos by itself."""
    async with MqttServer.serving() as running:
        yield running


@pytest.fixture
async def butler(server: Server) -> AsyncIterator[Server]:
    """A server that answers the first thing that is said, and hangs up."""

    async def serve() -> None:
        await answer(await server.session(), 20, close=True)

    task = asyncio.create_task(serve())
    yield server
    task.cancel()
    await asyncio.wait([task])
