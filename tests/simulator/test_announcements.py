"""The player of `notify`: what an idle device accepts, fetches and plays."""

from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from simulator import Outcome, SimulatedDevice, State
from tests.simulator.fake_mqtt import MqttServer
from tests.simulator.ogg_file import FileServer, music, plain
from tests.simulator.talk import AT_ONCE, mqtt_idle, settle


@pytest.fixture
async def broker() -> AsyncIterator[MqttServer]:
    """A server that sends its devices to MQTT."""
    async with MqttServer.serving() as running:
        yield running


def new_device(broker: MqttServer, version: str = "2.5.0", **options: Any) -> SimulatedDevice:
    """Return a device in real time."""
    return broker.device(version, **{"pace": AT_ONCE} | options)


async def test_an_idle_device_fetches_a_file_and_plays_it(broker: MqttServer) -> None:
    async with FileServer.serving(plain(music(50))) as files, new_device(broker) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify((0, "One."), (1500, "Two.")))
        await sim.wait_state(State.NOTIFYING)
        assert sim.screen.emotion == "neutral"
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
        assert not session.seen(type="listen")


async def test_the_request_has_just_these_headers(broker: MqttServer) -> None:
    async with FileServer.serving(plain(music(2))) as files, new_device(broker) as sim:
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


@pytest.mark.parametrize("version", ["2.4.2", "2.3.0", "1.9.4"])
async def test_older_firmware_does_not_know_the_message(broker: MqttServer, version: str) -> None:
    async with FileServer.serving(plain(music(2))) as files, new_device(broker, version) as sim:
        session = await mqtt_idle(broker, sim)
        session.send(files.notify())
        await settle()
        assert (sim.announcements, files.heads, sim.state) == ([], [], State.IDLE)
