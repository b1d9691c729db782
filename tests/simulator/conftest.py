"""Fixtures of the simulator's tests: real sockets on loopback, virtual time."""

import pytest


@pytest.fixture(autouse=True)
def _sockets(socket_enabled: None) -> None:
    """Allow sockets."""
