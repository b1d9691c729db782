"""The one-time address at which a device downloads sound while it is made."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
import logging
import socket
from typing import Any

from aiohttp.test_utils import BaseTestServer
from homeassistant.core import HomeAssistant
import pytest
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.device_http.transfers import Stream
from custom_components.xiaozhi.settings import gateway_entry
from custom_components.xiaozhi.timeouts import AnnouncementTimeouts

pytestmark = [
    pytest.mark.usefixtures("gateway_entry"),
    pytest.mark.timeouts(AnnouncementTimeouts, stall=3, closing=2),
]

PIECE = bytes(4096)


class Source:
    """Pieces of a stream, so many or without end."""

    def __init__(self, pieces: int | None = None) -> None:
        self.pieces = pieces
        self.made = 0
        self.closed = False

    async def __call__(self) -> AsyncGenerator[bytes]:
        try:
            while self.pieces is None or self.made < self.pieces:
                self.made += 1
                yield PIECE
        finally:
            self.closed = True


@contextmanager
def offered(hass: HomeAssistant, source: Source) -> Iterator[tuple[Stream, str]]:
    stream = Stream(source(), "audio/ogg")
    entry = gateway_entry(hass)
    assert entry is not None
    with entry.runtime_data.transfers.offer(stream) as path:
        yield stream, path


async def test_a_stream_is_sent_to_its_end_once(
    hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    client = await hass_client_no_auth()
    source = Source(10)
    with offered(hass, source) as (stream, path):
        assert not stream.requested.done()
        answer = await client.get(path, headers={"Connection": "close"})
        assert answer.status == HTTPStatus.OK
        assert answer.headers["Transfer-Encoding"] == "chunked"
        assert answer.content_type == "audio/ogg"
        assert len(await answer.read()) == 10 * len(PIECE)
        assert (await client.get(path)).status == HTTPStatus.NOT_FOUND
    await stream.ended
    assert stream.delivered
    assert stream.direct
    assert stream.taken == 10 * len(PIECE)
    assert source.closed
    # The address is the only credential. Home Assistant's web server logs it when it is asked for.
    logged = [record.getMessage() for record in caplog.records if "xiaozhi" in record.name]
    assert not any(path.rpartition("/")[2] in message for message in logged)


def slow_reader(server: BaseTestServer[Any], path: str) -> socket.socket:
    """Ask for a path on a bare socket with little room, and read nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((server.host, server.port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    connection.setblocking(False)
    return connection


async def test_nothing_is_made_before_it_is_taken_and_a_stalled_device_dropped(
    hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator
) -> None:
    server = (await hass_client_no_auth()).server
    source = Source()
    with offered(hass, source) as (stream, path), closing(slow_reader(server, path)) as connection:
        began = await stream.requested
        await asyncio.sleep(1)
        made, taken = source.made, stream.taken
        assert made * len(PIECE) < 40_000
        loop = asyncio.get_running_loop()
        received = 0
        while received < 60_000:
            received += len(await loop.sock_recv(connection, 2048))
            await asyncio.sleep(0.05)
        assert stream.taken > taken + 40_000
        assert stream.taken <= source.made * len(PIECE)
        assert source.made * len(PIECE) < received + 40_000
        ended = await stream.ended
        assert ended - began > 4
        assert not stream.delivered
        assert stream.error is None
        assert source.closed


async def test_a_device_that_keeps_the_connection_open_has_not_played_it(
    hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator
) -> None:
    client = await hass_client_no_auth()
    with offered(hass, Source(1)) as (stream, path):
        answer = await client.get(path)
        await stream.ended
        assert not stream.delivered
        answer.close()
