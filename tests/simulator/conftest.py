"""Fixtures of the simulator's tests: real sockets on loopback, virtual time."""

import pytest


@pytest.fixture(autouse=True)
def _sockets(socket_enabled: None) -> None:
    """Allow sockets."""


@pytest.fixture(autouse=True)
def verify_cleanup() -> None:
    """Leave the threads to the event loop, which lives as long as its file."""
