"""Devices close their connections to the web server first: some firmware crashes when the server does."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

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
    "photo": ("POST", VISION_PATH, "known", 200),
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


class Caller:
    """A device that wants its connection closed, on a bare socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, method: str, path: str, headers: str = "") -> int:
        self._writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: box.local:8123\r\nConnection: close\r\n"
            f"Content-Length: 0\r\n{headers}\r\n".encode()
        )
        async with asyncio.timeout(PATIENCE):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = next(line for line in head.split("\r\n") if line.startswith("content-length:"))
            await self._reader.readexactly(int(length.partition(":")[2]))
        return int(head.split()[1])

    async def closed(self, timeout: float = PATIENCE) -> bool:  # noqa: ASYNC109
        """Return whether the server closes the connection within so many seconds."""
        try:
            async with asyncio.timeout(timeout):
                assert await self._reader.read() == b""
        except TimeoutError:
            return False
        return True


@asynccontextmanager
async def calling(server: TestServer) -> AsyncGenerator[Caller]:
    reader, writer = await asyncio.open_connection(server.host, server.port)
    try:
        yield Caller(reader, writer)
    finally:
        writer.close()


async def ask(hass: HomeAssistant, server: TestServer, caller: Caller, name: str) -> None:
    method, path, headers, status = CALLS[name]
    transfers = hass.data[TRANSFERS]
    entry = hass.config_entries.async_entries("xiaozhi")[0]
    if headers == "known":
        token = entry.runtime_data.devices[MAC].settings.vision_token
        headers = f"Device-Id: {MAC}\r\nAuthorization: Bearer {token}\r\n"
    download = Download(b"x" * 100_000, "image/png")
    with transfers.offer(Upload()) as expected, transfers.offer(download) as offered:
        path = {"expected": expected, "offered": offered}.get(path, path)
        assert await caller.ask(method, path, headers) == status


@pytest.mark.parametrize(
    ("timeouts", "closes"),
    [(Timeouts(calls=CallTimeouts(hang_up=600)), False), (Timeouts(calls=CallTimeouts(hang_up=0.05)), True)],
    ids=["patient", "impatient"],
)
async def test_the_server_closes_only_when_the_device_does_not(
    hass: HomeAssistant, server: TestServer, closes: bool
) -> None:
    """It waits for a device to hang up, here for longer than any test."""
    for name in CALLS:
        async with calling(server) as caller:
            await ask(hass, server, caller, name)
            assert await caller.closed(PATIENCE if closes else 0.2) is closes, name
