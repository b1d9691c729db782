"""The WebSocket transport: handshake, hello, framing, closing."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import PayloadTooBig, ProtocolError

from simulator import DeviceCrashed, Pace, SimulatedDevice, State, get_profile
from tests.simulator.fake_server import FAST, HELLO, Http, Server, opus_packets


async def awake(sim: SimulatedDevice) -> None:
    """Boot and start a conversation by the button."""
    await sim.boot()
    await sim.click()


@asynccontextmanager
async def raw_server(answer: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Serve `answer` to whoever connects; yields the address and the requests."""
    requests: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            requests.append(await reader.readuntil(b"\r\n\r\n"))
            writer.write(answer)
            await reader.read()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", requests
    finally:
        server.close_clients()
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def device_for(url: str, **settings: Any) -> AsyncIterator[SimulatedDevice]:
    """Yield an idle device whose check-in named this WebSocket address."""
    pace, profile = settings.pop("pace", FAST), settings.pop("profile", None)
    reply = {"websocket": {"url": url, "version": 1} | settings}
    async with Http.serving(reply) as http, SimulatedDevice(profile, http.url, pace=pace) as sim:
        await sim.boot()
        yield sim


async def test_the_handshake_has_exactly_the_headers_of_the_firmware_in_their_order() -> None:
    async with (
        raw_server(b"HTTP/1.1 403 Forbidden\r\n\r\n") as (address, requests),
        device_for(f"ws://{address}/path", token="abc", version=3) as sim,
    ):
        await sim.click()
        assert sim.last_error == "SERVER_NOT_CONNECTED"
        assert sim.state is State.IDLE
        line, *lines = requests[0].decode().removesuffix("\r\n\r\n").split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
    assert line == "GET /path HTTP/1.1"
    assert list(headers) == [
        "Host",
        "Authorization",
        "Client-Id",
        "Connection",
        "Device-Id",
        "Protocol-Version",
        "Sec-WebSocket-Key",
        "Sec-WebSocket-Version",
        "Upgrade",
    ]
    assert headers["Host"] == "127.0.0.1"
    assert headers["Authorization"] == "Bearer abc"
    assert headers["Protocol-Version"] == "3"
    assert len(base64.b64decode(headers["Sec-WebSocket-Key"])) == 16


@pytest.mark.parametrize(("token", "header"), [("Basic abc", b"Authorization: Basic abc"), ("", None)])
async def test_a_token_with_a_space_is_sent_as_it_is_and_an_empty_one_not_at_all(
    token: str, header: bytes | None
) -> None:
    async with (
        raw_server(b"HTTP/1.1 403 Forbidden\r\n\r\n") as (address, requests),
        device_for(f"ws://{address}", token=token) as sim,
    ):
        await sim.click()
        assert requests[0].startswith(b"GET / HTTP/1.1")
        assert (b"Authorization" in requests[0]) is bool(header)
        assert header is None or header in requests[0]


async def test_a_wrong_accept_header_does_not_matter() -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: nonsense\r\n\r\n"
    text = b'{"type":"hello","transport":"websocket"}'
    async with (
        raw_server(upgrade + bytes([0x81, len(text)]) + text) as (address, _),
        device_for(f"ws://{address}/") as sim,
    ):
        await sim.click()
        assert sim.state is State.LISTENING


async def test_an_answer_that_comes_before_the_client_looks_for_it_is_lost() -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
    profile = get_profile(answer_missed_seconds=60)
    async with (
        raw_server(upgrade) as (address, _),
        device_for(f"ws://{address}/", profile=profile, pace=replace(FAST, timeouts=0.02)) as sim,
    ):
        await sim.click()
        assert sim.last_error == "SERVER_NOT_CONNECTED"
        assert sim.state is State.IDLE


async def test_a_hello_in_fragments_with_reserved_bits_is_put_together() -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\n\r\n"
    parts = (b'{"type":"hello",', b'"transport":', b'"websocket"}')
    frames = b"".join(
        bytes([first, len(part)]) + part for first, part in zip((0x41, 0x00, 0x80), parts, strict=True)
    )
    async with raw_server(upgrade + frames) as (address, _), device_for(f"ws://{address}/") as sim:
        await sim.click()
        assert sim.state is State.LISTENING


@pytest.mark.parametrize("url", ["ws://127.0.0.1:9/nobody", "no address", "ws://127.0.0.1"])
async def test_a_server_that_cannot_be_reached_is_an_error_on_the_screen(url: str) -> None:
    async with device_for(url) as sim:
        await sim.click()
        assert {"role": "system", "text": "SERVER_NOT_CONNECTED"} in sim.events("screen")
        assert sim.state is State.IDLE


@pytest.mark.parametrize(
    "url", ["ws://host/path:with-colon", "ws://host:port/", "ws://[::1]:8000/", "ws://host:99999999999/"]
)
async def test_a_colon_without_a_number_behind_it_crashes_when_the_user_wakes_the_device(url: str) -> None:
    async with device_for(url) as sim:
        with pytest.raises(DeviceCrashed, match="stoi"):
            await sim.click()


async def test_a_server_that_does_not_upgrade_is_given_up_after_the_time_out() -> None:
    pace = Pace(timeouts=0.01, main_loop_delay=0)
    async with raw_server(b"") as (address, _), device_for(f"ws://{address}/", pace=pace) as sim:
        await sim.click()
        assert sim.last_error == "SERVER_NOT_CONNECTED"


async def test_the_hello_says_what_the_firmware_says(server: Server) -> None:
    async with server.device() as sim:
        await awake(sim)
        session = await server.session()
        assert session.texts[0] == {
            "type": "hello",
            "version": 1,
            "features": {"mcp": True, "glyph_push": False},
            "transport": "websocket",
            "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60},
        }
        request = session.connection.request
        assert request is not None
        assert "Sec-WebSocket-Extensions" not in request.headers


@pytest.mark.parametrize(
    ("options", "features"),
    [
        ({"version": "2.3.0"}, {"mcp": True}),
        ({"server_echo_cancellation": True, "version": "2.3.0"}, {"mcp": True, "aec": True}),
        ({"glyph_push": True}, {"mcp": True, "glyph_push": True}),
    ],
)
async def test_features_depend_on_version_and_build(
    server: Server, options: dict[str, Any], features: dict[str, bool]
) -> None:
    async with server.device(profile=get_profile(**options)) as sim:
        await awake(sim)
        hello = (await server.session()).texts[0]
        assert hello["features"] == features
        assert ("text_font" in hello) is ("glyph_push" in options)


@pytest.mark.parametrize("hello", [None, HELLO | {"transport": "udp"}, {"type": "HELLO"}])
async def test_without_a_fitting_hello_the_device_goes_idle_and_leaves_the_socket_open(
    server: Server, hello: dict[str, Any] | None
) -> None:
    server.hello = hello
    async with server.device(pace=Pace(timeouts=0.02, main_loop_delay=0)) as sim:
        await awake(sim)
        assert sim.last_error == "SERVER_TIMEOUT"
        assert sim.state is State.IDLE
        session = await server.session()
        assert not session.closed


@pytest.mark.parametrize("hello", [{"type": "hello"}, {"type": "hello", "transport": 1}])
async def test_a_hello_without_transport_crashes(server: Server, hello: dict[str, Any]) -> None:
    server.hello = hello
    async with server.device() as sim:
        await sim.boot()
        with pytest.raises(DeviceCrashed, match="transport"):
            await sim.click()


async def test_a_session_id_is_kept_when_the_next_hello_has_none(server: Server) -> None:
    async with server.device() as sim:
        await awake(sim)
        first = await (await server.session()).expect(type="listen", state="start")
        await sim.click()
        server.hello = {"type": "hello", "transport": "websocket"}
        await sim.click()
        second = await (await server.session(2)).expect(type="listen", state="start")
        assert first["session_id"] == second["session_id"] == "session-1"


async def test_an_extra_hello_makes_the_next_conversation_start_without_waiting(server: Server) -> None:
    async with server.device(pace=Pace(timeouts=0.05, main_loop_delay=0)) as sim:
        await awake(sim)
        session = await server.session()
        await session.send(HELLO)
        await session.send({"type": "stt", "text": "after the hello"})
        await sim.wait_for(lambda: sim.screen.user_text == "after the hello")
        await sim.click()
        server.hello = None
        await sim.click()
        assert sim.state is State.LISTENING
        await sim.click()
        await sim.click()
        assert sim.last_error == "SERVER_TIMEOUT"


async def test_hanging_up_sends_no_close_frame(server: Server) -> None:
    async with server.device() as sim:
        await awake(sim)
        session = await server.session()
        await sim.click()
        await session.until(lambda: session.closed)
        assert session.connection.close_code == 1006
        assert sim.state is State.IDLE


async def test_a_close_frame_is_not_answered_and_the_connection_stays_open() -> None:
    hung_up = asyncio.Event()
    after_close: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        text = b'{"type":"hello","transport":"websocket"}'
        writer.write(b"HTTP/1.1 101 X\r\n\r\n" + bytes([0x81, len(text)]) + text)
        await asyncio.sleep(0.1)
        writer.write(b"\x88\x02\x03\xe8")
        await asyncio.sleep(0.05)
        await reader.read(65536)
        try:
            async with asyncio.timeout(0.2):
                after_close.append(await reader.read(1))
        except TimeoutError:
            pass
        hung_up.set()
        writer.close()

    raw = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with device_for(f"ws://127.0.0.1:{raw.sockets[0].getsockname()[1]}/") as sim:
        await sim.click()
        await sim.wait_state(State.IDLE)
        await hung_up.wait()
        assert after_close == []
    raw.close()
    await raw.wait_closed()


async def test_when_the_server_closes_the_device_is_idle_without_text_and_plays_on(server: Server) -> None:
    async with server.device(pace=Pace(main_loop_delay=0)) as sim:
        await awake(sim)
        session = await server.session()
        await session.start_speaking()
        await sim.wait_for(lambda: sim.screen.status == "Speaking...")
        await session.send({"type": "tts", "state": "sentence_start", "text": "Good bye"})
        for packet in opus_packets(8):
            await session.send(packet)
        await sim.wait_for(lambda: bool(sim.played))
        assert sim.screen.assistant_text == "Good bye"
        await session.connection.close()
        await sim.wait_state(State.IDLE)
        await sim.wait_for(lambda: sim.screen.assistant_text == "")
        assert sim.played_seconds < 0.4
        await sim.wait_played()
        assert sim.played_seconds == pytest.approx(0.48, abs=0.01)


async def test_a_ping_is_answered(server: Server) -> None:
    async with server.device() as sim:
        await awake(sim)
        session = await server.session()
        waiter = await session.connection.ping(b"x" * 125)
        async with asyncio.timeout(5):
            await waiter
        assert not session.closed


async def test_before_1_9_0_a_ping_corrupts_the_stream(server: Server) -> None:
    async with server.device(profile=get_profile(version="1.8.9"), noise=3000) as sim:
        await awake(sim)
        session = await server.session()
        await session.connection.ping()
        await sim.wait_state(State.IDLE)
        # What the server takes the shifted bytes for depends on the frame's random mask.
        nonsense = ProtocolError | PayloadTooBig | UnicodeDecodeError
        assert isinstance(session.connection.protocol.parser_exc, nonsense)


async def test_a_text_of_more_than_65535_bytes_ends_the_conversation(server: Server) -> None:
    async with server.device() as sim:
        await sim.boot()
        await sim.wake("x" * 70_000)
        await sim.wait_state(State.IDLE)
        assert sim.last_error == "SERVER_ERROR"


@pytest.mark.parametrize(
    ("version", "size", "ends"), [("1.7.6", 2044, False), ("1.7.6", 2045, True), ("1.7.7", 5000, False)]
)
async def test_up_to_1_7_6_a_long_text_frame_ends_the_conversation(
    server: Server, version: str, size: int, ends: bool
) -> None:
    """It does not fit into the receive buffer with its header."""
    async with server.device(profile=get_profile(version=version)) as sim:
        await awake(sim)
        session = await server.session()
        frame = '{"type":"stt","text":""}'
        text = "x" * (size - len(frame))
        await session.send(frame.replace('""', f'"{text}"'))
        if ends:
            await sim.wait_for(lambda: not sim.channel_open)
            assert sim.screen.user_text != text
        else:
            await sim.wait_for(lambda: sim.screen.user_text == text)


@pytest.mark.parametrize(("version", "knows_tools"), [("1.6.2", False), ("1.6.6", True)])
async def test_before_1_6_6_there_are_no_tools(server: Server, version: str, knows_tools: bool) -> None:
    async with server.device(profile=get_profile(version=version)) as sim:
        await awake(sim)
        session = await server.session()
        assert ("features" in session.texts[0]) == knows_tools
        await session.send({"type": "mcp", "payload": {"jsonrpc": "2.0", "id": 1, "method": "ping"}})
        await session.send({"type": "stt", "text": "after"})
        await sim.wait_for(lambda: sim.screen.user_text == "after")
        if knows_tools:
            await session.expect(type="mcp")
        else:
            assert not session.seen(type="mcp")


async def test_invalid_json_and_unknown_types_are_ignored_and_keys_are_of_any_case(server: Server) -> None:
    async with server.device() as sim:
        await awake(sim)
        session = await server.session()
        for text in ("{", "[]", '{"no":"type"}', '{"type":5}', '{"type":"unheard"}', '{"type":"tts"}', "NaN"):
            await session.send(text)
        await session.send('{"Type":"llm","EMOTION":"happy"}')
        await sim.wait_for(lambda: sim.screen.emotion == "happy")
        assert sim.state is State.LISTENING


async def test_a_channel_without_data_for_120_seconds_is_stale_and_pings_do_not_count(server: Server) -> None:
    pace = Pace(waits=0.002, main_loop_delay=0)
    async with server.device(pace=pace) as sim:

        def stale() -> bool:
            return not sim.channel_open

        await sim.boot()
        await sim.press()
        await sim.release()
        assert not stale()
        session = await server.session()
        for _ in range(4):
            await asyncio.sleep(0.07)
            await session.connection.ping()
        assert stale()
        await session.send('{"type":"anything"}')
        await sim.wait_for(lambda: sim.channel_open)


async def test_replacing_a_left_over_socket_ends_the_conversation_that_has_just_begun(server: Server) -> None:
    pace = Pace(waits=0.0005, main_loop_delay=0.002)
    async with server.device(pace=pace) as sim:
        await sim.boot()
        await sim.press()
        await sim.release()
        await asyncio.sleep(0.1)
        assert not sim.channel_open
        await sim.click()
        second = await server.session(2)
        await second.expect(type="listen", state="start")
        await sim.wait_state(State.IDLE)
        await asyncio.sleep(0.2)
        assert not second.closed
        assert second.packets == []


async def test_a_lost_connection_is_an_error_for_the_next_text(server: Server) -> None:
    async with server.device() as sim:
        await awake(sim)
        connection: ServerConnection = (await server.session()).connection
        connection.transport.abort()
        await sim.wait_state(State.IDLE)
        assert not sim.channel_open
