"""Faults on request, which tests of the integration use, and the low layers that no trace reaches."""

import struct
from typing import Any

from hypothesis import given, strategies as st
import pytest

from simulator import Misbehaviour
from simulator.application.mcp_server import McpServer
from simulator.audio.microphone import Voice
from simulator.audio.opus import OpusDecoder, OpusEncoder, OpusError, packet_duration
from simulator.board.cjson import find, int_value, is_number, loads_object
from simulator.board.crash import stoi
from simulator.board.profile import get_profile
from simulator.board.tools import board_tools
from simulator.link.binary_protocol import pack, unpack
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
    stage,
    still,
    streams,
    user,
    waits,
)


def fault(name: Misbehaviour, *rows: Step, **fields: Any) -> Trace:
    return Trace(section="H", faults=(name,), rows=rows, **fields)


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


HELLO = {"type": "hello"}
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
        *2
        * [
            request("tools/list", cursor="self.screen.set_theme"),
            device(payload={"result": {"tools": lambda tools: tools[0]["name"] == "self.get_device_status"}}),
        ],
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
        Misbehaviour.UDP_FORGERY, *LISTENING, streams(8), lambda on: sources(on, strangers=True), link="mqtt"
    ),
    "datagrams of nobody": fault(
        Misbehaviour.UDP_UNKNOWN,
        *LISTENING,
        streams(8),
        lambda on: sources(on, ids=5),
        link="mqtt",
    ),
}


async def sources(on: Stage, *, strangers: bool = False, ids: int = 1) -> None:
    """Expect datagrams from several addresses or one, with at least so many connection ids."""
    audio = on.mqtt.audio
    assert (len(set(audio.sources)) > 1) is strangers
    assert len({datagram[4:8] for datagram in audio.datagrams}) >= ids


@replays(FAULTS)
async def test_misbehaviour(trace: Trace) -> None:
    await replay(trace)


async def test_it_can_begin_and_end_at_any_time() -> None:
    async with stage(Trace(section="H", rows=())) as on:
        for row in (*LISTENING, lambda _: on.sim.misbehaviours.add(Misbehaviour.NEVER_ANSWER_MCP)):
            if (done := row(on)) is not None:
                await done
        for row in (request("ping"), streams(2), lambda _: on.sim.misbehaviours.clear()):
            if (done := row(on)) is not None:
                await done
        for row in (request("ping", 2), device(type="mcp", payload={"id": 2})):
            await row(on)


# cJSON, numbers, frames and sound


@pytest.mark.parametrize(("text", "number"), [("8123/path", 8123), (" 7", 7), ("-1x", -1), ("+5", 5)])
def test_stoi_reads_the_number_at_the_start(text: str, number: int) -> None:
    assert stoi(text) == number


def test_members_are_found_in_any_case_the_first_one_wins() -> None:
    assert find({"URL": 1, "url": 2}, "url") == 1
    assert find({"a": 1}, "b") is find([1], "a") is None


@pytest.mark.parametrize("text", ["", "[]", "5", "{", "NaN", '{"a":Infinity}', "[" * 100_000])
def test_what_is_no_object_is_nothing(text: str) -> None:
    assert loads_object(text) is None


@given(st.floats(allow_nan=False) | st.integers())
def test_every_number_becomes_a_32_bit_integer(value: float) -> None:
    assert is_number(value)
    assert -(2**31) <= int_value(value) < 2**31


@given(st.sampled_from([1, 2, 3, 4]), st.binary(max_size=300), st.integers(0, 2**32 - 1))
def test_what_is_framed_is_unframed(version: int, packet: bytes, timestamp: int) -> None:
    assert unpack(version, pack(version, packet, timestamp)) == packet


@given(st.dictionaries(st.sampled_from(["id", "method", "params"]), st.none() | st.text() | st.integers()))
def test_no_request_breaks_the_mcp_server(payload: dict[str, Any]) -> None:
    replies: list[str] = []
    profile = get_profile()
    server = McpServer(
        profile,
        board_tools(profile),
        reply=replies.append,
        queue_call=lambda _: None,
        run=lambda _, __: pytest.fail("nothing runs before it is queued"),
    )
    server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/list"} | payload)
    assert len(replies) <= 1


def test_silence_is_one_byte_in_six_of_seven_packets_of_60_ms() -> None:
    encoder = OpusEncoder()
    silent = [encoder.encode(bytes(1920)) for _ in range(77)][7:]
    assert sum(len(packet) == 1 for packet in silent) == 60
    assert {(packet[0], packet_duration(packet)) for packet in silent} == {(0x58, 60)}


@pytest.mark.parametrize(
    ("packet", "duration"), [(b"\x59\0", 120), (b"\x5b\x02", 120), (b"\x68", 20), (b"\xe0", 2.5)]
)
def test_several_frames_in_a_packet_add_up(packet: bytes, duration: float) -> None:
    assert packet_duration(packet) == duration


def test_what_is_no_packet_is_an_error() -> None:
    for packet in (b"", b"\x5b"):
        with pytest.raises(OpusError):
            packet_duration(packet)
    with pytest.raises(OpusError, match="does not decode"):
        OpusDecoder(24000).decode(bytes.fromhex("5b96762e") + bytes(38))


def test_the_microphone_hears_noise_and_the_loudspeaker_softer() -> None:
    first, again = (Voice(noise=30).next_frame() for _ in range(2))
    assert first == again != bytes(1920)
    voice = Voice(echo=0.25)
    voice.play(struct.pack("<1440h", *[8000] * 1440), 24000)
    voice.say(struct.pack("<960h", *[1000] * 960))
    assert voice.next_frame() == struct.pack("<960h", *[3000] * 960)
    assert voice.next_frame() == bytes(1920)
