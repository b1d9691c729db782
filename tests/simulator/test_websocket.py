"""The WebSocket: handshake, hello, framing, staleness and closing."""

import asyncio
from dataclasses import replace

import pytest

from tests.simulator.fake_server import Session, opus_packets
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    LISTENING,
    PROMPT,
    SPEAKING,
    TTS_START,
    Stage,
    Step,
    Trace,
    answers_from_now,
    connects,
    crashes,
    device,
    disconnects,
    hangs_up,
    replay,
    replays,
    request,
    sees,
    server,
    silent,
    speech,
    stage,
    still,
    streams,
    user,
    waits,
)

OPEN = (user("boot"), user("click"))
BUSY = replace(PROMPT, main_loop_delay=0.1)
PACKET = opus_packets(1)[0]


def upgrades(line: str, headers: dict[str, str | None]) -> Step:
    """Expect this handshake; None for a header that is not there."""

    async def row(on: Stage) -> None:
        link = await on.link()
        assert isinstance(link, Session)
        asked = link.connection.request
        assert asked is not None
        assert asked.path == line
        assert {name: asked.headers.get(name) for name in headers} == headers

    return row


def pings(*, answered: bool) -> Step:
    """Send a ping; expect a pong, or that the stream is broken by one."""

    async def row(on: Stage) -> None:
        link = await on.link()
        assert isinstance(link, Session)
        pong = await link.connection.ping(b"x" * 125)
        if answered:
            await asyncio.wait_for(pong, 5)
        else:
            await link.until(lambda: link.connection.protocol.parser_exc)

    return row


def closes() -> Step:
    """Close from the server; the device answers no close frame."""

    async def row(on: Stage) -> None:
        link = await on.link()
        assert isinstance(link, Session)
        await link.connection.close()
        assert link.connection.close_code == 1000 or link.connection.protocol.close_rcvd is None

    return row


def frames(head: bytes) -> Step:
    """Expect that the audio is framed so, the size at its end."""

    async def row(on: Stage) -> None:
        frame = on.sound()[0]
        sized = head and head + (len(frame) - len(head) - (4 if len(head) > 4 else 2)).to_bytes(
            4 if len(head) > 4 else 2
        )
        assert frame.startswith(sized)
        assert frame[len(sized)] == 0x58

    return row


FRAMED = {1: PACKET, 2: b"\0\2" + bytes(10) + len(PACKET).to_bytes(4) + PACKET}
FRAMED[3] = b"\0\0" + len(PACKET).to_bytes(2) + PACKET

HANDSHAKES = {
    "headers": Trace(
        section="B.1",
        settings={"version": 3},
        rows=[
            *LISTENING,
            upgrades(
                "/xiaozhi/v1/",
                {
                    "Host": "127.0.0.1",
                    "Authorization": "Bearer secret",
                    "Protocol-Version": "3",
                    "Device-Id": "24:6f:28:aa:bb:01",
                    "Sec-WebSocket-Extensions": None,
                },
            ),
        ],
    ),
    "a token with a space": Trace(
        section="B.1",
        settings={"token": "Basic abc"},
        rows=[*LISTENING, upgrades("/xiaozhi/v1/", {"Authorization": "Basic abc"})],
    ),
    "no token": Trace(
        section="B.1",
        settings={"token": ""},
        rows=[*LISTENING, upgrades("/xiaozhi/v1/", {"Authorization": None})],
    ),
    **{
        f"{url} is an error on the screen": Trace(
            section="B.1",
            settings={"url": url},
            rows=[*OPEN, sees(last_error="SERVER_NOT_CONNECTED", state="idle")],
        )
        for url in ("ws://127.0.0.1:9/nobody", "no address", "ws://127.0.0.1")
    },
    **{
        f"{url} crashes": Trace(
            section="B.1", settings={"url": url}, rows=[user("boot"), crashes("stoi", user("click"))]
        )
        for url in ("ws://host/path:with-colon", "ws://host:port/", "ws://host:99999999999/")
    },
    "a lost answer": Trace(
        section="B.1",
        profile={"answer_missed_seconds": 60},
        rows=[*OPEN, sees(last_error="SERVER_NOT_CONNECTED", state="idle")],
    ),
    "hello": Trace(
        section="B.3",
        rows=[
            *OPEN,
            device(
                {
                    "type": "hello",
                    "version": 1,
                    "features": {"mcp": True, "glyph_push": False},
                    "transport": "websocket",
                    "audio_params": {
                        "format": "opus",
                        "sample_rate": 16000,
                        "channels": 1,
                        "frame_duration": 60,
                    },
                }
            ),
            device({"session_id": "session-1", "type": "listen", "state": "start", "mode": "auto"}),
        ],
    ),
    "features": Trace(
        section="I",
        version="2.3.0",
        profile={"server_echo_cancellation": True},
        rows=[*OPEN, device(type="hello", features=lambda has: has == {"mcp": True, "aec": True}), device()],
    ),
    "before 1.6.6 there are no tools": Trace(
        section="I",
        version="1.6.2",
        rows=[*LISTENING, request("ping"), server({"type": "stt", "text": "after"}), sees(user_text="after")],
    ),
    "glyphs": Trace(
        section="D.4",
        profile={"glyph_push": True},
        rows=[
            *OPEN,
            device(type="hello", features={"glyph_push": True}, text_font=lambda font: font),
            device(),
        ],
    ),
    **{
        f"no fitting hello: {name}": Trace(
            section="B.3",
            hello=hello,
            rows=[*OPEN, sees(last_error="SERVER_TIMEOUT", state="idle"), device(type="hello")],
        )
        for name, hello in {
            "another transport": lambda usual: usual | {"transport": "udp"},
            "another type": lambda usual: {"type": "HELLO"},
        }.items()
    },
    **{
        f"crash: transport {transport}": Trace(
            section="B.3",
            hello=lambda usual, transport=transport: usual | {"transport": transport},
            rows=[user("boot"), crashes("transport", user("click")), device(type="hello")],
        )
        for transport in (None, 1)
    },
    "a session id is kept": Trace(
        section="B.3",
        rows=[
            *LISTENING,
            user("click"),
            disconnects(),
            answers_from_now(lambda usual: {"type": "hello", "transport": "websocket"}),
            user("click"),
            connects(2),
            device(type="hello"),
            device(type="listen", session_id="session-1"),
        ],
    ),
    "a second hello makes the next conversation start without waiting": Trace(
        section="B.3",
        rows=[
            *LISTENING,
            server({"type": "hello", "transport": "websocket"}, {"type": "stt", "text": "after"}),
            sees(user_text="after"),
            user("click"),
            disconnects(),
            user("click"),
            still(state="listening"),
            connects(2),
            *HELLO_AND_LISTEN,
        ],
    ),
}

CLOSINGS = {
    "a click hangs up": Trace(
        section="B.4", rows=[*LISTENING, user("click"), disconnects(), still(state="idle")]
    ),
    "the server closes while the answer plays": Trace(
        section="B.4",
        rows=[
            *SPEAKING,
            server({"type": "tts", "state": "sentence_start", "text": "Good bye"}),
            speech(8),
            sees(assistant_text="Good bye", played=lambda pcm: pcm),
            closes(),
            sees(state="idle", assistant_text=""),
            still(played_seconds=lambda seconds: seconds < 0.4),
            sees(played_seconds=lambda seconds: seconds > 0.47),
        ],
    ),
    "the connection breaks": Trace(
        section="B.4", rows=[*LISTENING, hangs_up(), sees(state="idle", channel_open=False)]
    ),
    "staleness is about data, not pings": Trace(
        section="B.4",
        rows=[
            user("boot"),
            user("press"),
            user("release"),
            device(type="hello"),
            device(type="listen", state="start", mode="manual"),
            device(type="listen", state="stop"),
            waits(100),
            pings(answered=True),
            still(channel_open=True),
            waits(25),
            still(channel_open=False),
            server('{"type":"anything"}'),
            sees(channel_open=True),
            waits(121),
            user("press"),
            disconnects(),
            # The replaced socket ends the conversation that has just begun: the left-over socket trap.
            sees(state="idle"),
            connects(2),
            device(type="hello"),
            device(type="listen", state="start"),
            silent(),
        ],
    ),
    "a text of 70,000 bytes ends the conversation": Trace(
        section="B.2",
        rows=[
            user("boot"),
            user("wake", "x" * 70_000, b""),
            sees(state="idle", last_error="SERVER_ERROR"),
            device(type="hello"),
        ],
    ),
}

FRAMES = {
    **{
        f"framing {version}": Trace(
            section="B.5",
            settings={"version": version},
            rows=[
                *LISTENING,
                streams(2),
                frames(head),
                server(TTS_START),
                sees(status="Speaking..."),
                speech([FRAMED[version]]),
                sees(played=lambda pcm: pcm),
                still(failed=0),
            ],
        )
        for version, head in {1: b"", 2: b"\0\2" + bytes(10), 3: b"\0\0"}.items()
    },
    **{
        f"a wrong size in framing {version}": Trace(
            section="B.5",
            settings={"version": version},
            rows=[*LISTENING, server(frame), crashes("binary frame")],
        )
        for version, frame in {2: b"\0\2" + b"\xff" * 14, 3: b"\0\0\0\x05abcd"}.items()
    },
    "a ping": Trace(section="B.2", rows=[*LISTENING, pings(answered=True), streams(2)]),
    "before 1.9.0 a ping corrupts the stream": Trace(
        section="I", version="1.8.9", rows=[*LISTENING, pings(answered=False), sees(state="idle")]
    ),
    **{
        f"a text of {size} bytes in {version}": Trace(
            section="I",
            version=version,
            rows=[
                *LISTENING,
                server('{"type":"stt","text":"%s"}' % ("x" * (size - 24))),
                sees(channel_open=False) if ends else sees(user_text="x" * (size - 24)),
            ],
        )
        for version, size, ends in (("1.7.6", 2044, False), ("1.7.6", 2045, True), ("1.7.7", 5000, False))
    },
    "invalid and unknown texts": Trace(
        section="D.2",
        rows=[
            *LISTENING,
            server("{", "[]", '{"no":"type"}', '{"type":5}', '{"type":"unheard"}', '{"type":"tts"}', "NaN"),
            server('{"Type":"llm","EMOTION":"happy"}'),
            sees(emotion="happy", state="listening"),
        ],
    ),
}


@replays(HANDSHAKES)
async def test_handshake_and_hello(trace: Trace) -> None:
    await replay(trace)


@replays(CLOSINGS)
async def test_closing(trace: Trace) -> None:
    await replay(trace)


@replays(FRAMES)
async def test_frames(trace: Trace) -> None:
    await replay(trace)


@pytest.mark.parametrize(
    ("upgrade", "error"),
    [
        (b"", "SERVER_NOT_CONNECTED"),
        (b"HTTP/1.1 403 Forbidden\r\n\r\n", "SERVER_NOT_CONNECTED"),
        (b"HTTP/1.1 101 X\r\nSec-WebSocket-Accept: nonsense\r\n\r\n", "SERVER_TIMEOUT"),
    ],
)
async def test_a_server_that_does_not_go_on_is_given_up(upgrade: bytes, error: str) -> None:
    """B.1 and B.3: ten seconds for the upgrade, and for the hello; no look at the accept header."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(upgrade)
        await reader.read()
        writer.close()

    raw = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"ws://127.0.0.1:{raw.sockets[0].getsockname()[1]}/"
    async with stage(Trace(section="B.1", settings={"url": url}, rows=())) as on:
        await on.sim.boot()
        begin = asyncio.get_running_loop().time()
        await on.sim.click()
        assert (on.sim.last_error, on.sim.state) == (error, "idle")
        assert asyncio.get_running_loop().time() - begin == pytest.approx(
            0 if b"403" in upgrade else 10, abs=0.3
        )
    raw.close()
    raw.close_clients()
    await raw.wait_closed()
