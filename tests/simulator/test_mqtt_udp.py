"""MQTT and the audio over UDP."""

import asyncio
from typing import Any

from tests.protocol.transport.mqtt.wire import string
from tests.simulator.fake_mqtt import CONNECT, DISCONNECT, KEY, NONCE, SUBSCRIBE, Session, ctr
from tests.simulator.fake_server import opus_packets
from tests.simulator.trace import (
    HELLO_AND_LISTEN,
    IDLE_MQTT,
    TTS_START,
    TTS_STOP,
    Stage,
    Step,
    Trace,
    answers_from_now,
    connects,
    device,
    disconnects,
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
PUSHED = (*IDLE_MQTT, user("press"), *HELLO_AND_LISTEN, user("release"), device(type="listen", state="stop"))


def mqtt(section: str, *rows: Step, **fields: Any) -> Trace:
    return trace(section, *rows, link="mqtt", **fields)


def packets(kind: int, *bodies: bytes) -> Step:
    """Expect that it has sent just these packets of a kind on this connection."""

    async def row(on: Stage) -> None:
        session = await on.link()
        assert isinstance(session, Session)
        await session.until(lambda: len(session.of(kind)) >= len(bodies))
        assert [one.body for one in session.of(kind)] == [*bodies]

    return row


def datagrams(*sequences: int, key: bytes = KEY, kind: int = 1) -> Step:
    """Send datagrams with these numbers."""

    async def row(on: Stage) -> None:
        for sequence in sequences:
            on.mqtt.audio.send(on.mqtt.audio.seal(opus_packets(1)[0], sequence, key=key, kind=kind))

    return row


def raw(datagram: bytes) -> Step:
    async def row(on: Stage) -> None:
        on.mqtt.audio.send(datagram)

    return row


def takes(count: int) -> Step:
    """Expect that so many datagrams get as far as the loudspeaker, and no more."""

    async def row(on: Stage) -> None:
        await on.sim.wait_for(lambda: sum(map(len, on.sim.speaker.answers)) >= count)
        await asyncio.sleep(0.1)
        assert sum(map(len, on.sim.speaker.answers)) == count

    return row


def numbers(*sequences: int) -> Step:
    """Expect datagrams with these numbers, sealed as the hello says."""

    async def row(on: Stage) -> None:
        audio = on.mqtt.audio
        await audio.until(lambda: len(audio.datagrams) >= len(sequences))
        assert [int.from_bytes(one[12:16]) for one in audio.datagrams[: len(sequences)]] == [*sequences]
        for one in audio.datagrams:
            header, payload = one[:16], one[16:]
            assert (header[:2], header[4:8], header[8:12]) == (NONCE[:2], NONCE[4:8], bytes(4))
            assert int.from_bytes(header[2:4]) == len(payload)
            assert ctr(KEY, header, payload)[0] == 0x58

    return row


def udp(**changes: Any) -> Any:
    """Make another hello, with other fields of `udp`."""
    return lambda usual: usual | {"udp": usual["udp"] | changes}


def stt(text: str) -> dict[str, str]:
    return {"type": "stt", "text": text}


CREDENTIALS = string("box-1") + string("box") + string("secret")
CONNECTING = {
    "with the settings of the check-in": mqtt(
        "C.1", *IDLE_MQTT, packets(CONNECT, string("MQTT") + b"\x04\xc2" + (60).to_bytes(2) + CREDENTIALS)
    ),
    "it never subscribes, and takes messages to any topic": mqtt(
        "C.2",
        *IDLE_MQTT,
        server(stt("x" * 100_000)),
        sees(user_text="x" * 100_000),
        packets(SUBSCRIBE),
        settings={"subscribe_topic": "to/box"},
    ),
    "it comes back": mqtt(
        "C.1", *IDLE_MQTT, hangs_up(), connects(2), waits(1), request("ping"), device(type="mcp")
    ),
    "a restart leaves politely": mqtt(
        "C.5",
        *LISTENING,
        server({"type": "system", "command": "reboot"}),
        device(type="goodbye"),
        disconnects(),
        packets(DISCONNECT, b""),
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

UNFIT_HELLOS: list[dict[str, Any]] = [{"server": ""}, {"port": 65536}, {"key": "abcd"}, {"nonce": None}]
HELLOS = {
    "the hello": mqtt(
        "C.3",
        *IDLE_MQTT,
        user("click"),
        device(type="hello", version=3, transport="udp", features={"mcp": True}),
        device(type="listen", session_id="session-1"),
    ),
    **{
        f"no answer to {change}": mqtt(
            "C.3",
            *IDLE_MQTT,
            user("click"),
            device(type="hello"),
            sees(last_error="SERVER_TIMEOUT", state="idle"),
            hello=udp(**change),
        )
        for change in UNFIT_HELLOS
    },
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
    "a stale channel is replaced without one": mqtt(
        "M (g)",
        *PUSHED,
        waits(100),
        server({"type": "llm", "emotion": "neutral"}),
        waits(119),
        still(channel_open=True),
        waits(2),
        still(channel_open=False),
        answers_from_now(lambda usual: usual | {"session_id": "session-2"}),
        user("press"),
        device(type="hello"),
        device(type="listen", state="start", session_id="session-2"),
    ),
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
    "numbers, header and cipher": mqtt("C.4", *LISTENING, numbers(*range(1, 9))),
    **{
        f"{version} takes {count} of {sequences}": mqtt(
            "C.4", *SPEAKING, datagrams(*sequences), takes(count), version=version
        )
        for version, count, sequences in (
            ("2.4.2", 5, (1, 2, 5, 4, 3, 9, 1, 10)),
            ("2.3.0", 4, (0, 1, 1, 1)),
            ("2.4.0", 1, (0, 1, 1, 1)),
        )
    },
    "other types and fragments": mqtt(
        "C.4", *SPEAKING, datagrams(1, kind=2), raw(b"\1"), raw(bytes(15)), takes(0)
    ),
    "an empty datagram ends the audio and nobody is told": mqtt(
        "C.4",
        *SPEAKING,
        raw(b""),
        waits(0.1),
        datagrams(1),
        takes(0),
        server(TTS_STOP),
        device(type="listen", state="start"),
        sees(listening=True),
        silent(),
        still(channel_open=True, last_error=""),
    ),
}

NETWORKS = {
    "cut, nobody is told, and the rest comes late": mqtt(
        "C.1",
        *LISTENING,
        streams(2),
        user("cut_network"),
        silent(),
        server(stt("late")),
        waits(0.5),
        user("click"),
        still(state="idle", connected=True, user_text=""),
        user("restore_network"),
        device(type="goodbye"),
        sees(user_text="late"),
    ),
}


@replays(CONNECTING | HELLOS | GOODBYES | AUDIO | NETWORKS)
async def test_mqtt_and_udp(trace: Trace) -> None:
    await replay(trace)
