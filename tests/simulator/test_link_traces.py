"""Links: the WebSocket from handshake to closing, MQTT, and the audio over UDP."""

import asyncio
from typing import Any

from tests.simulator.servers import SUBSCRIBE, MqttSession, WebSocketSession, opus_packets
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    IDLE_MQTT,
    LISTENING,
    SPEAKING,
    TTS_START,
    TTS_STOP,
    Stage,
    Step,
    Trace,
    connects,
    crashes,
    device,
    disconnects,
    hangs_up,
    replays,
    request,
    sees,
    server,
    silent,
    speech,
    step,
    still,
    streams,
    trace,
    user,
    waits,
)

OPEN = (user("boot"), user("click"))


@step
async def upgrades(on: Stage, line: str, headers: dict[str, str | None]) -> None:
    """Expect this handshake; None for a header that is not there."""
    link = await on.link()
    assert isinstance(link, WebSocketSession)
    asked = link.connection.request
    assert asked is not None
    assert asked.path == line
    assert {name: asked.headers.get(name) for name in headers} == headers


@step
async def pings(on: Stage) -> None:
    """Send a ping, and expect a pong."""
    link = await on.link()
    assert isinstance(link, WebSocketSession)
    await asyncio.wait_for(await link.connection.ping(b"x" * 125), 5)


@step
async def closes(on: Stage) -> None:
    """Close from the server; the device answers no close frame."""
    link = await on.link()
    assert isinstance(link, WebSocketSession)
    await link.connection.close()
    assert link.connection.close_code == 1000 or link.connection.protocol.close_rcvd is None


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
    "invalid and unknown texts": trace(
        "D.2",
        *LISTENING,
        server("{", "[]", '{"no":"type"}', '{"type":5}', '{"type":"unheard"}', '{"type":"tts"}', "NaN"),
        server('{"Type":"llm","EMOTION":"happy"}'),
        sees(emotion="happy", state="listening"),
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


MQTT_LISTENING = (*IDLE_MQTT, user("click"), *HELLO_AND_LISTEN, sees(listening=True))
MQTT_SPEAKING = (*MQTT_LISTENING, streams(1), server(TTS_START), sees(status="Speaking..."))


def mqtt(section: str, *rows: Step, **fields: Any) -> Trace:
    return trace(section, *rows, link="mqtt", **fields)


@step
async def never_subscribes(on: Stage) -> None:
    session = await on.link()
    assert isinstance(session, MqttSession)
    assert SUBSCRIBE not in session.kinds


@step
async def datagrams(on: Stage, *sequences: int) -> None:
    """Send datagrams with these numbers."""
    for sequence in sequences:
        on.server.audio.send(opus_packets(1)[0], sequence)


@step
async def takes(on: Stage, count: int) -> None:
    """Expect that so many datagrams get as far as the loudspeaker, and no more."""
    await on.sim.wait_for(lambda: sum(map(len, on.sim.speaker.answers)) >= count)
    await asyncio.sleep(0.1)
    assert sum(map(len, on.sim.speaker.answers)) == count


CONNECTING = {
    "it never subscribes, and takes messages to any topic": mqtt(
        "C.2",
        *IDLE_MQTT,
        server({"type": "stt", "text": "x" * 100_000}),
        sees(user_text="x" * 100_000),
        never_subscribes(),
        settings={"subscribe_topic": "to/box"},
    ),
    "it comes back": mqtt(
        "C.1", *IDLE_MQTT, hangs_up(), connects(2), waits(1), request("ping"), device(type="mcp")
    ),
    "an idle device answers without a session": mqtt(
        "C.6",
        *IDLE_MQTT,
        request("tools/call", name="self.audio_speaker.set_volume", arguments={"volume": 20}),
        device(type="mcp", session_id="", payload={"result": {"isError": False}}),
    ),
    "an answer to an idle device ends in listening without a channel": mqtt(
        "M (c)",
        *IDLE_MQTT,
        server(TTS_START),
        sees(state="speaking"),
        server(TTS_STOP),
        device({"session_id": "", "type": "listen", "state": "start", "mode": "auto"}),
        sees(listening=True),
        silent(),
    ),
    "the hello": mqtt(
        "C.3",
        *IDLE_MQTT,
        user("click"),
        device(type="hello", version=3, transport="udp", features={"mcp": True}),
        device(type="listen", session_id="session-1"),
    ),
}

GOODBYES = {
    **{
        f"{version} ends with {named}": mqtt(
            "C.5",
            *MQTT_LISTENING,
            server({"type": "goodbye"} | named),
            sees(state="idle", channel_open=False),
            *([device(type="goodbye")] if version < "2.2.2" else []),
            still(connected=True),
            version=version,
        )
        for version, named in (("1.9.0", {}), ("2.2.4", {}), ("2.4.2", {"session_id": "session-1"}))
    },
    **{
        f"{version} goes on with {named}": mqtt(
            "C.5",
            *MQTT_LISTENING,
            server({"type": "goodbye"} | named),
            waits(0.5),
            still(state="listening", channel_open=True),
            version=version,
        )
        for version, named in (("1.9.0", {"session_id": "another"}), ("2.3.0", {}))
    },
    "a broken connection fails at the next message; the audio goes on": mqtt(
        "C.5",
        *MQTT_LISTENING,
        streams(2),
        hangs_up(),
        sees(connected=False, state="listening"),
        streams(5),
        user("click"),
        sees(last_error="SERVER_ERROR", state="idle"),
    ),
}

AUDIO = {
    **{
        f"{version} takes {count} of {sequences}": mqtt(
            "C.4", *MQTT_SPEAKING, datagrams(*sequences), takes(count), version=version
        )
        for version, count, sequences in (
            ("2.4.2", 5, (1, 2, 5, 4, 3, 9, 1, 10)),
            ("2.3.0", 4, (0, 1, 1, 1)),
            ("2.4.0", 1, (0, 1, 1, 1)),
        )
    }
}


test_link = replays(HELLOS | CLOSINGS | CONNECTING | GOODBYES | AUDIO)
