"""The address at which another player fetches what a device would say, and readers that take nothing."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager, suppress
import socket

from homeassistant.core import HomeAssistant
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.guests.loudspeaker.room_sound import SUFFIX, Sound
from custom_components.xiaozhi.settings import gateway_entry
from custom_components.xiaozhi.timeouts import AnnouncementTimeouts
from tests.integration.http_device import MakeEntry, paired_device


async def five_minutes() -> AsyncGenerator[bytes]:
    for _ in range(300):
        yield bytes(48000)


async def made() -> Sound:
    """Return five minutes of sound that are all to be sent."""
    sound = Sound(lambda: "")
    sound.heard = 300
    await sound.make(five_minutes())
    return sound


@contextmanager
def offered(hass: HomeAssistant, sound: Sound) -> Iterator[str]:
    entry = gateway_entry(hass)
    assert entry is not None
    with entry.runtime_data.transfers.offer(sound) as path:
        yield path + SUFFIX


async def test_a_fifth_reader_ends_the_first_and_each_gets_small_parts() -> None:
    sound = await made()
    readers = [sound.read() for _ in range(4)]
    assert all([len(await anext(reader)) <= 16 * 1024 for reader in readers])
    fifth = sound.read()
    await anext(fifth)
    with pytest.raises(StopAsyncIteration):
        await anext(readers[0])
    parts = [part async for part in readers[1]]
    assert sum(map(len, parts)) > 2_000_000
    assert max(map(len, parts)) <= 16 * 1024


@pytest.mark.usefixtures("gateway_entry")
async def test_a_reader_that_takes_nothing_is_given_up(
    hass: HomeAssistant, hass_client_no_auth: ClientSessionGenerator
) -> None:
    client = await hass_client_no_auth()
    with offered(hass, await made()) as path, socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(slow, ("127.0.0.1", client.port))
        before = loop.time()
        await loop.sock_sendall(slow, f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await asyncio.sleep(AnnouncementTimeouts.stall + 5)
        received = 0
        with suppress(ConnectionError):
            while part := await loop.sock_recv(slow, 65536):
                received += len(part)
        assert received < 500_000
        assert loop.time() - before < 60
        # Others are served.
        assert len(await (await client.get(path)).read()) > 2_000_000


# The web server keeps that it is behind a proxy.
@pytest.mark.own_home
async def test_only_the_home_network_hears_it(
    hass: HomeAssistant, make_entry: MakeEntry, hass_client_no_auth: ClientSessionGenerator
) -> None:
    settings = {"use_x_forwarded_for": True, "trusted_proxies": ["127.0.0.1"]}
    assert await async_setup_component(hass, "http", {"http": settings})
    await hass.config_entries.async_setup(make_entry(paired_device()).entry_id)
    client = await hass_client_no_auth()
    sound = Sound(lambda: "")
    sound.ended = True
    with offered(hass, sound) as path:
        for remote, status in (("8.8.8.8", 403), ("192.168.1.20", 200)):
            for method in ("HEAD", "GET"):
                answer = await client.request(method, path, headers={"X-Forwarded-For": remote})
                assert answer.status == status
        assert sound.requested_at is not None
