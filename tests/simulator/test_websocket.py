"""The WebSocket: handshake, hello, framing, staleness and closing."""

import asyncio

from tests.simulator.fake_server import Session
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    LISTENING,
    SPEAKING,
    Stage,
    Step,
    Trace,
    connects,
    crashes,
    device,
    disconnects,
    replay,
    replays,
    sees,
    server,
    silent,
    speech,
    still,
    trace,
    user,
    waits,
)

OPEN = (user("boot"), user("click"))


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


def pings() -> Step:
    """Send a ping, and expect a pong."""

    async def row(on: Stage) -> None:
        link = await on.link()
        assert isinstance(link, Session)
        await asyncio.wait_for(await link.connection.ping(b"x" * 125), 5)

    return row


def closes() -> Step:
    """Close from the server; the device answers no close frame."""

    async def row(on: Stage) -> None:
        link = await on.link()
        assert isinstance(link, Session)
        await link.connection.close()
        assert link.connection.close_code == 1000 or link.connection.protocol.close_rcvd is None

    return row


HELLO = {
    "type": "hello",
    "version": 1,
    "features": {"mcp": True, "glyph_push": False},
    "transport": "websocket",
    "audio_params": {"format": "opus", "sample_rate": 16000, "channels": 1, "frame_duration": 60},
}
HANDSHAKE = {
    "Host": "127.0.0.1",
    "Authorization": "Bearer secret",
    "Protocol-Version": "1",
    "Device-Id": "24:6f:28:aa:bb:01",
    "Sec-WebSocket-Extensions": None,
}

HELLOS = {
    "headers": trace("B.1", *LISTENING, upgrades("/xiaozhi/v1/", HANDSHAKE)),
    **{
        f"{url} is an error on the screen": trace(
            "B.1", *OPEN, sees(last_error="SERVER_NOT_CONNECTED", state="idle"), settings={"url": url}
        )
        for url in ("ws://127.0.0.1:9/nobody", "no address")
    },
    **{
        f"{url} crashes": trace("B.1", user("boot"), crashes("stoi", user("click")), settings={"url": url})
        for url in ("ws://host/path:with-colon", "ws://host:99999999999/")
    },
    "hello": trace(
        "B.3",
        *OPEN,
        device(HELLO),
        device({"session_id": "session-1", "type": "listen", "state": "start", "mode": "auto"}),
    ),
    "crash: no transport": trace(
        "B.3",
        user("boot"),
        crashes("transport", user("click")),
        device(type="hello"),
        hello=lambda usual: usual | {"transport": None},
    ),
}

CLOSINGS = {
    "the server closes while the answer plays": trace(
        "B.4",
        *SPEAKING,
        speech(8),
        sees(played=lambda pcm: pcm),
        closes(),
        sees(state="idle"),
        still(played_seconds=lambda seconds: seconds < 0.4),
        sees(played_seconds=lambda seconds: seconds > 0.47),
    ),
    "staleness is about data, not pings": trace(
        "B.4",
        user("boot"),
        user("press"),
        user("release"),
        *HELLO_AND_LISTEN,
        device(type="listen", state="stop"),
        waits(100),
        pings(),
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
        *HELLO_AND_LISTEN,
        silent(),
    ),
}

TEXTS = {
    "invalid and unknown texts": trace(
        "D.2",
        *LISTENING,
        server("{", "[]", '{"no":"type"}', '{"type":5}', '{"type":"unheard"}', '{"type":"tts"}', "NaN"),
        server('{"Type":"llm","EMOTION":"happy"}'),
        sees(emotion="happy", state="listening"),
    )
}


@replays(HELLOS | CLOSINGS | TEXTS)
async def test_websocket(trace: Trace) -> None:
    await replay(trace)
