"""The WebSocket listener with strangers at its door: only paired devices get in, and none is kept out."""

import asyncio
from contextlib import suppress
import logging
from typing import override

import pytest

from custom_components.xiaozhi.protocol.transport.link import Admission, Credentials
from tests.protocol.transport.websocket.peer import PATIENCE, TOKEN, RawDevice, Site, bystander, running

pytestmark = pytest.mark.usefixtures("socket_enabled")

LOGGER = "custom_components.xiaozhi"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer wrong"}, 403),
        ({"Authorization": ""}, 403),
        ({"Authorization": "Bearer"}, 403),
        ({"Authorization": f"Basic {TOKEN}"}, 403),
        ({"Device-Id": ""}, 403),
        ({"Device-Id": "94:a9:90:28:a4"}, 403),
        ({"Client-Id": ""}, 403),
        ({"Client-Id": "x" * 65}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Sec-WebSocket-Key": ""}, 400),
        ({"Sec-WebSocket-Version": "8"}, 400),
        ({"Upgrade": ""}, 426),
        # Nobody can tell which of them is meant.
        ({"extra": "Device-Id: 02:00:00:00:00:01\r\n"}, 403),
        *(
            ({"path": path}, 404)
            for path in ("/", "/xiaozhi/v1/x", "/xiaozhi/v1//", "/xiaozhi/v2/", "*", "http://x/xiaozhi/v1/")
        ),
    ],
)
async def test_who_is_no_paired_device_is_refused(headers: dict[str, str], status: int) -> None:
    """Never with 401, for which Home Assistant would ban the address; and no link comes into being."""
    async with running() as site, bystander(site):
        stranger = await RawDevice.dial(site)
        answered, response = await stranger.request(**headers)
        assert answered == status
        assert "text/plain" in response
        assert len(response) < 500
        assert len(site.links) == 1


async def test_an_error_while_authenticating_is_logged_and_ends_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The device gets an error, and the log a trace."""

    class Failing(Site):
        @override
        def authenticate(self, credentials: Credentials) -> Admission | None:
            if credentials.mac == "02:00:00:00:00:03":
                raise RuntimeError("no such thing")
            return super().authenticate(credentials)

    async with running(Failing()) as site, bystander(site):
        stranger = await RawDevice.dial(site)
        assert (await stranger.request(Device_Id="02:00:00:00:00:03"))[0] == 500
    assert "Unexpected error while authenticating a device" in caplog.text
    assert "no such thing" in caplog.text


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64), id="TLS"),
        pytest.param(b"\x00" * 10_000, id="zeros"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="HTTP"),
        pytest.param(b"GET /xiaozhi/v1/ HTTP/1.1\r\nA: " + b"x" * 100_000, id="long header"),
        pytest.param(b"GET /xiaozhi/v1/ HTTP/1.1\r\n" + b"A: b\r\n" * 1000 + b"\r\n", id="many headers"),
        pytest.param(b"POST /xiaozhi/v1/ HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789", id="body"),
        pytest.param(b"SSH-2.0-scan\r\n\r\n", id="SSH"),
        pytest.param(b"", id="nothing"),
    ],
)
async def test_garbage_ends_only_itself_and_says_nothing_in_the_log(
    garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Port scanners and other protocols are dropped at once or when the handshake takes too long."""
    caplog.set_level(logging.INFO, LOGGER)
    async with running(open=0.2) as site, bystander(site):
        stranger = await RawDevice.dial(site)
        stranger.writer.write(garbage)
        await _drain(stranger)
        half = await RawDevice.dial(site)
        half.writer.write(garbage)
        await half.hang_up()
    assert [record for record in caplog.records if record.name.startswith(LOGGER)] == []


async def _drain(device: RawDevice) -> None:
    with suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE):
            await device.reader.read()


async def test_the_library_speaks_in_debug_records_without_any_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What it reports can be seen by who wants to, but never the token, which stands among the headers."""
    caplog.set_level(logging.DEBUG, LOGGER)
    async with running() as site:
        device = await RawDevice.talking(site)
        await device.hang_up()
        await site.recorders[0].wait_for("link_closed")
        stranger = await RawDevice.dial(site)
        stranger.writer.write(b"GET\r\n\r\n")
        await _drain(stranger)
    records = [record for record in caplog.records if record.name.startswith(LOGGER)]
    assert "server closing" in [record.message for record in records]
    assert {record.levelno for record in records} == {logging.DEBUG}
    assert TOKEN not in caplog.text


async def flood(site: Site, network: int, count: int) -> list[RawDevice]:
    return [
        await RawDevice.dial(site, address=f"127.{network}.{number // 250}.{number % 250 + 1}")
        for number in range(count)
    ]


async def test_a_flood_from_many_addresses_leaves_places_for_paired_devices() -> None:
    """In the handshake, and for one that was there before; those that never finish it displace each other."""
    async with running(open=60, hello=60) as site, bystander(site):
        back_soon = await RawDevice.dial(site, address="127.9.9.9")
        assert (await back_soon.request(Device_Id="02:00:00:00:00:07"))[0] == 101
        await back_soon.hang_up()
        known = await RawDevice.dial(site, address="127.9.9.9")
        strangers = await flood(site, 1, 300)
        unknown = await RawDevice.dial(site, address="127.9.9.8")
        strangers += await flood(site, 2, 200)
        for device, mac in ((known, "02:00:00:00:00:07"), (unknown, "02:00:00:00:00:09")):
            assert (await device.request(Device_Id=mac))[0] == 101
        for stranger in strangers[:44]:
            await stranger.wait_until_dropped()


async def test_who_calls_from_outside_the_home_network_is_dropped_and_takes_no_place() -> None:
    """Not even a right token is read; 64 places wait for devices that are at home."""
    async with running(Site(admits=lambda address: address != "127.0.0.2")) as site, bystander(site):
        waiting = await RawDevice.dial(site)
        outside = [await RawDevice.dial(site, address="127.0.0.2") for _ in range(100)]
        for device in outside:
            device.writer.write(b"GET /xiaozhi/v1/ HTTP/1.1\r\n")
            await device.wait_until_dropped()
        assert (await waiting.request())[0] == 101
        assert {credentials.remote for credentials in site.seen} == {"127.0.0.1"}
