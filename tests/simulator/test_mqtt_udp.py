"""MQTT and the audio over UDP."""

import asyncio
from typing import Any

import pytest

from simulator import Nvs, UdpImpairment
from tests.simulator.fake_mqtt import (
    CONNECT,
    DISCONNECT,
    KEY,
    NONCE,
    PINGREQ,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    SUBSCRIBE,
    Session,
    ctr,
    packet,
    string,
)
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
    stage,
    still,
    streams,
    user,
    waits,
)

OPUS = opus_packets(1)[0]
SHORT = opus_packets(1, duration=20)[0]
LISTENING = (*IDLE_MQTT, user("click"), *HELLO_AND_LISTEN, sees(listening=True))
SPEAKING = (*LISTENING, streams(1), server(TTS_START), sees(status="Speaking..."))


def mqtt(rows: list[Step], section: str, **fields: Any) -> Trace:
    return Trace(section=section, link="mqtt", rows=rows, **fields)


def link_of(on: Stage) -> Session:
    assert isinstance(on.session, Session)
    return on.session


def packets(kind: int, *bodies: bytes | None, after: float | None = None) -> Step:
    """Expect that it has sent just these packets of a kind on this connection; None for any body."""

    async def row(on: Stage) -> None:
        session = await on.link()
        assert isinstance(session, Session)
        await session.until(lambda: len(session.of(kind)) >= len(bodies))
        if after is not None:
            assert asyncio.get_running_loop().time() - on.clock == pytest.approx(after, abs=0.3)
        found = [one.body for one in session.of(kind)]
        assert [body for body, wanted in zip(found, bodies, strict=True) if wanted not in {None, body}] == []

    return row


def writes(*data: bytes) -> Step:
    """Write bytes to the MQTT connection."""

    async def row(on: Stage) -> None:
        session = await on.link()
        assert isinstance(session, Session)
        session.writer.write(b"".join(data))

    return row


def accepts(code: int | None) -> Step:
    """Answer each CONNECT with this code from now on; None for no answer."""

    async def row(on: Stage) -> None:
        on.mqtt.accepts = code

    return row


def datagrams(
    *sequences: int, payload: bytes = OPUS, tail: bytes = b"", key: bytes = KEY, kind: int = 1
) -> Step:
    """Send datagrams with these numbers."""

    async def row(on: Stage) -> None:
        audio = on.mqtt.audio
        await audio.until(lambda: audio.sources)
        for sequence in sequences:
            audio.send(audio.seal(payload, sequence, key=key, kind=kind) + tail)

    return row


def raw(datagram: bytes) -> Step:
    async def row(on: Stage) -> None:
        await on.mqtt.audio.until(lambda: on.mqtt.audio.sources)
        on.mqtt.audio.send(datagram)

    return row


def takes(count: int) -> Step:
    """Expect that so many datagrams get as far as the loudspeaker, and no more."""

    async def row(on: Stage) -> None:
        await on.sim.wait_for(lambda: sum(map(len, on.sim.speaker.answers)) >= count)
        await asyncio.sleep(0.1)
        assert sum(map(len, on.sim.speaker.answers)) == count

    return row


def numbers(*sequences: int, start: int = 0) -> Step:
    """Expect datagrams with these numbers, sealed as the hello says."""

    async def row(on: Stage) -> None:
        audio = on.mqtt.audio
        await audio.until(lambda: len(audio.datagrams) >= start + len(sequences))
        assert audio.sequences[start : start + len(sequences)] == [*sequences]
        for one in audio.datagrams[start:]:
            header, payload = one[:16], one[16:]
            assert (header[:2], header[4:8], header[8:12]) == (NONCE[:2], NONCE[4:8], bytes(4))
            assert int.from_bytes(header[2:4]) == len(payload)
            assert ctr(KEY, header, payload)[0] == 0x58

    return row


def says_hello(*arguments: str, **udp: str) -> Step:
    """Send a hello in the conversation."""

    async def row(on: Stage) -> None:
        await on.send(on.mqtt.hello(*arguments, **udp))

    return row


def hello(**changes: Any) -> Any:
    """Make another hello: fields of `udp` in capitals, others as they are."""
    udp = {name.lower(): value for name, value in changes.items() if name.isupper()}
    rest = {name: value for name, value in changes.items() if not name.isupper()}
    return lambda of: of.hello(**udp) | rest


def stt(text: str) -> dict[str, str]:
    return {"type": "stt", "text": text}


CONNECTING = {
    "with the settings of the check-in": mqtt(
        [
            *IDLE_MQTT,
            packets(
                CONNECT,
                string("MQTT")
                + b"\x04\xc2"
                + (60).to_bytes(2)
                + string("box-1")
                + string("box")
                + string("secret"),
            ),
        ],
        "C.1",
    ),
    "a keep-alive of zero becomes that of the library": mqtt(
        [*IDLE_MQTT, packets(CONNECT, string("MQTT") + b"\x04\x02" + (120).to_bytes(2) + string("box-1"))],
        "C.1",
        settings={"keepalive": 0, "username": "", "password": ""},
        nvs=Nvs({"mqtt": {"keepalive": 30}}),
    ),
    "it never subscribes, and acknowledges what asks for it": mqtt(
        [
            *IDLE_MQTT,
            writes(packet(0x30, string("nobody/asked") + b'{"type":"stt","text":"any topic"}')),
            sees(user_text="any topic"),
            server(stt("x" * 100_000)),
            sees(user_text="x" * 100_000),
            writes(packet(0x32, string("a") + b"\x00\x07{}"), packet(0x34, string("a") + b"\x00\x08{}")),
            writes(packet(0x62, b"\x00\x08")),
            packets(PUBCOMP, b"\x00\x08"),
            packets(PUBACK, b"\x00\x07"),
            packets(PUBREC, b"\x00\x08"),
            packets(SUBSCRIBE),
        ],
        "C.2",
        settings={"subscribe_topic": "to/box"},
    ),
    "without a topic it can say nothing": mqtt(
        [*IDLE_MQTT, user("click"), waits(1), packets(PUBLISH)], "A.5", settings={"publish_topic": ""}
    ),
    **{
        f"a malformed packet {number} makes it reconnect": mqtt(
            [*IDLE_MQTT, writes(data), disconnects(), connects(2)], "C.1"
        )
        for number, data in enumerate(
            (b"\x30\xff\xff\xff\xff\x01", b"\x30\x01\x00", packet(0x32, string("t") + b"\x01"))
        )
    },
    "pings at half the keep-alive": mqtt(
        [
            *IDLE_MQTT,
            packets(PINGREQ, b"", after=1),
            packets(PINGREQ, b"", b"", after=1),
            still(connected=True),
        ],
        "C.1",
        settings={"keepalive": 2},
    ),
    "refused, it tries again after ten seconds": mqtt(
        [
            accepts(5),
            user("boot"),
            sees(last_error="SERVER_NOT_CONNECTED", connected=False),
            accepts(0),
            sees(connected=True, after=10),
        ],
        "C.1",
    ),
    "a silent server": mqtt(
        [accepts(None), user("boot"), sees(last_error="SERVER_NOT_CONNECTED"), connects(2)], "C.1"
    ),
    "it comes back by itself": mqtt(
        [
            *IDLE_MQTT,
            hangs_up(),
            sees(connected=False),
            connects(2),
            sees(connected=True),
            server(stt("again")),
            sees(user_text="again"),
        ],
        "C.1",
    ),
    **{
        f"coming back in {version}": mqtt(
            [
                *IDLE_MQTT,
                hangs_up(),
                connects(2),
                packets(CONNECT, None),
                waits(0.1),
                request("ping"),
                *([device(type="mcp")] if answers else [sees(last_error="SERVER_ERROR"), packets(PUBLISH)]),
            ],
            "I",
            version=version,
        )
        for version, answers in {"1.7.5": False, "1.9.0": True}.items()
    },
    **{
        f"an idle {version} makes a new client after {seconds} s": mqtt(
            [
                *IDLE_MQTT,
                accepts(3),
                hangs_up(),
                sees(connected=False),
                sees(last_error="SERVER_NOT_CONNECTED", after=seconds),
                accepts(0),
                sees(connected=True),
            ],
            "C.1",
            version=version,
        )
        for version, seconds in {"2.4.2": 60, "1.8.9": 10}.items()
    },
    "a click while the server is away connects at once": mqtt(
        [*IDLE_MQTT, hangs_up(), sees(connected=False), user("click"), connects(2), *HELLO_AND_LISTEN], "C.1"
    ),
    "a restart leaves politely": mqtt(
        [
            *LISTENING,
            server({"type": "system", "command": "reboot"}),
            device(type="goodbye"),
            disconnects(),
            packets(DISCONNECT, b""),
        ],
        "C.5",
    ),
    "without power it is gone without a word": mqtt(
        [*LISTENING, user("power_off"), disconnects(), packets(DISCONNECT)], "C.5"
    ),
    "8883 means TLS": mqtt(
        [user("boot"), sees(last_error="SERVER_NOT_CONNECTED")], "A.5", settings={"endpoint": "127.0.0.1"}
    ),
}

WHILE_IDLE = {
    f"tools and messages in {version}": mqtt(
        [
            *IDLE_MQTT,
            request("tools/call", name="self.audio_speaker.set_volume", arguments={"volume": 20}),
            device(type="mcp", session_id="", payload={"result": {"isError": False}}),
            server({"type": "alert", "status": "Door", "message": "The post", "emotion": "happy"}),
            server({"type": "tts", "state": "sentence_start", "text": "what I say"}),
            sees(assistant_text="what I say", status="Door", system_text="The post", state="idle"),
        ],
        "C.6",
        version=version,
    )
    for version in ("1.9.0", "2.2.4", "2.4.2")
} | {
    "an answer cannot be heard and ends in listening without a channel": mqtt(
        [
            *IDLE_MQTT,
            server(TTS_START),
            sees(state="speaking"),
            server(TTS_STOP),
            device({"session_id": "", "type": "listen", "state": "start", "mode": "auto"}),
            sees(listening=True),
            silent(),
        ],
        "M (c)",
    ),
}

BAD_UDP: list[dict[str, Any]] = [
    {"SERVER": None},
    {"SERVER": 7},
    {"PORT": None},
    {"KEY": None},
    {"KEY": "abcd"},
    {"NONCE": None},
]
HELLOS = {
    "the hello": mqtt(
        [
            *IDLE_MQTT,
            user("click"),
            device(type="hello", version=3, transport="udp", features={"mcp": True}),
            device(type="listen", session_id="session-1"),
        ],
        "C.3",
    ),
    **{
        f"no answer for {version} with {change}": mqtt(
            [
                *IDLE_MQTT,
                user("click"),
                device(type="hello"),
                sees(last_error="SERVER_TIMEOUT", state="idle"),
            ],
            "C.3",
            version=version,
            hello=hello(**change),
        )
        for version, change in (
            *(
                ("2.4.0", change)
                for change in (*BAD_UDP, {"PORT": 0}, {"PORT": 65536}, {"SERVER": ""}, {"transport": 7})
            ),
            *((version, {"transport": "websocket"}) for version in ("1.9.0", "2.4.2")),
            ("2.2.4", {"udp": None}),
        )
    },
    **{
        f"crash of {version} with {change}": mqtt(
            [*IDLE_MQTT, crashes(words, user("click")), device(type="hello")],
            "I",
            version=version,
            hello=hello(**change),
        )
        for words, version, change in (
            *(("udp", "2.3.0", change) for change in BAD_UDP),
            ("transport", "2.3.0", {"transport": None}),
            ("transport", "1.9.0", {"transport": 7}),
        )
    },
    "a second hello changes nothing for the next conversation": mqtt(
        [
            *IDLE_MQTT,
            server({"type": "hello", "transport": "udp"}),
            waits(0.1),
            answers_from_now(lambda of: None),
            user("click"),
            device(type="hello"),
            still(last_error="SERVER_TIMEOUT"),
        ],
        "C.3",
    ),
    "a hello in the conversation changes keys and numbers": mqtt(
        [
            *SPEAKING,
            datagrams(1, 2, 3),
            takes(3),
            says_hello("session-2", key="ff" * 16),
            waits(0.1),
            datagrams(1, key=b"\xff" * 16),
            takes(4),
            still(failed=0),
        ],
        "C.3",
    ),
}

GOODBYES = {
    **{
        f"{version} with {named}": mqtt(
            [
                *LISTENING,
                server({"type": "goodbye"} | named),
                *(
                    [sees(state="idle", channel_open=False)]
                    if ends
                    else [waits(0.5), still(state="listening", channel_open=True)]
                ),
                *([device(type="goodbye")] if ends and version < "2.2.2" else []),
                still(connected=True),
            ],
            "C.5",
            version=version,
        )
        for version, named, ends in (
            ("1.9.0", {}, True),
            ("1.9.0", {"session_id": "another"}, False),
            ("2.2.1", {"session_id": "session-1"}, True),
            ("2.2.4", {}, True),
            ("2.3.0", {}, False),
            ("2.4.2", {"session_id": "another"}, False),
            ("2.4.2", {"session_id": 7}, False),
            ("2.4.2", {"session_id": "session-1"}, True),
        )
    },
    "an old device crashes on a number": mqtt(
        [*LISTENING, server({"type": "goodbye", "session_id": 7}), crashes("session_id")],
        "I",
        version="2.2.4",
    ),
    "a click": mqtt(
        [
            *LISTENING,
            user("click"),
            device({"session_id": "session-1", "type": "goodbye"}),
            sees(state="idle", connected=True),
        ],
        "C.5",
    ),
    "a stale channel is replaced without one": mqtt(
        [
            *IDLE_MQTT,
            user("press"),
            *HELLO_AND_LISTEN,
            user("release"),
            device(type="listen", state="stop"),
            waits(100),
            server({"type": "llm", "emotion": "neutral"}),
            waits(119),
            still(channel_open=True),
            waits(2),
            still(channel_open=False),
            answers_from_now(lambda of: of.hello("session-2")),
            user("press"),
            device(type="hello"),
            device(type="listen", state="start", session_id="session-2"),
        ],
        "M (g)",
    ),
    "a broken connection fails at the next message; the audio goes on": mqtt(
        [
            *LISTENING,
            streams(2),
            hangs_up(),
            sees(connected=False, state="listening"),
            streams(5),
            user("click"),
            sees(last_error="SERVER_ERROR", state="idle"),
        ],
        "C.5",
    ),
}

AUDIO = {
    "numbers, header and cipher": mqtt([*LISTENING, numbers(*range(1, 9))], "C.4"),
    "numbers begin again with each hello": mqtt(
        [
            *LISTENING,
            numbers(1),
            user("click"),
            device(type="goodbye"),
            user("click"),
            *HELLO_AND_LISTEN,
            streams(1),
        ],
        "C.4",
    ),
    **{
        f"{version} takes {count} of {sequences}": mqtt(
            [*SPEAKING, datagrams(*sequences), takes(count)], "C.4", version=version
        )
        for version, count, sequences in (
            *((version, 5, (1, 2, 5, 4, 3, 9, 1, 10)) for version in ("1.9.0", "2.2.4", "2.4.2")),
            *((version, 4, (0, 1, 1, 1)) for version in ("1.9.0", "2.3.0")),
            *((version, 1, (0, 1, 1, 1)) for version in ("2.4.0", "2.4.2")),
        )
    },
    **{
        f"{version} and a wrong length": mqtt(
            [*SPEAKING, datagrams(1, tail=b"more"), takes(count)], "C.4", version=version
        )
        for version, count in {"2.3.0": 1, "2.4.0": 0}.items()
    },
    **{
        f"{version} and {size} bytes": mqtt(
            [*SPEAKING, datagrams(1, payload=bytes(size)), takes(count)], "C.4", version=version
        )
        for version, size, count in (
            ("2.3.0", 7, 0),
            ("2.3.0", 8, 1),
            ("2.4.0", 0, 1),
            ("2.4.2", 1484, 1),
            ("2.4.2", 1485, 0),
        )
    },
    "other types and fragments": mqtt(
        [*SPEAKING, datagrams(1, kind=2), raw(b"\1"), raw(bytes(15)), takes(0)], "C.4"
    ),
    "an empty datagram ends the audio and nobody is told": mqtt(
        [
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
        ],
        "C.4",
    ),
    "an address that leads nowhere": mqtt(
        [*LISTENING, silent(), still(last_error="")], "C.3", hello=lambda of: of.hello(server="::1")
    ),
}

NETWORKS = {
    "cut, nobody is told, and the rest comes late": mqtt(
        [
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
        ],
        "C.1",
    ),
    "found out by pings": mqtt(
        [
            *IDLE_MQTT,
            user("cut_network"),
            sees(connected=False),
            user("restore_network"),
            connects(2),
            sees(connected=True),
        ],
        "C.1",
        settings={"keepalive": 2},
    ),
    "lost Wi-Fi ends the conversation in the device alone": mqtt(
        [
            *LISTENING,
            user("lose_network"),
            sees(state="idle", connected=False),
            user("restore_network"),
            connects(2),
            sees(connected=True),
        ],
        "E.1",
    ),
    "lost Wi-Fi while idle does not close a channel": mqtt(
        [
            *IDLE_MQTT,
            user("press"),
            *HELLO_AND_LISTEN,
            user("release"),
            device(type="listen", state="stop"),
            user("lose_network"),
            waits(1),
            still(state="idle", channel_open=True),
        ],
        "M (g)",
    ),
    "without power the connection seems to be there": mqtt(
        [
            *LISTENING,
            user("lose_power"),
            still(state="unknown"),
            waits(1),
            user("boot"),
            connects(2),
            sees(connected=True),
        ],
        "C.5",
    ),
}


@replays(CONNECTING)
async def test_connecting(trace: Trace) -> None:
    await replay(trace)


@replays(WHILE_IDLE)
async def test_while_idle(trace: Trace) -> None:
    await replay(trace)


@replays(HELLOS)
async def test_hello(trace: Trace) -> None:
    await replay(trace)


@replays(GOODBYES)
async def test_goodbye(trace: Trace) -> None:
    await replay(trace)


@replays(AUDIO)
async def test_audio(trace: Trace) -> None:
    await replay(trace)


@replays(NETWORKS)
async def test_bad_networks(trace: Trace) -> None:
    await replay(trace)


@pytest.mark.parametrize(
    ("impairment", "least", "most"),
    [
        (UdpImpairment(loss=50), 3, 37),
        (UdpImpairment(duplicate=100), 40, 40),
        (UdpImpairment(reorder=100), 15, 25),
        (UdpImpairment(jitter=10), 40, 40),
    ],
)
async def test_impairments(impairment: UdpImpairment, least: int, most: int) -> None:
    """Of forty packets the device takes those that are not behind another one."""
    async with stage(mqtt([], "C.4", impairment=impairment)) as on:
        for row in SPEAKING:
            await row(on)
        await on.mqtt.audio.until(on.sound)
        for packet_ in opus_packets(40):
            await on.play(packet_)
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.5)
        assert least <= sum(map(len, on.sim.speaker.answers)) <= most
