"""Devices close their connections to the web server first: some firmware crashes when the server does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import closing

from aiohttp.test_utils import TestServer
from homeassistant.core import HomeAssistant
import pytest

from custom_components.xiaozhi.const import FILE_PATH, OTA_PATH, UPLOAD_PATH, VISION_PATH
from custom_components.xiaozhi.device_http.transfers import TRANSFERS, Download, Upload
from custom_components.xiaozhi.timeouts import CallTimeouts, Timeouts
from tests.integration.http_device import CLIENT_ID, MAC, MakeEntry, paired_device

pytestmark = pytest.mark.own_home

# The server must have answered everything before this is over.
PATIENCE = 20

# What a device may be answered: method, path, its own headers, status.
CALLS = {
    "check-in": ("POST", OTA_PATH, f"Device-Id: {MAC}\r\nClient-Id: {CLIENT_ID}\r\n", 200),
    "no device": ("POST", OTA_PATH, "", 400),
    "activation": ("POST", f"{OTA_PATH}/activate", f"Device-Id: {MAC}\r\nClient-Id: {CLIENT_ID}\r\n", 200),
    "photo refused": ("POST", VISION_PATH, "", 403),
    "photo": ("POST", VISION_PATH, f"Device-Id: {MAC}\r\nAuthorization: Bearer {{token}}\r\n", 200),
    "picture not expected": ("POST", f"{UPLOAD_PATH}/x", "", 404),
    "picture": ("POST", "expected", "", 200),
    "file not offered": ("GET", f"{FILE_PATH}/x", "", 404),
    "file": ("GET", "offered", "", 200),
}


@pytest.fixture
async def server(
    hass: HomeAssistant, home_assistant: None, make_entry: MakeEntry
) -> AsyncGenerator[TestServer]:
    """The web server, which ends what is done for callers that are gone, as Home Assistant's does."""
    entry = make_entry(paired_device())
    assert await hass.config_entries.async_setup(entry.entry_id)
    server = TestServer(hass.http.app)
    await server.start_server(shutdown_timeout=PATIENCE)
    yield server
    await server.close()


@pytest.mark.parametrize(
    ("timeouts", "closes"),
    [(Timeouts(calls=CallTimeouts(hang_up=600)), False), (Timeouts(calls=CallTimeouts(hang_up=0.05)), True)],
    ids=["patient", "impatient"],
)
async def test_the_server_closes_only_when_the_device_does_not(
    hass: HomeAssistant, server: TestServer, closes: bool
) -> None:
    """It waits for a device to hang up, here for longer than any test. The device is a bare socket."""
    (entry,) = hass.config_entries.async_entries("xiaozhi")
    token = entry.runtime_data.devices[MAC].settings.vision_token
    transfers, download = hass.data[TRANSFERS], Download(b"x" * 100_000, "image/png")
    for name, (method, path, headers, status) in CALLS.items():
        reader, writer = await asyncio.open_connection(server.host, server.port)
        with transfers.offer(Upload()) as expected, transfers.offer(download) as offered, closing(writer):
            of_transfers = {"expected": expected, "offered": offered}
            writer.write(
                f"{method} {of_transfers.get(path, path)} HTTP/1.1\r\nHost: box.local:8123\r\n"
                f"Connection: close\r\nContent-Length: 0\r\n{headers.format(token=token)}\r\n".encode()
            )
            async with asyncio.timeout(PATIENCE):
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                assert int(head.split()[1]) == status, name
                length = next(line for line in head.split("\r\n") if line.startswith("content-length:"))
                await reader.readexactly(int(length.partition(":")[2]))
            closed = asyncio.create_task(reader.read())
            done, _ = await asyncio.wait((closed,), timeout=PATIENCE if closes else 0.2)
            assert bool(done) is closes, name
            closed.cancel()
