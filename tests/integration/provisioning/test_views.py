"""The addresses that devices call."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import closing
from http import HTTPStatus
import logging
from unittest.mock import patch

from aiohttp import web
from aiohttp.test_utils import make_mocked_request
from homeassistant.config_entries import SAVE_DELAY
from homeassistant.core import HomeAssistant
from homeassistant.helpers.device_registry import EVENT_DEVICE_REGISTRY_UPDATED
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, async_capture_events
from pytest_homeassistant_custom_component.typing import ClientSessionGenerator

from custom_components.xiaozhi.const import FILE_PATH, OTA_PATH, WEBSOCKET_PATH
from custom_components.xiaozhi.device_http import access
from custom_components.xiaozhi.device_http.transfers import Download
from custom_components.xiaozhi.guests.pictures.device_pictures import VISION_PATH, DevicePictures
from custom_components.xiaozhi.guests.pictures.screen import UPLOAD_PATH, Upload
from custom_components.xiaozhi.protocol.checkin import MAX_BODY_BYTES
from custom_components.xiaozhi.provisioning.checkins import CheckInView
from tests.integration.http_device import (
    CLIENT_ID,
    MAC,
    TOKEN,
    HttpDevice,
    MakeDevice,
    MakeEntry,
    paired_device,
)

with_paired_device = pytest.mark.parametrize("gateway_entry", [[paired_device()]], indirect=True)
CHECK_IN_PATHS = [OTA_PATH, f"{OTA_PATH}/"]
ACTIVATION_PATHS = [f"{OTA_PATH}/activate", f"{OTA_PATH}/activate/"]


async def test_an_unknown_device_gets_a_code_and_waits_without_a_gateway(
    make_device: MakeDevice, hass: HomeAssistant, gateway_entry: MockConfigEntry
) -> None:
    """It shows and speaks the code, and polls until it is typed."""
    for path in CHECK_IN_PATHS:
        response = await make_device().post(path)
        reply = await response.json()
        assert response.status == HTTPStatus.OK
        # Neither chunked nor compressed, and far below the 8 KiB that hang it.
        assert int(response.headers["Content-Length"]) == len(await response.read()) < 4096
        assert "Content-Encoding" not in response.headers
        assert response.content_type == "application/json"
        assert reply.keys() == {"activation", "server_time"}
        assert reply["activation"]["code"] in reply["activation"]["message"]
        assert reply["activation"]["challenge"]
    # Answered as out of service while Home Assistant reloads or when the gateway was removed.
    device = make_device()
    await hass.config_entries.async_unload(gateway_entry.entry_id)
    for path in CHECK_IN_PATHS + ACTIVATION_PATHS:
        assert (await device.post(path)).status == HTTPStatus.SERVICE_UNAVAILABLE
    await hass.config_entries.async_setup(gateway_entry.entry_id)
    assert (await device.post()).status == HTTPStatus.OK


@with_paired_device
async def test_a_paired_device_gets_its_link_under_the_host_it_used(
    gateway_entry: MockConfigEntry, make_device: MakeDevice, caplog: pytest.LogCaptureFixture
) -> None:
    """What it could reach once, it can reach again."""
    caplog.set_level(logging.DEBUG)
    port = gateway_entry.data["websocket_port"]
    url = f"ws://Home-Assistant.lan:{port}{WEBSOCKET_PATH}"
    for path in CHECK_IN_PATHS:
        response = await make_device(extra_headers={"Host": "Home-Assistant.lan:8123"}).post(path)
        reply = await response.json()
        assert reply.keys() == {"websocket", "server_time"}
        assert reply["websocket"] == {"url": url, "token": TOKEN, "version": 1}
    # Accepted, waiting, or to check in first; never with an empty body, for which a device waits 30 s.
    _, path = ACTIVATION_PATHS
    stranger = make_device(mac="94:a9:90:00:00:01")
    answers = [await make_device().post(path), await stranger.post(path)]
    code = await stranger.code()
    answers += [await stranger.post(path), await make_device(client_id="another").post(path)]
    answers += [await make_device(mac=stranger.mac, client_id="another").post(path)]
    assert [answer.status for answer in answers] == [200, 404, 202, 404, 404]
    assert all([await answer.read() for answer in answers])
    # Nobody on the way logs a code or a token, not even at debug.
    spoof = await make_device(client_id="another").code()
    for secret in (code, spoof, TOKEN):
        assert secret not in caplog.text


@with_paired_device
async def test_a_paired_device_without_end_changes_the_registry_sixty_times(
    make_device: MakeDevice, hass: HomeAssistant
) -> None:
    """And then once in three seconds."""
    changes = async_capture_events(hass, EVENT_DEVICE_REGISTRY_UPDATED)
    start = hass.loop.time()
    for number in range(100):
        await make_device(version=f"2.4.{number}").post()
    assert 60 <= len(changes) <= 60 + (hass.loop.time() - start) / 3
    await asyncio.sleep(10)
    assert (await make_device(version="2.5.0").post()).status == HTTPStatus.OK


@with_paired_device
async def test_a_device_is_accepted_only_when_its_pairing_is_on_the_disk(
    hass: HomeAssistant, gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """Told sooner, it would show no code any more or get a token that a restart forgets."""
    [subentry] = gateway_entry.subentries.values()

    def change(token: str) -> float:
        hass.config_entries.async_update_subentry(
            gateway_entry, subentry, data={**subentry.data, "token": token}
        )
        return hass.loop.time()

    changed = change("a new token")
    first, second = [await make_device().post(path) for path in (ACTIVATION_PATHS[0], OTA_PATH)]
    assert SAVE_DELAY < hass.loop.time() - changed < 2 * SAVE_DELAY
    assert (first.status, (await second.json())["websocket"]["token"]) == (HTTPStatus.OK, "a new token")
    # Nor if it is paired again while it waits.
    change("a newer token")
    waiting = asyncio.create_task(make_device().post(OTA_PATH))
    await asyncio.sleep(SAVE_DELAY)
    changed = change("the newest token")
    assert (await (await waiting).json())["websocket"]["token"] == "the newest token"
    assert hass.loop.time() - changed > SAVE_DELAY


async def test_a_caller_without_identity_or_from_an_impossible_host_is_refused(
    make_device: MakeDevice,
) -> None:
    """A device takes status 200 for success, so a refusal must not have it."""
    for path in CHECK_IN_PATHS + ACTIVATION_PATHS:
        for wrong in ({"mac": ""}, {"mac": "x" * 5000}, {"client_id": ""}, {"client_id": "a b"}):
            response = await make_device(**wrong).post(path)
            assert response.status == HTTPStatus.BAD_REQUEST
            assert await response.read()
    # The device would store it and restart or fail whenever it wants to connect.
    for host in ("[fe80::1]:8123", "a:b:80", "a/b", "-", "x" * 300, "1.2.3", "1.2.3.999:80"):
        assert (await make_device(extra_headers={"Host": host}).post()).status == HTTPStatus.BAD_REQUEST


async def test_a_body_over_the_limit_is_refused_and_a_late_one_given_up(
    make_device: MakeDevice,
) -> None:
    """One byte makes the difference. What does not decode is refused, too, and not read to its end."""

    async def unfinished(beginning: bytes) -> AsyncGenerator[bytes]:
        yield beginning
        await asyncio.Event().wait()

    device = make_device()
    for path in CHECK_IN_PATHS + ACTIVATION_PATHS:
        assert (await device.post(path, b" " * MAX_BODY_BYTES)).status != 413
        response = await device.client.post(
            path, headers=device.headers, data=unfinished(b" " * (MAX_BODY_BYTES + 1))
        )
        assert response.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        response.close()
    zipped = make_device(extra_headers={"Content-Encoding": "gzip"})
    assert (await zipped.post(body=b"not gzip" * 10)).status == HTTPStatus.BAD_REQUEST

    # Or a few connections that never finish would pile up.
    response = await device.client.post(OTA_PATH, headers=device.headers, data=unfinished(b"{"))
    assert response.status == HTTPStatus.REQUEST_TIMEOUT
    response.close()


VIEWS = (
    ("POST", OTA_PATH),
    ("GET", OTA_PATH),
    ("POST", f"{OTA_PATH}/activate"),
    ("POST", VISION_PATH),
    ("POST", f"{UPLOAD_PATH}/a-secret-token"),
    ("GET", f"{FILE_PATH}/a-secret-token"),
)
# Whether they are outside of the local network.
CALLERS = {"8.8.8.8": True, "2001:db8::1": True, "100.64.0.1": True, "192.168.1.20": False, "fd12::1": False}


# The web server keeps that it is behind a proxy.
@pytest.mark.own_home
async def test_every_view_refuses_the_outside_and_web_pages_without_a_log(
    hass: HomeAssistant,
    make_entry: MakeEntry,
    hass_client_no_auth: ClientSessionGenerator,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In the same words. Neither a path, which may hold a one-time token, nor a header is in the log.

    A browser says which page makes a request; also one that was loaded from a name that is now ours.
    """
    caplog.set_level(logging.DEBUG, "custom_components.xiaozhi")
    settings = {"use_x_forwarded_for": True, "trusted_proxies": ["127.0.0.1"]}
    assert await async_setup_component(hass, "http", {"http": settings})
    await hass.config_entries.async_setup(make_entry(paired_device()).entry_id)
    client = await hass_client_no_auth()
    headers = {"Device-Id": "\u202e-secret-", "User-Agent": "\u202e-secret-/1"}
    for method, path in VIEWS:
        # A person with a browser is told more.
        refusal = (
            "home network" if (method, path) == ("GET", OTA_PATH) else "Only for devices in the local network"
        )
        for remote, is_outside in CALLERS.items():
            headers["X-Forwarded-For"] = remote
            answer = await client.request(method, f"{path}?-secret-", headers=headers)
            text = await answer.text()
            assert (answer.status == HTTPStatus.FORBIDDEN and refusal in text) is is_outside
            assert "secret" not in text
            assert not is_outside or "192.168." not in text
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("custom_components")]
    assert f"Call of {FILE_PATH}/{{token}} from 8.8.8.8 refused: not in the local network" in logged
    assert not [text for text in logged if "secret" in text or not text.isprintable()]
    address = f"http://{client.host}:{client.port}"
    headers = HttpDevice(client=client).headers
    for method, path in VIEWS:
        for origin in ("http://evil.example", "null", address):
            answer = await client.request(method, path, headers=headers | {"Origin": origin})
            assert (answer.status, await answer.text()) == (HTTPStatus.FORBIDDEN, "Not for web pages")
        asked = await client.options(
            path, headers={"Origin": address, "Access-Control-Request-Method": method}
        )
        assert "Access-Control-Allow-Origin" not in asked.headers


@pytest.mark.usefixtures("gateway_entry")
async def test_nobody_is_let_in_through_the_cloud_or_without_an_address(
    make_device: MakeDevice, hass: HomeAssistant
) -> None:
    """Requests of Home Assistant Cloud come from the loopback address."""
    with patch.object(access, "is_cloud_connection", return_value=True):
        assert (await make_device().post()).status == HTTPStatus.FORBIDDEN
    # As through a Unix socket, where nobody knows who stands behind it.
    view = CheckInView(lambda: None)
    with pytest.raises(web.HTTPForbidden):
        await view.post(make_mocked_request("POST", OTA_PATH, app=hass.http.app))
    request = make_mocked_request("GET", OTA_PATH, app=hass.http.app)
    assert (await view.get(request)).status == HTTPStatus.FORBIDDEN


# Devices close their connections first: some firmware crashes when the server does.

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


@pytest.mark.own_home
@with_paired_device
async def test_the_server_closes_only_when_the_device_does_not(
    gateway_entry: MockConfigEntry, make_device: MakeDevice
) -> None:
    """It waits a moment for a device to hang up. The device is a bare socket."""
    client = make_device().client
    token = gateway_entry.runtime_data.devices[MAC].part(DevicePictures).token
    transfers, download = gateway_entry.runtime_data.transfers, Download(b"x" * 100_000, "image/png")
    for name, (method, path, headers, status) in CALLS.items():
        reader, writer = await asyncio.open_connection(client.host, client.port)
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
            assert not (await asyncio.wait((closed,), timeout=0.2))[0], name
            assert (await asyncio.wait((closed,), timeout=PATIENCE))[0], name
            closed.cancel()
