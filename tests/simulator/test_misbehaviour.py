"""Faults that a server has to bear: it has borne nothing if the device does not have them."""

import asyncio
import struct
from typing import Any

import pytest

from simulator import Misbehaviour, get_profile
from simulator.audio.microphone import Voice
from simulator.audio.opus import OpusEncoder, packet_duration
from simulator.board.tools import board_tools
from simulator.link.impairment import UdpImpairment
from simulator.link.misbehave import FaultInjector
from simulator.link.network import Network

# The network's name and the parts of the firmware themselves have these.
ELSEWHERE = {
    Misbehaviour.BROKEN_CHECK_IN,
    Misbehaviour.DEAF_TO_PHRASES,
    Misbehaviour.LOOPING_CURSOR,
    Misbehaviour.NEVER_ANSWER_MCP,
    Misbehaviour.NEVER_PING,
    Misbehaviour.STOP_READING,
}


async def deeds(*what: Misbehaviour) -> list[Any]:
    """Return all that a device may do otherwise, and what it then does."""
    faults, sent = FaultInjector(*what), list[Any]()

    async def send(kind: object, data: bytes) -> None:
        sent.append((kind, data))

    await faults.before_hello(send)
    await faults.after_hello(send, '{"type":"hello"}')
    for number in range(20):
        try:
            sent.append(faults.microphone_packet(b"packet"))
        except ConnectionResetError as err:
            sent.append(str(err))
        sent += [faults.datagrams(bytes(15) + bytes((number,))), faults.stranger_datagrams(bytes(20))]
    sent += [faults.password("secret"), faults.topic("up"), faults.after_connect()]
    return [*sent, len(faults.tools(board_tools(get_profile()))), faults.tool_text("self.get_device_status")]


@pytest.mark.parametrize("what", [one for one in Misbehaviour if one not in ELSEWHERE])
async def test_a_fault_is_something_that_a_good_device_does_not_do(what: Misbehaviour) -> None:
    """H."""
    good, bad = await deeds(), await deeds(what)
    assert good != bad
    assert good == await deeds()


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


async def test_a_connection_closed_by_the_other_end_outlives_network_outages(
    socket_enabled: None,
) -> None:
    def say_goodbye(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"goodbye")
        writer.write_eof()

    network = Network(UdpImpairment())
    async with await asyncio.start_server(say_goodbye, "127.0.0.1", 0) as server:
        device = await network.connect(*server.sockets[0].getsockname())
        assert await device.reader.read() == b"goodbye"
        for _ in range(2):
            network.cut()
            network.restore()
        assert device.reader.at_eof()
        network.close()
