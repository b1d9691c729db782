"""The addresses at which a device, or another player in its place, fetches sound while it is made."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import closing, suppress
from http import HTTPStatus
import logging
import socket
from typing import Any

from aiohttp.test_utils import BaseTestServer
from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.device_http.transfers import Stream
from custom_components.xiaozhi.guests.loudspeaker.room_sound import SUFFIX, Sound
from custom_components.xiaozhi.timeouts import AnnouncementTimeouts
from tests.integration.http_device import MakeEntry, paired_device

pytestmark = pytest.mark.timeouts(AnnouncementTimeouts, stall=3, closing=2)

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


async def five_minutes() -> Sound:
    """Return sound that is all to be sent."""

    async def silence() -> AsyncGenerator[bytes]:
        for _ in range(300):
            yield bytes(48000)

    sound = Sound(lambda: "")
    sound.heard = 300
    await sound.make(silence())
    return sound


def slow_reader(server: BaseTestServer[Any], path: str) -> socket.socket:
    """Ask for a path on a bare socket with little room, and read nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((server.host, server.port))
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    connection.setblocking(False)
    return connection


async def test_a_stream_is_sent_to_its_end_once(
    gateway_entry: MockConfigEntry,
    hass_client_no_auth: ClientSessionGenerator,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    client = await hass_client_no_auth()
    source = Source(10)
    stream = Stream(source(), "audio/ogg")
    with gateway_entry.runtime_data.transfers.offer(stream) as path:
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


async def test_nothing_is_made_before_it_is_taken_and_a_stalled_device_dropped(
    gateway_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    server = (await hass_client_no_auth()).server
    source = Source()
    stream = Stream(source(), "audio/ogg")
    with (
        gateway_entry.runtime_data.transfers.offer(stream) as path,
        closing(slow_reader(server, path)) as connection,
    ):
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
    gateway_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    client = await hass_client_no_auth()
    stream = Stream(Source(1)(), "audio/ogg")
    with gateway_entry.runtime_data.transfers.offer(stream) as path:
        answer = await client.get(path)
        await stream.ended
        assert not stream.delivered
        answer.close()


async def test_a_fifth_reader_ends_the_first_and_each_gets_small_parts() -> None:
    sound = await five_minutes()
    readers = [sound.read() for _ in range(4)]
    assert all([len(await anext(reader)) <= 16 * 1024 for reader in readers])
    fifth = sound.read()
    await anext(fifth)
    with pytest.raises(StopAsyncIteration):
        await anext(readers[0])
    parts = [part async for part in readers[1]]
    assert sum(map(len, parts)) > 2_000_000
    assert max(map(len, parts)) <= 16 * 1024


async def test_a_reader_that_takes_nothing_is_given_up(
    gateway_entry: MockConfigEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    client = await hass_client_no_auth()
    loop = asyncio.get_running_loop()
    with gateway_entry.runtime_data.transfers.offer(await five_minutes()) as path:
        before = loop.time()
        with closing(slow_reader(client.server, path + SUFFIX)) as slow:
            await asyncio.sleep(AnnouncementTimeouts.stall + 5)
            received = 0
            with suppress(ConnectionError):
                while part := await loop.sock_recv(slow, 65536):
                    received += len(part)
        assert received < 500_000
        assert loop.time() - before < 60
        # Others are served.
        assert len(await (await client.get(path + SUFFIX)).read()) > 2_000_000


# The web server keeps that it is behind a proxy.
@pytest.mark.own_home
async def test_only_the_home_network_hears_it(
    hass: HomeAssistant, make_entry: MakeEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    settings = {"use_x_forwarded_for": True, "trusted_proxies": ["127.0.0.1"]}
    assert await async_setup_component(hass, "http", {"http": settings})
    entry = make_entry(paired_device())
    await hass.config_entries.async_setup(entry.entry_id)
    client = await hass_client_no_auth()
    sound = Sound(lambda: "")
    sound.ended = True
    with entry.runtime_data.transfers.offer(sound) as path:
        for remote, status in (("8.8.8.8", 403), ("192.168.1.20", 200)):
            for method in ("HEAD", "GET"):
                answer = await client.request(method, path + SUFFIX, headers={"X-Forwarded-For": remote})
                assert answer.status == status
        assert sound.requested_at is not None
