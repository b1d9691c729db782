"""The player of `notify`: what an idle device plays, how fast it reads, and what it shows."""

import asyncio
import fcntl
from itertools import pairwise

import numpy as np
import pytest

from simulator import Outcome, SimulatedDevice, State, get_profile
from tests.simulator.fake_mqtt import MqttServer
from tests.simulator.fake_server import Server, opus_packets
from tests.simulator.ogg_file import FileServer, music, ogg, plain, silence
from tests.simulator.talk import AT_ONCE, device_2_5, mqtt_idle, settle

SIOCOUTQNSD = 0x894B
"""Linux: how many bytes a socket has not sent yet."""


async def test_an_idle_device_fetches_a_file_and_plays_it(broker: MqttServer) -> None:
    async with FileServer.serving(plain(music(50))) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify((0, "One."), (1500, "Two.")))
        await sim.wait_state(State.NOTIFYING)
        await sim.wait_for(lambda: sim.screen.status == "Speaking...")
        assert (sim.screen.emotion, sim.listening) == ("neutral", False)
        announced = await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.PLAYED, "")
        assert announced.read == len(music(50))
        assert len(announced.pcm) / 2 / sim.speaker.rate == pytest.approx(3, abs=0.01)
        assert np.abs(np.frombuffer(announced.pcm, np.int16)).mean() > 1000
        assert announced.began is not None
        assert announced.ended is not None
        start = announced.played[0].time
        assert start - announced.began == pytest.approx(0.54, abs=0.02)
        assert announced.ended - start == pytest.approx(3, abs=0.03)
        assert all(later.time - earlier.time < 0.07 for earlier, later in pairwise(announced.played))
        assert announced.underruns == 0
        assert [(round(time - start, 2), text) for time, text in announced.shown] == [
            (0, "One."),
            (1.5, "Two."),
        ]
        assert sim.played == announced.pcm
        assert sim.speaker.own_seconds == pytest.approx(0.54)
        await sim.wait_state(State.IDLE)
        assert sim.screen.assistant_text == ""
        assert session.texts == []


async def test_the_next_one_is_accepted_as_soon_as_the_device_is_idle(broker: MqttServer) -> None:
    async with FileServer.serving(plain(music(3))) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        for number in (1, 2):
            session.send(files.notify())
            announced = await sim.wait_announced(number)
            assert announced.outcome is Outcome.PLAYED
        assert len(sim.announcements) == len(files.heads) == 2


@pytest.mark.parametrize(
    ("rate", "duration"), [(8000, 60), (16000, 20), (24000, 60), (48000, 10), (12000, 120)]
)
async def test_the_duration_of_packets_is_read_from_them(
    broker: MqttServer, rate: int, duration: int
) -> None:
    file = music(1200 // duration, rate=rate, duration=duration)
    async with FileServer.serving(plain(file)) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify((600, "Half.")))
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert len(announced.pcm) / 2 / sim.speaker.rate == pytest.approx(1.2, abs=0.02)
        start = announced.played[0].time
        assert announced.shown[0][0] - start == pytest.approx(0.6, abs=0.03)


async def test_packets_that_the_decoder_does_not_know_are_silent(broker: MqttServer) -> None:
    sixty = silence(1)[0]
    thirty = bytes((0b1001 << 3 | 3, 3)) + sixty[1:]
    async with FileServer.serving(plain(ogg([sixty, thirty, sixty]))) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert (len(announced.played), sim.speaker.failed) == (2, 1)


# Buffers


async def test_it_reads_only_a_little_ahead_so_that_the_server_is_held_up(broker: MqttServer) -> None:
    """At 24 kbit/s a server has sent all about six seconds before the end."""
    file = ogg(opus_packets(500, steady=True))
    taken: list[tuple[float, int]] = []

    async def serve(writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        writer.transport.set_write_buffer_limits(0)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        for start in range(0, len(file), 500):
            writer.write(file[start : start + 500])
            await writer.drain()
            held = int.from_bytes(fcntl.ioctl(connection, SIOCOUTQNSD, bytes(4)), "little")
            taken.append((asyncio.get_running_loop().time(), start + 500 - held))
        writer.write_eof()

    async with FileServer.serving(serve, send_buffer=4096) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert announced.underruns == 0
        assert announced.ended is not None
        lead = announced.ended - taken[-1][0]
        assert 4 < lead < 9


async def test_data_that_comes_late_is_a_pause(broker: MqttServer) -> None:
    file = music(20)

    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + file[: len(file) // 2])
        await asyncio.sleep(4)
        writer.write(file[len(file) // 2 :])
        writer.write_eof()

    async with FileServer.serving(serve) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify((700, "Later.")))
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert announced.underruns == 1
        assert len(announced.played) == 20
        assert max(b.time - a.time for a, b in pairwise(announced.played)) > 2.5
        assert announced.shown[0][1] == "Later."


async def test_an_endless_stream_is_played_until_something_ends_it(broker: MqttServer) -> None:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        pages = ogg(silence(1) * 3000)
        for start in range(0, len(pages), 300):
            part = pages[start : start + 300]
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
        await asyncio.sleep(3600)

    async with FileServer.serving(serve) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        await sim.wait_for(lambda: len(sim.speaker.played) > 1000, 120)
        assert sim.state is State.NOTIFYING
        await sim.release()
        assert sim.announcements[0].outcome is Outcome.CANCELLED
        await sim.wait_for(lambda: files.ended == 1, 10)


# Subtitles


async def test_of_subtitles_that_are_due_together_the_last_is_shown_and_none_twice(
    broker: MqttServer,
) -> None:
    subtitles = (
        (600, "Third."),
        (0, "First."),
        (20, "Second."),
        (30, "Second."),
        (650, "Fourth."),
        (650.9, ""),
        (900, "Late."),
        (2**32 - 1, "Never."),
    )
    async with FileServer.serving(plain(music(20))) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify(*subtitles))
        announced = await sim.wait_announced()
        start = announced.played[0].time
        assert [(round(time - start, 2), text) for time, text in announced.shown] == [
            (0, "First."),
            (0.06, "Second."),
            (0.6, "Third."),
            (0.66, ""),
            (0.9, "Late."),
        ]


async def test_the_server_can_choose_a_face_and_show_texts_meanwhile(broker: MqttServer) -> None:
    async with FileServer.serving(plain(music(30))) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        await sim.wait_for(lambda: bool(sim.played))
        session.send({"type": "llm", "emotion": "happy"})
        session.send({"type": "stt", "text": "Ding."})
        reply = await session.call(1, "tools/call", {"name": "self.get_device_status"})
        assert "result" in reply["payload"]
        assert (sim.screen.emotion, sim.screen.user_text) == ("happy", "Ding.")
        await sim.wait_announced()
        await sim.wait_for(lambda: sim.screen.emotion == "neutral")


# WebSocket


async def test_over_websocket_it_works_while_a_push_to_talk_channel_is_open(server: Server) -> None:
    sim = SimulatedDevice(get_profile(version="2.5.0"), server.http.url, pace=AT_ONCE)
    async with FileServer.serving(plain(music(10))) as files, sim:
        await sim.boot()
        await sim.press()
        session = await server.session()
        await sim.release()
        assert sim.channel_open
        await session.send(files.notify())
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert (sim.state, sim.channel_open) == (State.IDLE, True)


@pytest.mark.parametrize("version", ["2.4.2", "2.3.0", "1.9.4"])
async def test_older_firmware_does_not_know_the_message(broker: MqttServer, version: str) -> None:
    sim = broker.device(version, pace=AT_ONCE)
    async with FileServer.serving(plain(music(2))) as files, sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        await settle()
        assert (sim.announcements, files.heads, sim.state) == ([], [], State.IDLE)
