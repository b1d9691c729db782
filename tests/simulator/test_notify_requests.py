"""`notify`: which messages an idle device accepts, and how it fetches the file."""

import asyncio
import socket
import struct
from typing import Any

import pytest

from simulator import Outcome, State
from tests.simulator.fake_mqtt import MqttServer
from tests.simulator.fake_server import opus_packets
from tests.simulator.ogg_file import FileServer, Serve, chunked, music, ogg, plain, until_close
from tests.simulator.talk import device_2_5, mqtt_idle, mqtt_listening

BODY = music(10)

# The message


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"audio_url": ""}, "audio_url is no text"),
        ({"audio_url": None}, "audio_url is no text"),
        ({"audio_url": 5}, "audio_url is no text"),
        ({"subtitles": None}, "subtitles is no array"),
        ({"subtitles": {}}, "subtitles is no array"),
        ({"subtitles": "Hello."}, "subtitles is no array"),
    ],
)
async def test_a_field_of_a_wrong_type_drops_the_message(
    broker: MqttServer, change: dict[str, Any], reason: str
) -> None:
    async with FileServer.serving(plain(BODY)) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify() | change)
        announced = await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.IGNORED, reason)
        assert announced.began is None
        assert (files.heads, sim.state) == ([], State.IDLE)


async def test_without_subtitles_or_with_bad_ones_it_is_played(broker: MqttServer) -> None:
    bad: list[object] = [
        {"start_ms": -1, "text": "negative"},
        {"start_ms": 2**32, "text": "too late"},
        {"start_ms": "0", "text": "no number"},
        {"start_ms": True, "text": "no number"},
        {"start_ms": 0, "text": None},
        {"text": "no start"},
        {"start_ms": 0},
        "no object",
        None,
    ]
    async with FileServer.serving(plain(BODY)) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify() | {"subtitles": [*bad, {"START_MS": 61.9, "text": "Good."}], "other": 1})
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.PLAYED
        assert [(subtitle.start, subtitle.text) for subtitle in announced.subtitles] == [(61, "Good.")]
        assert sim.screen.captions == ["Good."]


@pytest.mark.parametrize("url", ["HTTP://127.0.0.1/x", "ftp://127.0.0.1/x", "/file.ogg", "httpx"])
async def test_another_address_ends_it_at_once_and_cuts_the_pop_up_sound(
    broker: MqttServer, url: str
) -> None:
    async with FileServer.serving(plain(BODY)) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify(url=url))
        announced = await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (
            Outcome.FAILED,
            "the address is neither http nor https",
        )
        assert announced.ended == announced.began
        await sim.wait_for(lambda: sim.speaker.idle)
        assert sim.speaker.own_seconds < 0.1
        assert {"name": "popup"} in sim.events("sound")
        assert [event["state"] for event in sim.events("state")][-2:] == ["notifying", "idle"]


async def test_it_throws_away_what_is_still_to_be_played(broker: MqttServer) -> None:
    async with FileServer.serving(plain(BODY)) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send({"type": "alert", "status": "Door", "message": "It rang", "emotion": "happy"})
        session.send(files.notify())
        await sim.wait_announced()
        assert sim.speaker.own_seconds < 0.84
        assert sim.announcements[0].outcome is Outcome.PLAYED


async def test_it_is_the_main_task_that_looks_whether_the_device_is_idle(broker: MqttServer) -> None:
    async with FileServer.serving(plain(BODY)) as files, device_2_5(broker) as sim:
        session = await mqtt_listening(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.IGNORED, "the device is listening")
        session.send({"type": "goodbye", "session_id": "session-1"})
        session.send(files.notify())
        announced = await sim.wait_announced(2)
        assert (announced.outcome, announced.reason) == (Outcome.IGNORED, "the device is listening")
        await sim.wait_state(State.IDLE)
        session.send(files.notify())
        announced = await sim.wait_announced(3)
        assert announced.outcome is Outcome.PLAYED


async def test_a_second_one_meanwhile_is_ignored(broker: MqttServer) -> None:
    async with FileServer.serving(plain(BODY)) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        session.send(files.notify())
        second = await sim.wait_announced(2)
        assert (second.outcome, second.reason) == (Outcome.IGNORED, "the device is notifying")
        first = await sim.wait_announced()
        assert first.outcome is Outcome.PLAYED
        assert len(files.heads) == 1


# The request


async def test_the_request_has_just_these_headers(broker: MqttServer) -> None:
    async with FileServer.serving(plain(BODY)) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        await sim.wait_announced()
        (head,) = files.heads
        assert head == (
            "GET /file/secret.ogg HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{files.port}\r\n"
            "Accept: audio/ogg, application/ogg\r\n"
            "Accept-Encoding: identity\r\n"
            "Connection: close\r\n"
            "\r\n"
        )


@pytest.mark.parametrize("serve", [plain(BODY, "299 Odd"), until_close(BODY), chunked(BODY)])
async def test_a_body_may_end_in_three_ways(broker: MqttServer, serve: Serve) -> None:
    async with FileServer.serving(serve) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.PLAYED, "")
        assert announced.read == len(BODY)
        assert len(announced.played) == 10


@pytest.mark.parametrize("status", ["301 Moved", "304 Same", "404 Not Found", "500 Broken", "199 Odd"])
async def test_any_other_status_is_a_failure(broker: MqttServer, status: str) -> None:
    async with FileServer.serving(plain(BODY, status)) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (
            Outcome.FAILED,
            f"the server answered with status {status[:3]}",
        )
        assert (announced.read, announced.played, len(files.heads)) == (0, [], 1)


@pytest.mark.parametrize(
    "serve",
    [
        plain(BODY, length=len(BODY) + 1),
        chunked(BODY, end=b""),
        chunked(BODY, end=b"0\r\n"),
        chunked(BODY, end=b"5\r\nab"),
        chunked(BODY, end=b"many\r\n"),
    ],
)
async def test_a_body_that_does_not_end_properly_cuts_the_sound_at_once(
    broker: MqttServer, serve: Serve
) -> None:
    async with FileServer.serving(serve) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.FAILED
        assert len(announced.played) < 10
        await sim.wait_state(State.IDLE)
        assert sim.last_error == ""
        assert session.texts == []


async def test_a_server_that_drops_the_connection_stops_the_sound(broker: MqttServer) -> None:
    """What the TCP windows hold must be received first; the queue and the sound behind it are cut."""
    file = ogg(opus_packets(500, steady=True))

    async def serve(writer: asyncio.StreamWriter) -> None:
        reset = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n" % len(file) + file)
        await asyncio.sleep(2)
        writer.transport.abort()

    async with FileServer.serving(serve) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.FAILED
        assert announced.began is not None
        assert announced.ended is not None
        assert 2 <= announced.ended - announced.began < 6
        session.send(files.notify())
        await sim.wait_for(lambda: sim.announcements[-1].outcome is Outcome.PLAYING)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\n\r\n", BODY[:0]])
async def test_five_seconds_without_data_are_a_failure(broker: MqttServer, answer: bytes) -> None:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await asyncio.sleep(60)

    async with FileServer.serving(serve) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced()
        assert (announced.outcome, announced.reason) == (Outcome.FAILED, "timed out")
        assert announced.began is not None
        assert announced.ended is not None
        assert announced.ended - announced.began == pytest.approx(5, abs=0.1)


async def test_there_is_no_limit_for_a_body_that_comes_slowly(broker: MqttServer) -> None:
    async def serve(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        for start in range(0, len(BODY), 200):
            await asyncio.sleep(4.5)
            writer.write(BODY[start : start + 200])

    async with FileServer.serving(serve) as files, device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        announced = await sim.wait_announced(timeout=300)
        assert announced.outcome is Outcome.PLAYED
        assert len(announced.played) == 10
        assert announced.underruns > 2


async def test_a_server_that_is_not_there_is_a_failure(broker: MqttServer) -> None:
    async with FileServer.serving(plain(BODY)) as files:
        message = files.notify()
    async with device_2_5(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(message)
        announced = await sim.wait_announced()
        assert announced.outcome is Outcome.FAILED
        assert announced.reason.startswith("cannot connect to 127.0.0.1:")
