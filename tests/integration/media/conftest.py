"""A web server with media on the loopback interface, and what no media may leave behind."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.integration.media.media_server import MediaServer, children, media_server
from tests.protocol.audio.sounds import assert_decoders_ended


@pytest.fixture
async def server(socket_enabled: None, ffmpeg: None) -> AsyncIterator[MediaServer]:
    async with media_server() as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """Every stream must end its process and its thread, and leave no zombie."""
    yield
    assert children() == []
    assert_decoders_ended()
