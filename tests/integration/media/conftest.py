"""A web server with media on the loopback interface, and what no media may leave behind."""

from collections.abc import AsyncIterator, Iterator
import threading

import pytest

from tests.integration.media.media_server import MediaServer, children, media_server


@pytest.fixture
async def server(socket_enabled: None, ffmpeg: None) -> AsyncIterator[MediaServer]:
    async with media_server() as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """Every stream must end its process and its thread, and leave no zombie."""
    yield
    assert children() == []
    for thread in threading.enumerate():
        if thread.name.startswith("xiaozhi-speech"):
            # One that was told to end may need a processor for it.
            thread.join(10)
            assert not thread.is_alive()
