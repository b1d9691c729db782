"""The WebSocket listener with devices that misbehave; other devices must go on."""

import asyncio
from collections.abc import Awaitable, Callable
import json
import logging
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from custom_components.xiaozhi.protocol.messages import MAX_MESSAGE_BYTES, McpMessage
from custom_components.xiaozhi.protocol.transport.link import Link, LinkClosedError
from tests.protocol.transport.udp.device import opus_packet
from tests.protocol.transport.websocket.peer import (
    HELLO,
    PATIENCE,
    RawDevice,
    Site,
    bystander,
    failing_in,
    running,
)

pytestmark = pytest.mark.usefixtures("socket_enabled")

LOGGER = "custom_components.xiaozhi"


async def test_no_hello_in_time_ends_the_link() -> None:
    """The device has given up by then too."""
    async with running(hello=0.05) as site, bystander(site):
        device = await RawDevice.connect(site)
        assert await device.receive_close() == (1002, "no hello in time")
        assert site.recorders[1].events == [("link_closed", "no hello in time")]


@pytest.mark.parametrize(
    ("opcode", "first", "reason"),
    [
        (Opcode.TEXT, {"type": "hullo"}, "the first message is not a hello"),
        (Opcode.TEXT, HELLO | {"transport": "udp"}, "hello for another transport than websocket"),
        (Opcode.TEXT, HELLO | {"transport": 1}, "malformed hello: transport is not a text"),
        (Opcode.BINARY, {}, "audio before hello"),
    ],
)
async def test_what_comes_first_must_be_a_hello(opcode: Opcode, first: Any, reason: str) -> None:
    async with running() as site, bystander(site):
        device = await RawDevice.connect(site)
        device.send_frame(opcode, json.dumps(first).encode())
        code, told = await device.receive_close(at_once=True)
        assert code == 1002
        assert told.startswith(reason)
        assert site.recorders[1].names == ["link_closed"]


async def test_a_second_hello_ends_the_link_and_is_not_answered() -> None:
    """An answer would make the device's next conversation start with the wrong session."""
    async with running() as site, bystander(site):
        device = await RawDevice.talking(site)
        device.send_json(HELLO)
        assert await device.receive_close(at_once=True) == (1002, "second hello")
        assert site.recorders[1].events[1:] == [
            ("channel_closed", "second hello"),
            ("link_closed", "second hello"),
        ]


async def test_a_text_over_the_limit_ends_the_link_even_of_a_device_that_stays() -> None:
    """The largest that the firmware sends is fine."""
    async with running() as site, bystander(site):
        device = await RawDevice.talking(site)
        fits = json.dumps({"type": "mcp", "payload": {"text": ""}})
        fits = fits.replace('""', f'"{"x" * (MAX_MESSAGE_BYTES - len(fits))}"')
        device.send_frame(Opcode.TEXT, fits.encode())
        message = await site.recorders[1].wait_for("message")
        assert isinstance(message, McpMessage)
        device.send_frame(Opcode.TEXT, fits.encode() + b" ")
        code, _reason = await device.receive_close()
        assert code == 1009
        assert "exceeds limit of 65535 bytes" in await site.recorders[1].wait_for("link_closed")


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"\x81\x02{}", id="unmasked"),
        pytest.param(b"\x80\x80\x00\x00\x00\x00", id="continuation of nothing"),
    ],
)
async def test_frames_against_the_websocket_standard_end_the_link(frame: bytes) -> None:
    async with running() as site, bystander(site):
        device = await RawDevice.talking(site)
        device.writer.write(frame)
        code, _reason = await device.receive_close()
        assert code == 1002
        assert "closed for what the device sent" in await site.recorders[1].wait_for("link_closed")


@pytest.mark.parametrize(
    ("opcode", "data"),
    [
        (Opcode.TEXT, b'{"type":"listen","state":"detect","text":"say "hi""}'),
        pytest.param(Opcode.TEXT, b"\xff\xfe", id="not text"),
        pytest.param(Opcode.BINARY, bytes(0xFFEF), id="large packet"),
    ],
)
async def test_a_malformed_message_is_dropped_and_counted(opcode: Opcode, data: bytes) -> None:
    async with running() as site, bystander(site):
        device = await RawDevice.talking(site)
        device.send_frame(opcode, data)
        device.send_json({"type": "abort"})
        await site.recorders[1].wait_for("message")
        assert site.recorders[1].names == ["opened", "message"]
        assert site.links[1].counters.malformed == 1


async def test_unknown_messages_are_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Old firmware describes itself at length; a goodbye has no meaning here."""
    caplog.set_level(logging.DEBUG, LOGGER)
    async with running() as site:
        device = await RawDevice.talking(site)
        for _ in range(3):
            device.send_json({"type": "iot", "descriptors": []})
        device.send_json({"type": "goodbye"})
        device.send_json({"type": "abort"})
        await site.recorders[0].wait_for("message")
        assert site.recorders[0].names == ["opened", "message"]
        assert (site.links[0].counters.unknown, site.links[0].counters.malformed) == (4, 0)
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
async def test_a_flood_ends_the_link(opcode: Opcode, data: bytes, count: int, reason: str) -> None:
    """With its reason; the flood is not handed on beyond its limit."""
    async with running(close=0.2) as site, bystander(site):
        device = await RawDevice.talking(site)
        if opcode is Opcode.CONT:
            device.send_frame(Opcode.TEXT, b"", fin=False)
        device.writer.write(count * Frame(opcode, data, opcode is not Opcode.CONT).serialize(mask=True))
        assert await device.receive_close() == (1008, reason)
        ended = await site.recorders[1].wait_for("link_closed")
        assert ended == reason or not data
        assert len(site.recorders[1].events) < 500


async def speak(link: Link) -> None:
    """Send audio without end."""
    while True:
        await link.send_audio(bytes(1000))


async def write(link: Link) -> None:
    """Send messages without end."""
    while True:
        await link.send({"type": "stt", "text": "x" * 1000})


@pytest.mark.parametrize("send", [speak, write])
async def test_a_device_that_stops_reading_loses_its_link(send: Callable[[Link], Awaitable[None]]) -> None:
    """The sender hears of it in time, and little has piled up until then."""
    async with running(send=0.2) as site, bystander(site):
        device = await RawDevice.talking(site, receive_buffer=4096)
        link, recorder = site.links[1], site.recorders[1]
        device.writer.transport.pause_reading()
        async with asyncio.timeout(PATIENCE):
            results = await asyncio.gather(send(link), send(link), return_exceptions=True)
        assert [type(result) for result in results] == [LinkClosedError, LinkClosedError]
        assert link.counters.bytes_out < 500_000
        assert recorder.events[1:] == [
            ("channel_closed", "the device does not take what it is sent"),
            ("link_closed", "the device does not take what it is sent"),
        ]


@pytest.mark.parametrize(
    ("by_us", "reason"), [(True, "enough"), (False, "the device closed the connection")], ids=["we", "device"]
)
async def test_a_link_closes_although_the_device_does_not_read(by_us: bool, reason: str) -> None:
    """There is no room for a close frame, and what the device has not taken yet does not keep the link."""
    async with running(send=60, close=0.1) as site, bystander(site):
        device = await RawDevice.talking(site, receive_buffer=4096)
        device.writer.transport.pause_reading()
        speaking = asyncio.create_task(speak(site.links[1]))
        done, _ = await asyncio.wait([speaking], timeout=0.1)
        assert not done
        async with asyncio.timeout(2):
            if by_us:
                await site.links[1].close("enough")
            else:
                device.writer.write_eof()
            await site.recorders[1].wait_for("link_closed")
            with pytest.raises(LinkClosedError, match=reason):
                await speaking


@pytest.mark.parametrize("method", ["channel_opened", "message_received", "audio_received"])
async def test_an_error_in_a_handler_is_logged_once_and_ends_only_its_link(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The device is told that it was our fault."""
    async with running() as site, bystander(site):
        site.make_handler = lambda: failing_in(method)
        device = await RawDevice.connect(site)
        device.send_json(HELLO)
        device.send_frame(Opcode.BINARY, opus_packet())
        device.send_json({"type": "abort"})
        assert await device.receive_close() == (1011, "internal error")
        assert await site.recorders[1].wait_for("link_closed") == "internal error"
        assert site.recorders[1].names.count("channel_closed") == 1
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "Unexpected error on the link of the device at 127.0.0.1"
    ]


async def test_an_error_of_a_handler_at_the_end_spares_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    """Each of its methods is still called, and the listener stops as always."""
    async with running(Site(make_handler=lambda: failing_in("channel_closed"))) as site:
        device = await RawDevice.talking(site)
        await device.hang_up()
        await site.recorders[0].wait_for("link_closed")
    assert "no such thing" in caplog.text
