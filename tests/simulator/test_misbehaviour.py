"""Faults on request: a server that bears them has borne nothing if the device does not have them."""

import struct
from typing import Any

from simulator import Misbehaviour
from simulator.audio.microphone import Voice
from simulator.audio.opus import OpusEncoder, packet_duration
from tests.simulator.fake_mqtt import CONNECT, PINGREQ, PUBLISH, Session as MqttSession
from tests.simulator.trace import (
    IDLE_MQTT,
    LISTENING,
    Stage,
    Step,
    Trace,
    device,
    disconnects,
    replay,
    replays,
    request,
    sees,
    server,
    still,
    streams,
    trace,
    user,
    waits,
)


def fault(name: Misbehaviour, *rows: Step, **fields: Any) -> Trace:
    return trace("H", *rows, faults=(name,), **fields)


def says(texts: int) -> Step:
    """Expect so many texts of any kind."""

    async def row(on: Stage) -> None:
        link = await on.link()
        await link.until(lambda: len(on.texts()) == on.texts_read + texts)
        on.texts_read += texts

    return row


def mqtt_sent(accepted: Any) -> Step:
    """Expect this of what was sent over MQTT."""

    async def row(on: Stage) -> None:
        session = await on.link()
        assert isinstance(session, MqttSession)
        await session.until(lambda: accepted(session))
        on.texts_read = len(session.of(PUBLISH))

    return row


def sends(accepted: Any) -> Step:
    """Expect this of the audio packets."""

    async def row(on: Stage) -> None:
        await on.link()
        assert accepted([datagram[12:16] for datagram in on.sound()] if on.sound()[0][0] == 1 else on.sound())

    return row


def sources(*, strangers: bool = False, ids: int = 1) -> Step:
    """Expect datagrams from several addresses or one, with at least so many connection ids."""

    async def row(on: Stage) -> None:
        audio = on.mqtt.audio
        assert (len(set(audio.sources)) > 1) is strangers
        assert len({datagram[4:8] for datagram in audio.datagrams}) >= ids

    return row


TEXTS = {
    Misbehaviour.SECOND_HELLO: 1,
    Misbehaviour.OVERSIZE_TEXT: 1,
    Misbehaviour.GARBAGE_JSON: 6,
    Misbehaviour.WRONG_TYPES: 8,
    Misbehaviour.UNKNOWN_TYPES: 20,
    Misbehaviour.FLOOD: 5000,
}
START = (user("boot"), user("click"))
FAULTS = {
    **{
        f"{name} over {link}": fault(name, *START, says(texts + 2), link=link)
        for name, texts in TEXTS.items()
        for link in ("websocket", "mqtt")
    },
    "audio before the hello": fault(
        Misbehaviour.BINARY_BEFORE_HELLO,
        *START,
        device(type="hello"),
        sends(lambda sound: len(sound[0]) == 80),
        hello=lambda _: None,
    ),
    "random bytes instead of Opus": fault(
        Misbehaviour.OPUS_GARBAGE,
        *LISTENING,
        streams(9),
        sends(lambda sound: {one[0] for one in sound} != {0x58}),
    ),
    "it stops reading": fault(
        Misbehaviour.STOP_READING,
        *LISTENING,
        server({"type": "stt", "text": "x"}),
        streams(9),
        still(user_text=""),
    ),
    "no answer to MCP": fault(Misbehaviour.NEVER_ANSWER_MCP, *LISTENING, request("ping"), streams(9)),
    "a status that is no JSON": fault(
        Misbehaviour.STATUS_NOT_JSON,
        *LISTENING,
        request("tools/call", name="self.get_device_status"),
        device(payload={"result": {"content": [{"type": "text", "text": "volume: seventy"}]}}),
    ),
    "a cursor in a circle": fault(
        Misbehaviour.LOOPING_CURSOR,
        *LISTENING,
        request("tools/list", cursor="self.screen.set_theme"),
        device(payload={"result": {"tools": lambda tools: tools[0]["name"] == "self.get_device_status"}}),
    ),
    "a thousand tools": fault(
        Misbehaviour.THOUSAND_TOOLS,
        *LISTENING,
        request("tools/list", cursor="self.many.tool_900"),
        device(payload={"result": {"tools": lambda tools: tools[0]["name"] == "self.many.tool_900"}}),
    ),
    "the connection is lost in the middle of a sentence": fault(
        Misbehaviour.DROP_MID_SENTENCE, *LISTENING, disconnects(), sees(state="idle")
    ),
    "no audio": fault(Misbehaviour.NO_AUDIO, *LISTENING, waits(1), still(listening=True)),
    "a wrong password": fault(
        Misbehaviour.WRONG_PASSWORD,
        *IDLE_MQTT,
        mqtt_sent(lambda session: session.of(CONNECT)[0].body.endswith(b"not secret")),
        link="mqtt",
    ),
    "random bytes over MQTT": fault(
        Misbehaviour.MQTT_GARBAGE,
        user("boot"),
        mqtt_sent(lambda session: session.pending or len(session.packets) > 1),
        link="mqtt",
    ),
    "a giant length": fault(
        Misbehaviour.MQTT_GIANT_LENGTH,
        user("boot"),
        mqtt_sent(lambda session: session.pending == 2**28 - 1),
        link="mqtt",
    ),
    "another topic": fault(
        Misbehaviour.FOREIGN_TOPIC,
        *LISTENING[:3],
        device(type="listen"),
        mqtt_sent(lambda session: {one.topic for one in session.of(PUBLISH)} == {"from/box/elsewhere"}),
        link="mqtt",
    ),
    "no pings": fault(
        Misbehaviour.NEVER_PING,
        *IDLE_MQTT,
        waits(10),
        mqtt_sent(lambda session: not session.of(PINGREQ)),
        link="mqtt",
        settings={"keepalive": 1},
    ),
    "datagrams again": fault(
        Misbehaviour.UDP_REPLAY,
        *LISTENING,
        streams(16),
        sends(lambda numbers: [*map(int.from_bytes, numbers)][:16] == [*range(1, 12), 1, 12, 2, 13, 3]),
        link="mqtt",
    ),
    "somebody else's datagrams": fault(
        Misbehaviour.UDP_FORGERY, *LISTENING, streams(8), sources(strangers=True), link="mqtt"
    ),
    "datagrams of nobody": fault(
        Misbehaviour.UDP_UNKNOWN, *LISTENING, streams(8), sources(ids=5), link="mqtt"
    ),
}


@replays(FAULTS)
async def test_misbehaviour(trace: Trace) -> None:
    await replay(trace)


def test_silence_is_one_byte_in_six_of_seven_packets_of_60_ms() -> None:
    """E.2."""
    encoder = OpusEncoder()
    silent = [encoder.encode(bytes(1920)) for _ in range(77)][7:]
    assert sum(len(packet) == 1 for packet in silent) == 60
    assert {(packet[0], packet_duration(packet)) for packet in silent} == {(0x58, 60)}


def test_the_microphone_hears_noise_and_the_loudspeaker_softer() -> None:
    first, again = (Voice(noise=30).next_frame() for _ in range(2))
    assert first == again != bytes(1920)
    voice = Voice(echo=0.25)
    voice.play(struct.pack("<1440h", *[8000] * 1440), 24000)
    voice.say(struct.pack("<960h", *[1000] * 960))
    assert voice.next_frame() == struct.pack("<960h", *[3000] * 960)
    assert voice.next_frame() == bytes(1920)
