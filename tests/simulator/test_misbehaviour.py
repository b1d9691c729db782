"""Faults that a server has to bear: it has borne nothing if the device does not have them.

The other faults end a connection, which shows that the device has them.
"""

import struct
from typing import Any

from simulator import Misbehaviour
from simulator.audio.microphone import Voice
from simulator.audio.opus import OpusEncoder, packet_duration
from tests.simulator.trace import (
    LISTENING,
    Stage,
    Step,
    Trace,
    device,
    replay,
    replays,
    request,
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


def sends(accepted: Any) -> Step:
    """Expect this of the audio packets."""

    async def row(on: Stage) -> None:
        assert accepted((await on.link()).packets)

    return row


def in_order(datagrams: list[bytes]) -> list[int]:
    return [int.from_bytes(datagram[12:16]) for datagram in datagrams]


def sources(*, strangers: bool = False, ids: int = 1) -> Step:
    """Expect datagrams from several addresses or one, with at least so many connection ids."""

    async def row(on: Stage) -> None:
        audio = on.mqtt.audio
        assert (len(set(audio.sources)) > 1) is strangers
        assert len({datagram[4:8] for datagram in audio.datagrams}) >= ids

    return row


TEXTS = {Misbehaviour.GARBAGE_JSON: 6, Misbehaviour.WRONG_TYPES: 8, Misbehaviour.UNKNOWN_TYPES: 20}
FAULTS: dict[str, Trace] = {
    **{name: fault(name, user("boot"), user("click"), says(texts + 2)) for name, texts in TEXTS.items()},
    "random bytes instead of Opus": fault(
        Misbehaviour.OPUS_GARBAGE,
        *LISTENING,
        streams(9),
        sends(lambda sound: {one[0] for one in sound} != {0x58}),
    ),
    "no answer to MCP": fault(Misbehaviour.NEVER_ANSWER_MCP, *LISTENING, request("ping"), streams(9)),
    "a status that is no JSON": fault(
        Misbehaviour.STATUS_NOT_JSON,
        *LISTENING,
        request("tools/call", name="self.get_device_status"),
        device(payload={"result": {"content": [{"type": "text", "text": "volume: seventy"}]}}),
    ),
    "no audio": fault(Misbehaviour.NO_AUDIO, *LISTENING, waits(1), still(listening=True)),
    "datagrams again": fault(
        Misbehaviour.UDP_REPLAY,
        *LISTENING,
        streams(16),
        sends(lambda sound: in_order(sound)[:16] == [*range(1, 12), 1, 12, 2, 13, 3]),
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


def test_the_microphone_hears_the_loudspeaker_softer() -> None:
    voice = Voice(echo=0.25)
    voice.play(struct.pack("<1440h", *[8000] * 1440), 24000)
    voice.say(struct.pack("<960h", *[1000] * 960))
    assert voice.next_frame() == struct.pack("<960h", *[3000] * 960)
    assert voice.next_frame() == bytes(1920)
