"""MQTT and the audio over UDP."""

import asyncio
from typing import Any

from tests.simulator.fake_mqtt import SUBSCRIBE, Session
from tests.simulator.fake_server import opus_packets
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    IDLE_MQTT,
    TTS_START,
    TTS_STOP,
    Stage,
    Step,
    Trace,
    connects,
    device,
    hangs_up,
    replay,
    replays,
    request,
    sees,
    server,
    silent,
    still,
    streams,
    trace,
    user,
    waits,
)

LISTENING = (*IDLE_MQTT, user("click"), *HELLO_AND_LISTEN, sees(listening=True))
SPEAKING = (*LISTENING, streams(1), server(TTS_START), sees(status="Speaking..."))


def mqtt(section: str, *rows: Step, **fields: Any) -> Trace:
    return trace(section, *rows, link="mqtt", **fields)


def never_subscribes() -> Step:
    async def row(on: Stage) -> None:
        session = await on.link()
        assert isinstance(session, Session)
        assert session.of(SUBSCRIBE) == []

    return row


def datagrams(*sequences: int) -> Step:
    """Send datagrams with these numbers."""

    async def row(on: Stage) -> None:
        for sequence in sequences:
            on.mqtt.audio.send(on.mqtt.audio.seal(opus_packets(1)[0], sequence))

    return row


def takes(count: int) -> Step:
    """Expect that so many datagrams get as far as the loudspeaker, and no more."""

    async def row(on: Stage) -> None:
        await on.sim.wait_for(lambda: sum(map(len, on.sim.speaker.answers)) >= count)
        await asyncio.sleep(0.1)
        assert sum(map(len, on.sim.speaker.answers)) == count

    return row


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
}

HELLOS = {
    "the hello": mqtt(
        "C.3",
        *IDLE_MQTT,
        user("click"),
        device(type="hello", version=3, transport="udp", features={"mcp": True}),
        device(type="listen", session_id="session-1"),
    )
}

GOODBYES = {
    **{
        f"{version} ends with {named}": mqtt(
            "C.5",
            *LISTENING,
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
            *LISTENING,
            server({"type": "goodbye"} | named),
            waits(0.5),
            still(state="listening", channel_open=True),
            version=version,
        )
        for version, named in (("1.9.0", {"session_id": "another"}), ("2.3.0", {}))
    },
    "a broken connection fails at the next message; the audio goes on": mqtt(
        "C.5",
        *LISTENING,
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
            "C.4", *SPEAKING, datagrams(*sequences), takes(count), version=version
        )
        for version, count, sequences in (
            ("2.4.2", 5, (1, 2, 5, 4, 3, 9, 1, 10)),
            ("2.3.0", 4, (0, 1, 1, 1)),
            ("2.4.0", 1, (0, 1, 1, 1)),
        )
    }
}


@replays(CONNECTING | HELLOS | GOODBYES | AUDIO)
async def test_mqtt_and_udp(trace: Trace) -> None:
    await replay(trace)
