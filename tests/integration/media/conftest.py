"""A web server with media on the loopback interface."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.media.media_server import MediaServer, media_server


@pytest.fixture
async def server(socket_enabled: None, ffmpeg: None) -> AsyncIterator[MediaServer]:
    async with media_server() as running:
        yield running
