"""The WebSocket listener with devices that misbehave, and with strangers at its door.

Other devices must go on; only paired ones get in, and none is kept out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
import json
import logging
from typing import Any
from unittest.mock import Mock

import pytest
from websockets.frames import Frame, Opcode

from custom_components.xiaozhi.protocol.messages import MAX_MESSAGE_BYTES, McpMessage
from custom_components.xiaozhi.protocol.timeouts import WebSocketTimeouts
from custom_components.xiaozhi.protocol.transport.link import Link, LinkClosedError
from custom_components.xiaozhi.protocol.transport.websocket import websocket_connection
from tests.protocol.transport.udp.device import opus_packet
from tests.protocol.transport.websocket.peer import (
    AT_ONCE,
    HELLO,
    PATIENCE,
    TOKEN,
    RawDevice,
    Site,
    failing_in,
)

pytestmark = [pytest.mark.usefixtures("bystander"), AT_ONCE]

LOGGER = "custom_components.xiaozhi"


@pytest.mark.timeouts(WebSocketTimeouts, hello=0.05)
async def test_no_hello_in_time_ends_the_link(site: Site) -> None:
    """The device has given up by then too."""
    device = await RawDevice.connect(site)
    assert await device.receive_close() == (1002, "no hello in time")
    assert device.recorder.events == [("link_closed", "no hello in time")]


@pytest.mark.parametrize(
    ("opcode", "first", "reason"),
    [
        (Opcode.TEXT, {"type": "hullo"}, "the first message is not a hello"),
        (Opcode.TEXT, HELLO | {"transport": "udp"}, "hello for another transport than websocket"),
        (Opcode.TEXT, HELLO | {"transport": 1}, "malformed hello: transport is not a text"),
        (Opcode.BINARY, {}, "audio before hello"),
    ],
)
async def test_what_comes_first_must_be_a_hello(site: Site, opcode: Opcode, first: Any, reason: str) -> None:
    device = await RawDevice.connect(site)
    device.send_frame(opcode, json.dumps(first).encode())
    code, told = await device.receive_close(at_once=True)
    assert code == 1002
    assert told.startswith(reason)
    assert device.recorder.names == ["link_closed"]


async def test_a_second_hello_ends_the_link_and_is_not_answered(device: RawDevice) -> None:
    """An answer would make the device's next conversation start with the wrong session."""
    device.send_json(HELLO)
    assert await device.receive_close(at_once=True) == (1002, "second hello")
    assert device.recorder.events[1:] == [
        ("channel_closed", "second hello"),
        ("link_closed", "second hello"),
    ]


async def test_a_text_over_the_limit_ends_the_link_even_of_a_device_that_stays(device: RawDevice) -> None:
    """The largest that the firmware sends is fine."""
    fits = json.dumps({"type": "mcp", "payload": {"text": ""}})
    fits = fits.replace('""', f'"{"x" * (MAX_MESSAGE_BYTES - len(fits))}"')
    device.send_frame(Opcode.TEXT, fits.encode())
    message = await device.recorder.wait_for("message")
    assert isinstance(message, McpMessage)
    device.send_frame(Opcode.TEXT, fits.encode() + b" ")
    code, _reason = await device.receive_close()
    assert code == 1009
    assert "exceeds limit of 65535 bytes" in await device.recorder.wait_for("link_closed")
    assert device.recorder.values("too_long") == [None]


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"\x81\x02{}", id="unmasked"),
        pytest.param(b"\x80\x80\x00\x00\x00\x00", id="continuation of nothing"),
    ],
)
async def test_frames_against_the_websocket_standard_end_the_link(device: RawDevice, frame: bytes) -> None:
    device.writer.write(frame)
    code, _reason = await device.receive_close()
    assert code == 1002
    assert "closed for what the device sent" in await device.recorder.wait_for("link_closed")


@pytest.mark.parametrize(
    ("opcode", "data"),
    [
        (Opcode.TEXT, b'{"type":"listen","state":"detect","text":"say "hi""}'),
        pytest.param(Opcode.TEXT, b"\xff\xfe", id="not text"),
        pytest.param(Opcode.BINARY, bytes(0xFFEF), id="large packet"),
    ],
)
async def test_a_malformed_message_is_dropped_and_counted(
    device: RawDevice, opcode: Opcode, data: bytes
) -> None:
    device.send_frame(opcode, data)
    device.send_json({"type": "abort"})
    await device.recorder.wait_for("message")
    assert device.recorder.names == ["opened", "message"]
    assert device.link.counters.malformed == 1


async def test_unknown_messages_are_counted_and_logged_once(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Old firmware describes itself at length; a goodbye has no meaning here."""
    caplog.set_level(logging.DEBUG, LOGGER)
    device = await RawDevice.talking(site)
    for _ in range(3):
        device.send_json({"type": "iot", "descriptors": []})
    device.send_json({"type": "goodbye"})
    device.send_json({"type": "abort"})
    await device.recorder.wait_for("message")
    assert device.recorder.names == ["opened", "message"]
    assert (device.link.counters.unknown, device.link.counters.malformed) == (4, 0)
    assert caplog.text.count("sends messages unknown here") == 1


@pytest.mark.parametrize(
    ("opcode", "data", "count", "reason"),
    [
        (Opcode.TEXT, b"garbage", 30, "too many malformed messages"),
        (Opcode.TEXT, b'{"type":"abort"}', 300, "more than 100 messages a second"),
        (Opcode.BINARY, b"opus", 500, "more than 400 audio packets a second"),
        (Opcode.PING, b"", 60, "too many frames"),
        (Opcode.PONG, b"", 60, "too many frames"),
        # Pieces of a message that never ends.
        (Opcode.CONT, b"", 60, "too many frames"),
        (Opcode.BINARY, b"", 100_000, "too many frames"),
    ],
)
@pytest.mark.timeouts(WebSocketTimeouts, close=0.2)
async def test_a_flood_ends_the_link(
    device: RawDevice, opcode: Opcode, data: bytes, count: int, reason: str
) -> None:
    """With its reason; the flood is not handed on beyond its limit."""
    if opcode is Opcode.CONT:
        device.send_frame(Opcode.TEXT, b"", fin=False)
    device.writer.write(count * Frame(opcode, data, opcode is not Opcode.CONT).serialize(mask=True))
    assert await device.receive_close() == (1008, reason)
    ended = await device.recorder.wait_for("link_closed")
    assert ended == reason or not data
    assert len(device.recorder.events) < 500


async def speak(link: Link) -> None:
    """Send audio without end."""
    while True:
        await link.send_audio(bytes(1000))


async def write(link: Link) -> None:
    """Send messages without end."""
    while True:
        await link.send({"type": "stt", "text": "x" * 1000})


@pytest.mark.parametrize("send", [speak, write])
@pytest.mark.timeouts(WebSocketTimeouts, send=0.2)
async def test_a_device_that_stops_reading_loses_its_link(
    site: Site, send: Callable[[Link], Awaitable[None]]
) -> None:
    """The sender hears of it in time, and little has piled up until then."""
    device = await RawDevice.talking(site, receive_buffer=4096)
    device.writer.transport.pause_reading()
    async with asyncio.timeout(PATIENCE):
        results = await asyncio.gather(send(device.link), send(device.link), return_exceptions=True)
    assert [type(result) for result in results] == [LinkClosedError, LinkClosedError]
    assert device.link.counters.bytes_out < 500_000
    assert device.recorder.events[1:] == [
        ("channel_closed", "the device does not take what it is sent"),
        ("link_closed", "the device does not take what it is sent"),
    ]


async def test_a_hole_in_the_wifi_holds_back_no_more_than_the_play_queue_takes(site: Site) -> None:
    """It comes all at once when the hole ends. A hole that does not end is the end of the link."""
    sent: list[int] = []

    async def play(link: Link) -> None:
        while True:
            sent.append(await link.wait_received())
            await link.send_audio(bytes(250))
            await asyncio.sleep(0.06)

    device = await RawDevice.talking(site, receive_buffer=2048)
    playing = asyncio.create_task(play(device.link))
    reading = asyncio.create_task(device.wait_until_dropped())
    await asyncio.sleep(10)
    assert len(sent) > 150
    assert not any(sent)
    reading.cancel()
    device.writer.transport.pause_reading()
    sent.clear()
    await asyncio.sleep(5)
    # Those that the device's own buffers take, and 21.
    assert len(sent) < 60
    with pytest.raises(LinkClosedError, match="does not take what it is sent"):
        await playing


@pytest.mark.parametrize(
    ("by_us", "reason"), [(True, "enough"), (False, "the device closed the connection")], ids=["we", "device"]
)
@pytest.mark.timeouts(WebSocketTimeouts, send=60, close=0.1)
async def test_a_link_closes_although_the_device_does_not_read(site: Site, by_us: bool, reason: str) -> None:
    """There is no room for a close frame, and what the device has not taken yet does not keep the link."""
    device = await RawDevice.talking(site, receive_buffer=4096)
    device.writer.transport.pause_reading()
    speaking = asyncio.create_task(speak(device.link))
    done, _ = await asyncio.wait([speaking], timeout=0.1)
    assert not done
    async with asyncio.timeout(2):
        if by_us:
            await device.link.close("enough")
        else:
            device.writer.write_eof()
        await device.recorder.wait_for("link_closed")
        with pytest.raises(LinkClosedError, match=reason):
            await speaking


async def test_errors_in_a_handler_are_logged_once_and_end_no_link(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.make_handler = lambda: failing_in("message_received", "audio_received")
    device = await RawDevice.talking(site)
    for count in (1, 2):
        device.send_frame(Opcode.BINARY, opus_packet())
        device.send_json({"type": "abort"})
        await device.recorder.wait_for("message", count)
    assert device.recorder.names == ["opened", *["audio", "message"] * 2]
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "Unexpected error on the link of a device"
    ]


async def test_a_conversation_that_cannot_begin_ends(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    site.make_handler = lambda: failing_in("channel_opened")
    device = await RawDevice.talking(site)
    assert await device.receive_close() == (1000, "the conversation is over")
    assert device.recorder.names == ["opened", "channel_closed", "link_closed"]
    assert "no such thing" in caplog.text


async def test_an_error_of_a_handler_at_the_end_spares_the_rest(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """Each of its methods is still called, and the listener stops as always."""
    site.make_handler = lambda: failing_in("channel_closed")
    device = await RawDevice.talking(site)
    await device.hang_up()
    await device.recorder.wait_for("link_closed")
    assert "no such thing" in caplog.text


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
async def test_who_is_no_paired_device_is_refused(site: Site, headers: dict[str, str], status: int) -> None:
    """Never with 401, for which Home Assistant would ban the address; and no link comes into being."""
    stranger = await RawDevice.dial(site)
    answered, response = await stranger.request(**headers)
    assert answered == status
    assert "text/plain" in response
    assert len(response) < 500
    assert len(site.links) == 1


async def test_an_error_while_authenticating_is_logged_and_ends_nothing_else(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """The device gets an error, and the log a trace."""
    site.admit = Mock(side_effect=RuntimeError("no such thing"))  # type: ignore[method-assign]
    stranger = await RawDevice.dial(site)
    assert (await stranger.request())[0] == 500
    assert "Unexpected error while authenticating a device" in caplog.text
    assert "no such thing" in caplog.text


@pytest.mark.parametrize(
    "garbage",
    [
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64), id="TLS"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="HTTP"),
        pytest.param(b"GET /xiaozhi/v1/ HTTP/1.1\r\nA: " + b"x" * 100_000, id="long header"),
        pytest.param(b"GET /xiaozhi/v1/ HTTP/1.1\r\n" + b"A: b\r\n" * 1000 + b"\r\n", id="many headers"),
        pytest.param(b"POST /xiaozhi/v1/ HTTP/1.1\r\nContent-Length: 9\r\n\r\n123456789", id="body"),
        pytest.param(b"", id="nothing"),
    ],
)
@pytest.mark.timeouts(WebSocketTimeouts, open=0.2)
async def test_garbage_ends_only_itself_and_says_nothing_in_the_log(
    site: Site, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """Port scanners and other protocols are dropped at once or when the handshake takes too long."""
    caplog.set_level(logging.INFO, LOGGER)
    stranger = await RawDevice.dial(site)
    stranger.writer.write(garbage)
    await _drain(stranger)
    half = await RawDevice.dial(site)
    half.writer.write(garbage)
    await half.hang_up()
    await asyncio.sleep(1)
    assert [record for record in caplog.records if record.name.startswith(LOGGER)] == []


async def _drain(device: RawDevice) -> None:
    with suppress(ConnectionError):
        async with asyncio.timeout(PATIENCE):
            await device.reader.read()


async def test_the_library_speaks_in_debug_records_without_any_secret(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """What it reports can be seen by who wants to, but never the token, which stands among the headers."""
    caplog.set_level(logging.DEBUG, LOGGER)
    device = await RawDevice.talking(site)
    await device.hang_up()
    await device.recorder.wait_for("link_closed")
    stranger = await RawDevice.dial(site)
    stranger.writer.write(b"GET\r\n\r\n")
    await _drain(stranger)
    records = [record for record in caplog.records if record.name.startswith(LOGGER)]
    assert "connection open" in [record.message for record in records]
    assert {record.levelno for record in records} == {logging.DEBUG}
    assert TOKEN not in caplog.text


@pytest.mark.timeouts(WebSocketTimeouts, open=60)
async def test_of_a_request_no_more_is_kept_than_a_device_sends(site: Site) -> None:
    """The library would take a megabyte, which 256 strangers at a time could fill the memory with."""
    stranger = await RawDevice.dial(site)
    stranger.writer.write(b"GET /xiaozhi/v1/ HTTP/1.1\r\n" + (b"A: " + b"x" * 8000 + b"\r\n") * 20)
    await stranger.wait_until_dropped()


async def flood(site: Site, network: int, count: int) -> list[RawDevice]:
    return [
        await RawDevice.dial(site, address=f"127.{network}.{number // 250}.{number % 250 + 1}")
        for number in range(count)
    ]


@pytest.mark.timeouts(WebSocketTimeouts, open=60, hello=60)
async def test_a_flood_from_many_addresses_leaves_places_for_paired_devices(site: Site) -> None:
    """In the handshake, and for one that was there before; those that never finish it displace each other."""
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


async def test_callers_from_outside_the_home_network_are_dropped(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a right token is read; 64 places wait for devices that are at home."""
    monkeypatch.setattr(websocket_connection, "is_local", lambda address: address != "127.0.0.2")
    waiting = await RawDevice.dial(site)
    outside = [await RawDevice.dial(site, address="127.0.0.2") for _ in range(100)]
    for device in outside:
        device.writer.write(b"GET /xiaozhi/v1/ HTTP/1.1\r\n")
        await device.wait_until_dropped()
    assert (await waiting.request())[0] == 101
    assert {credentials.remote for credentials in site.seen} == {"127.0.0.1"}
