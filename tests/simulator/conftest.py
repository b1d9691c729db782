"""Fixtures of the simulator's tests: real sockets on loopback."""

from collections.abc import AsyncIterator

import pytest

from tests.simulator.fake_server import Server


@pytest.fixture(autouse=True)
def _sockets(socket_enabled: None) -> None:
    """Let the device and the fake server have their sockets."""


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    """A server that answers hellos and does nothing else by itself."""
    async with Server.serving() as running:
        yield running
