"""The WebSocket listener and its links, with devices that behave."""

import asyncio
import socket
from typing import Any, override

import pytest
from websockets.frames import Frame, Opcode

from custom_components.xiaozhi.protocol.messages import (
    Abort,
    AudioFormat,
    DeviceMessage,
    ListenMode,
    ListenStart,
    McpMessage,
    server_hello,
)
from custom_components.xiaozhi.protocol.timeouts import WebSocketTimeouts
from custom_components.xiaozhi.protocol.transport.link import Credentials, LinkClosedError, LinkKind
from tests.protocol.transport.udp.device import opus_packet
from tests.protocol.transport.websocket.peer import AT_ONCE, HELLO, TOKEN, RawDevice, Recorder, Site, port_of

pytestmark = AT_ONCE


@pytest.mark.parametrize("hello", [HELLO, {"type": "hello", "features": {"mcp": True}}])
async def test_a_hello_is_answered_at_once_and_opens_the_channel(site: Site, hello: dict[str, Any]) -> None:
    """With transport, session and the audio to expect. Some clients do not name the transport."""
    device = await RawDevice.connect(site)
    assert device.recorder.names == []
    assert device.link.channel is None
    device.send_json(hello)
    channel = await device.recorder.wait_for("opened")
    assert channel is device.link.channel
    assert await device.receive_json() == server_hello(transport="websocket", session_id=channel.session_id)
    assert channel.session_id.isalnum()
    assert channel.hello.audio == AudioFormat(16000, 60)
    assert channel.hello.supports_mcp


async def test_messages_and_audio_arrive_in_their_order_and_are_counted(device: RawDevice) -> None:
    """Wake word audio may come before `listen`, and an empty packet is silence."""
    device.send_frame(Opcode.BINARY, opus_packet(b"wake"))
    device.send_json({"type": "listen", "state": "start", "mode": "auto"})
    device.send_frame(Opcode.BINARY, b"")
    device.send_json({"type": "mcp", "payload": {"id": 1}})
    device.send_json({"type": "abort"})
    link, recorder = device.link, device.recorder
    await recorder.wait_for("message", 3)
    assert recorder.events[1:] == [
        ("audio", (opus_packet(b"wake"), 0)),
        ("message", ListenStart(ListenMode.AUTO)),
        ("audio", (b"", 0)),
        ("message", McpMessage({"id": 1})),
        ("message", Abort()),
    ]
    assert (link.kind, link.stays_connected, link.remote) == (LinkKind.WEBSOCKET, False, "127.0.0.1")
    sent = link.counters.bytes_out
    await link.send({"type": "alert", "text": "ü"})
    await link.send_audio(b"1234")
    counters = link.counters
    assert (counters.messages_in, counters.packets_in, counters.bytes_in) == (3, 2, 5 + 52 + 37 + 17)
    assert (counters.messages_out, counters.packets_out) == (1, 1)
    assert counters.bytes_out - sent == len('{"type":"alert","text":"ü"}'.encode()) + 4
    assert (counters.malformed, counters.unknown) == (0, 0)


HEADERS = {1: b"", 2: bytes.fromhex("00020000 00000000 0000002a 00000007"), 3: bytes.fromhex("00000007")}
"""Of a packet of seven bytes, by version of the hello."""


@pytest.mark.parametrize(("version", "framed"), [(1, False), (2, True), (3, True), (2, False), (3, False)])
async def test_audio_is_framed_as_the_first_packet_shows(site: Site, version: int, framed: bool) -> None:
    """Programs name a version in their hello and send bare packets."""
    device = await RawDevice.talking(site, version=version)
    link, recorder = device.link, device.recorder
    # Until then, bare: so does the reference server.
    await link.send_audio(b"early")
    packet, header = opus_packet(), HEADERS[version] if framed else b""
    for frame in (b"", header + packet, header + packet):
        device.send_frame(Opcode.BINARY, frame)
    assert await recorder.wait_for("audio", 3) == (packet, 0)
    await link.send_audio(packet)
    frames = [await device.receive() for _ in range(2)]
    # The firmware's own clock is not known: its time is 0.
    answer = header.replace(b"\x2a", b"\0") + packet
    assert [bytes(frame.data) for frame in frames if frame is not None] == [b"early", answer]
    assert link.counters.malformed == 0


@pytest.mark.parametrize("version", [2, 3])
async def test_audio_neither_framed_nor_opus_is_refused_a_broken_frame_dropped(
    site: Site, version: int
) -> None:
    device = await RawDevice.talking(site, version=version)
    device.send_frame(Opcode.BINARY, b"\x7e no packet")
    reason = f"audio that is neither framed as in version {version} nor bare Opus"
    assert await device.receive_close() == (1002, reason)
    device = await RawDevice.talking(site, version=version)
    for frame in (HEADERS[version] + opus_packet(), HEADERS[version][:-1], HEADERS[version] + b"short"):
        device.send_frame(Opcode.BINARY, frame)
    device.send_json({"type": "abort"})
    await device.recorder.wait_for("message")
    assert device.recorder.names == ["opened", "audio", "message"]
    assert device.link.counters.malformed == 2


@pytest.mark.timeouts(WebSocketTimeouts, close=5)
async def test_ending_the_conversation_closes_the_connection_without_an_answer(device: RawDevice) -> None:
    """A close frame, and then the end of TCP: the device would keep it open until it talks again."""
    link, recorder = device.link, device.recorder
    now = asyncio.get_running_loop().time
    began = now()
    closing = asyncio.create_task(link.close_channel())
    assert await device.receive_close() == (1000, "the conversation is over")
    # Later, the device could be woken in this moment.
    assert now() - began < 0.1
    # It may still send, and have sent.
    device.send_frame(Opcode.PING)
    await asyncio.sleep(1)
    await closing
    assert recorder.events[1:] == [
        ("channel_closed", "the conversation is over"),
        ("link_closed", "the conversation is over"),
    ]
    assert link.channel is None


async def test_what_has_arrived_before_the_end_is_not_handed_on_after_it(site: Site) -> None:
    """Several messages can come at once; the first one may be the last that anybody wants."""
    closing: list[asyncio.Task[None]] = []

    class Closing(Recorder):
        @override
        def message_received(self, message: DeviceMessage) -> None:
            super().message_received(message)
            close = device.link.close("enough")
            closing.append(asyncio.Task(close, loop=asyncio.get_running_loop(), eager_start=True))

    site.make_handler = Closing
    device = await RawDevice.talking(site)
    device.writer.write(3 * Frame(Opcode.TEXT, b'{"type":"abort"}').serialize(mask=True))
    await device.wait_until_dropped()
    assert device.recorder.names == ["opened", "message", "channel_closed", "link_closed"]
    await asyncio.gather(*closing)


async def test_a_closed_link_says_why_nothing_can_be_sent(site: Site) -> None:
    """Before the hello, when it may end as well, and after the end."""
    device = await RawDevice.connect(site)
    await device.link.close("x" * 300 + "ü")
    assert await device.receive_close() == (1000, "x" * 123)
    assert device.recorder.names == ["link_closed"]
    device = await RawDevice.connect(site)
    link, recorder = device.link, device.recorder
    with pytest.raises(LinkClosedError, match="no conversation is open yet"):
        await link.send({"type": "mcp"})
    await link.close_channel()
    device.send_json(HELLO)
    await recorder.wait_for("opened")
    await link.close("the device was removed")
    with pytest.raises(LinkClosedError, match="the device was removed"):
        await link.send({"type": "stt", "text": "hi"})
    with pytest.raises(LinkClosedError, match="the device was removed"):
        await link.send_audio(b"opus")
    await link.close("again")
    await link.close_channel()
    assert recorder.values("link_closed") == ["the device was removed"]
    assert link.held == 0


@pytest.mark.parametrize("path", ["/xiaozhi/v1/", "/xiaozhi/v1", "/xiaozhi/v1/?a=b"])
async def test_a_request_is_answered_and_tells_who_it_is(site: Site, path: str) -> None:
    """The MAC in one spelling, the token without its scheme. The Host header has no port.

    The firmware would read compressed frames as garbage.
    """
    device = await RawDevice.dial(site)
    headers = {"Sec_WebSocket_Extensions": "permessage-deflate", "Device_Id": "94-A9-90-28-A4-5F"}
    status, head = await device.request(path=path, Host="any.thing", **headers)
    assert status == 101
    assert "Server:" not in head
    assert "extensions" not in head.lower()
    client_id = "8a7c3a1e-6f0b-4f0e-9a55-0a9b6f6a2d11"
    assert site.seen == [
        Credentials(mac="94:a9:90:28:a4:5f", client_id=client_id, token=TOKEN, remote="127.0.0.1")
    ]


@pytest.mark.timeouts(WebSocketTimeouts, ping_interval=2, pong=2)
async def test_a_device_that_answers_no_ping_is_gone_when_it_is_not_heard_either(site: Site) -> None:
    """With small buffers, a pong may come long after the audio (seen on ESP-HI)."""
    site.pings_safe = True
    device = await RawDevice.talking(site)
    for _ in range(10):
        await asyncio.sleep(1.5)
        device.send_frame(Opcode.BINARY, opus_packet())
    await device.recorder.wait_for("audio", 10)
    assert device.link.channel is not None
    heard = asyncio.get_running_loop().time()
    assert await device.receive_close() == (1011, "the device does not answer any more")
    assert asyncio.get_running_loop().time() - heard < 6.5
    assert device.recorder.names == ["opened", *["audio"] * 10, "channel_closed", "link_closed"]


@pytest.mark.timeouts(WebSocketTimeouts, ping_interval=5, pong=5)
async def test_a_client_that_stays_connected_says_hello_when_it_is_woken(site: Site) -> None:
    """As Espressif's esp_xiaozhi does. It is there as long as it answers pings."""
    site.pings_safe = True
    device = await RawDevice.connect(site)
    for _ in range(30):
        ping = await device.receive()
        assert ping is not None
        assert ping.opcode is Opcode.PING
        device.send_frame(Opcode.PONG, bytes(ping.data))
    device.send_json(HELLO)
    answer = await device.receive()
    assert answer is not None
    assert answer.opcode is Opcode.TEXT
    await device.recorder.wait_for("opened")


@pytest.mark.timeouts(WebSocketTimeouts, ping_interval=0.001, pong=0.001)
async def test_a_device_whose_firmware_does_not_survive_pings_is_never_pinged(device: RawDevice) -> None:
    """The first thing it sees after a while is what it is sent."""
    for _ in range(50):
        device.send_frame(Opcode.BINARY, opus_packet())
        await device.recorder.wait_for("audio")
        device.recorder.events.clear()
    await device.link.send_audio(b"first")
    frame = await device.receive()
    assert frame is not None
    assert (frame.opcode, bytes(frame.data)) == (Opcode.BINARY, b"first")


async def test_stopping_ends_every_connection_and_frees_the_port(site: Site) -> None:
    """In a conversation, before the hello, in the middle of a handshake; and it may be done twice."""
    port = port_of(site.listener)
    talking = await RawDevice.talking(site)
    connected = await RawDevice.connect(site)
    half = await RawDevice.dial(site)
    half.writer.write(b"GET /xiaozhi/v1/ HTTP/1.1\r\nHost: ")
    silent = await RawDevice.dial(site)
    async with asyncio.timeout(2):
        await site.listener.stop()
    assert await talking.receive_close() == (1001, "the server is stopping")
    for device in (connected, half, silent):
        await device.wait_until_dropped()
    assert [recorder.names[-1] for recorder in site.recorders] == ["link_closed", "link_closed"]
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    await site.listener.stop()


async def test_all_ipv4_addresses_are_listened_on_and_no_ipv6_address(socket_enabled: None) -> None:
    site = Site()
    await site.start(None)
    await (await RawDevice.talking(site)).hang_up()
    assert site.listener._server is not None
    assert [listening.family for listening in site.listener._server.sockets] == [socket.AF_INET]
    await site.listener.stop()


@pytest.mark.timeouts(WebSocketTimeouts, upgrade_delay=WebSocketTimeouts.upgrade_delay)
async def test_a_request_is_not_answered_before_the_device_looks_for_the_answer(site: Site) -> None:
    """The firmware can lose an answer that comes within a millisecond."""
    device = await RawDevice.dial(site)
    loop = asyncio.get_running_loop()
    asked = loop.time()
    assert (await device.request())[0] == 101
    assert loop.time() - asked == pytest.approx(0.03)


async def test_packets_of_another_duration_are_taken_if_they_are_opus(device: RawDevice) -> None:
    """What is no Opus would put silence into speech. It is no flood: a client may send it all the time."""
    for packet in (b"\x48 20 ms", *[b"\x4b"] * 50, b"\x59 120 ms"):
        device.send_frame(Opcode.BINARY, packet)
    await device.recorder.wait_for("audio", 2)
    assert device.recorder.values("audio") == [(b"\x48 20 ms", 0), (b"\x59 120 ms", 50)]
    assert device.link.counters.malformed == 50
